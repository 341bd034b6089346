#include "sim/gpu/step_config.h"

namespace heddle::sim {

void describe(StepConfig& c, models::ParameterList& list) {
    using models::Quantity;
    list.add("hbm.size", c.memory_bytes, Quantity::bytes, 1ull << 20, 1ull << 50,
             "What programs can ask for, their contexts included.");
    list.add("hbm.context", c.context_bytes, Quantity::bytes, 0, 1ull << 40,
             "Taken by a process before it has a tensor: context, code of kernels, libraries.");
    list.add("hbm.fragmentation", c.fragmentation, Quantity::ratio, 0, 1,
             "Allowance for free memory that an allocator cannot use, as a part of the memory in use.");
    list.add("host.dispatch", c.dispatch, Quantity::time, 0, 1,
             "Work of a framework for an op, in eager mode, before it launches kernels.");
    list.add("host.launch", c.launch, Quantity::time, 0, 1,
             "The driver's call that launches a kernel or starts a copy.");
    list.add("host.graph_launch", c.graph_launch, Quantity::time, 0, 1,
             "The driver's call that launches a CUDA graph.");
    list.add("launch.peer_flush", c.peer_flush, Quantity::time, 0, 1e-3,
             "That a kernel's end waits while a collective beside it writes 100 GB/s to other devices.");
    list.add("launch.host_flush", c.host_flush, Quantity::time, 0, 1e-3,
             "That a kernel's end waits while a copy between host and device runs beside it.");
}

}  // namespace heddle::sim
