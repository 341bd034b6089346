#include "models/gpu/kernel_result.h"

namespace heddle::models::gpu {

const char* name_of(CycleReason reason) {
    switch (reason) {
        case CycleReason::issued:
            return "issued";
        case CycleReason::memory:
            return "memory";
        case CycleReason::fixed_latency:
            return "fixed latency";
        case CycleReason::pipeline_busy:
            return "pipeline busy";
        case CycleReason::queue_full:
            return "load-store queue full";
        case CycleReason::barrier:
            return "barrier";
        case CycleReason::no_warp:
            return "no warp";
        case CycleReason::not_launched:
            return "not launched";
        case CycleReason::instruction_fetch:
            return "instruction fetch";
        case CycleReason::constant_miss:
            return "constant cache";
        case CycleReason::register_read:
            return "register banks";
    }
    return "";
}

}  // namespace heddle::models::gpu
