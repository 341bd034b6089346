#include "models/tpu/tpu_config.h"

#include <algorithm>
#include <cmath>

#include "isa/common/error.h"

namespace heddle::models {

void TpuConfig::describe(ParameterList& list) {
    using Q = Quantity;
    list.add("cores", cores, Q::count, 1, 16, "TensorCores on the chip; they share HBM");
    list.add("clock", clock_hertz, Q::frequency, 1e8, 5e9,
             "clock of the cores; all cycles are counted in it");
    list.add(
        "nominal_clock", nominal_clock_hertz, Q::frequency, 0, 5e9,
        "clock of the published peak, where large products do not sustain it: shares of the peak are told "
        "beside it, and no time follows from it; 0: they do, and it is `clock`");
    list.add("launch_overhead", launch_seconds, Q::time, 0, 1e-2,
             "from the host to a program's first instruction");

    list.add("matrix.per_core", matrix.per_core, Q::count, 1, 8, "matrix units of a core");
    list.add("matrix.rows", matrix.rows, Q::count, 1, 1024,
             "rows of the array: contraction length of a weight tile");
    list.add("matrix.columns", matrix.columns, Q::count, 1, 1024,
             "columns of the array: outputs of a weight tile");
    list.add_choice("matrix.weight_buffering", matrix.weight_buffering, {"single", "double"},
                    "double: the next weight tile is shifted in while the array computes");
    list.add_choice(
        "matrix.numbers", matrix.numbers, {"floats", "integers", "both"},
        "what its cells multiply: bf16 (fp32 and fp8 by way of it), or integers of 8 and 16 bits");
    list.add("matrix.int8_rows", matrix.int8_rows_per_cycle, Q::count, 1, 4,
             "rows of int8 activations that enter the array in a cycle, with int8 weights");
    list.add("matrix.weight_rows", matrix.weight_rows_per_cycle, Q::count, 1, 4,
             "rows of a weight tile that are shifted in per cycle");
    list.add("matrix.accumulator_rows", matrix.accumulator_rows, Q::count, 8, 65536,
             "rows of the result buffer of a matrix unit, each as wide as the array");

    list.add("vector.arithmetic_slots", vector.arithmetic_slots, Q::count, 1, 16,
             "vector ALU operations per cycle, on 8 x 128 elements each");
    list.add("vector.transcendental_slots", vector.transcendental_slots, Q::count, 1, 16,
             "exp, log, tanh, reciprocal and rsqrt estimates per cycle, on 8 x 128 elements each");
    list.add("vector.load_slots", vector.load_slots, Q::count, 1, 16,
             "vector registers loaded from VMEM per cycle");
    list.add("vector.store_slots", vector.store_slots, Q::count, 1, 16,
             "vector registers stored to VMEM per cycle");
    list.add("vector.cycles_per_register", vector.cycles_per_register, Q::count, 1, 64,
             "cycles that a slot takes for a register of 8 x 128 elements");
    list.add("vector.lane_reduction", vector.lane_reduction_cycles, Q::cycles, 0, 1024,
             "to reduce a register over its 128 lanes");
    list.add("vector.sublane_reduction", vector.sublane_reduction_cycles, Q::cycles, 0, 1024,
             "to reduce a register over its 8 sublanes");
    list.add("vector.transpose", vector.transpose_cycles, Q::cycles, 1, 1024,
             "per 8 x 128 register of a transposed tile");
    list.add("vector.startup", vector.startup_cycles, Q::cycles, 0, 10000,
             "from the start of a vector instruction to its first result");

    list.add("vmem.size", vmem.bytes, Q::bytes, 1 << 16, 1ull << 34, "on-chip memory of a core");
    list.add("vmem.read", vmem.read_bytes_per_cycle, Q::per_cycle, 1, 1e6,
             "what all units of a core may read together");
    list.add("vmem.write", vmem.write_bytes_per_cycle, Q::per_cycle, 1, 1e6,
             "what all units of a core may write together");

    list.add("sequencer.issue_width", sequencer.issue_width, Q::count, 1, 8, "instructions issued per cycle");
    list.add("sequencer.queue_depth", sequencer.queue_depth, Q::count, 1, 1024,
             "instructions that can wait in front of each unit");
    list.add("sequencer.sync_flags", sequencer.sync_flags, Q::count, 1, 4096, "sync flags of a core");
    list.add("sequencer.remote_signal", sequencer.remote_signal_cycles, Q::cycles, 1, 100000,
             "until a signal shows in another core");

    list.add("dma.outstanding", dma.outstanding, Q::count, 1, 1024,
             "transfers under way per core and direction");
    list.add("dma.issue", dma.issue_cycles, Q::cycles, 1, 100000,
             "from a descriptor's start to its first request");
    list.add("dma.rate", dma.bytes_per_cycle, Q::per_cycle, 1, 1e6,
             "of one direction of a core's DMA engine");
    list.add("dma.strip", dma.cycles_per_strip, Q::cycles, 1, 1000,
             "least time per strip of rows of a 2-D transfer");
    list.add("dma.strip_rows", dma.strip_rows, Q::count, 1, 64,
             "rows that lie together in device memory, as tiles of 8 sublanes do");

    list.add("hbm.size", hbm.bytes, Q::bytes, 1 << 20, 1ull << 44, "device memory of the chip");
    list.add("hbm.bandwidth", hbm.bandwidth, Q::bandwidth, 1e9, 1e14, "peak bandwidth of device memory");
    list.add("hbm.efficiency", hbm.efficiency, Q::ratio, 0.01, 1, "share of the peak that streaming reaches");
    list.add("hbm.latency", hbm.latency_cycles, Q::cycles, 1, 100000, "from request to data, unloaded");
    list.add("hbm.access", hbm.access_bytes, Q::bytes, 1, 4096,
             "smallest piece of memory that is fetched or written");
    list.add("hbm.arbitration", hbm.arbitration_bytes, Q::bytes, 64, 1 << 24,
             "served to one DMA queue before the next gets its turn");

    list.add("cmem.size", cmem.bytes, Q::bytes, 0, 1ull << 36,
             "on-chip memory that the cores share; 0: none");
    list.add("cmem.bandwidth", cmem.bandwidth, Q::bandwidth, 1e9, 1e15, "of it, for all cores together");
    list.add("cmem.latency", cmem.latency_cycles, Q::cycles, 1, 100000, "from request to data, unloaded");

    sparse.describe(list);
    list.add("links.count", links.count, Q::count, 0, 16, "links to other chips");
    list.add("links.bandwidth", links.bandwidth, Q::bandwidth, 1e6, 1e13, "of one link, each direction");
    list.add("links.latency", links.latency_seconds, Q::time, 0, 1e-2, "of a hop to the next chip");

    list.add("host.bandwidth", host.bandwidth, Q::bandwidth, 1e6, 1e13,
             "of the link to the host, each direction");
    list.add("host.efficiency", host.efficiency, Q::ratio, 0.01, 1, "share of it that payload reaches");
    list.add("host.latency", host.latency_seconds, Q::time, 0, 1e-2, "from request to data");

    list.add_choice("compiler.operands", compiler.operands, {"streamed", "whole"},
                    "whole: a product that fits VMEM brings its second operand there before it begins");
    list.add("compiler.operand_window", compiler.operand_window, Q::bytes, 4096, 1ull << 34,
             "panels in which the first operand of such a product comes");
    list.add("compiler.result_window", compiler.result_window, Q::bytes, 4096, 1ull << 34,
             "results of such a product that leave in one transfer");
    list.add("compiler.tile_rows", compiler.tile_rows, Q::count, 0, 1 << 20,
             "rows of the block of a product that a core works on; 0: searched");
    list.add("compiler.tile_columns", compiler.tile_columns, Q::count, 0, 1 << 20,
             "columns of that block; 0: searched");
    list.add("compiler.tile_depth", compiler.tile_depth, Q::count, 0, 1 << 20,
             "contraction that a block loads at a time; 0: searched");
    list.add_choice("compiler.loop_order", compiler.loop_order, {"searched", "rows", "columns"},
                    "outer loop over the blocks of a product");
    list.add("compiler.fp32_passes", compiler.fp32_passes, Q::count, 1, 6,
             "bf16 passes per product of fp32 matrices: 1, 3 or 6");
}

void TpuConfig::check() const {
    const auto fail = [](const std::string& problem, const std::string& key, const std::string& remedy) {
        throw Error(problem, {"", 0, key}, remedy);
    };
    const std::uint64_t tile = 4ull * matrix.rows * matrix.columns;
    if (vmem.bytes < 8 * tile) {
        fail("on-chip memory of " + std::to_string(vmem.bytes) +
                 " bytes holds less than eight fp32 weight tiles",
             "vmem.size", "give at least " + std::to_string(8 * tile) + " bytes");
    }
    const auto in_steps = [&](std::uint64_t value, unsigned step, const std::string& key, const char* what) {
        if (value % step == 0) return;
        fail(std::to_string(value) + " is no multiple of " + what, key,
             "give a multiple of " + std::to_string(step) + ", or 0: searched");
    };
    in_steps(compiler.tile_rows, 8, "compiler.tile_rows", "the 8 sublanes");
    in_steps(compiler.tile_columns, matrix.columns, "compiler.tile_columns", "the array's columns");
    in_steps(compiler.tile_depth, matrix.rows, "compiler.tile_depth", "the array's rows");
    const std::uint64_t widest = 4ull * (matrix.rows > matrix.columns ? matrix.rows : matrix.columns);
    const std::uint64_t vector_load = 4096ull * vector.load_slots,
                        vector_store = 4096ull * vector.store_slots;
    if (vmem.read_bytes_per_cycle < widest || vmem.read_bytes_per_cycle < vector_load) {
        fail("the vector unit or a matrix unit alone reads more than on-chip memory gives", "vmem.read",
             "give at least " + std::to_string(widest > vector_load ? widest : vector_load) + " B/cycle");
    }
    if (vmem.write_bytes_per_cycle < 4ull * matrix.columns || vmem.write_bytes_per_cycle < vector_store) {
        fail("the vector unit or a matrix unit alone writes more than on-chip memory takes", "vmem.write",
             "give at least " + std::to_string(vector_store) + " B/cycle");
    }
    if (vmem.read_bytes_per_cycle < dma.bytes_per_cycle || vmem.write_bytes_per_cycle < dma.bytes_per_cycle) {
        fail("DMA alone moves more than on-chip memory gives or takes", "dma.rate",
             "lower it or raise vmem.read and vmem.write");
    }
    if (compiler.fp32_passes != 1 && compiler.fp32_passes != 3 && compiler.fp32_passes != 6)
        fail("products of fp32 matrices take 1, 3 or 6 passes, not " + std::to_string(compiler.fp32_passes),
             "compiler.fp32_passes", "choose one of these");
    if (vmem.bytes > hbm.bytes)
        fail("on-chip memory is larger than device memory", "vmem.size", "swap vmem.size and hbm.size?");
}

void SparseCoreConfig::describe(ParameterList& list) {
    using Q = Quantity;
    list.add("sparse.cores", cores, Q::count, 0, 64, "SparseCores of the chip; 0: rows by index move by DMA");
    list.add("sparse.tiles", tiles, Q::count, 1, 256, "compute tiles of a SparseCore");
    list.add("sparse.words", words_per_cycle, Q::count, 1, 64,
             "32-bit words that a tile moves or adds per cycle");
    list.add("sparse.row", row_cycles, Q::cycles, 0, 10000, "of a tile for each row, beside moving it");
    list.add("sparse.outstanding", outstanding, Q::count, 1, 256, "gathers or scatters under way");
}

std::uint64_t SparseCoreConfig::cycles(std::uint64_t rows, std::uint64_t row_bytes, unsigned passes,
                                       unsigned tensor_cores) const {
    const std::uint64_t share = std::max(1u, cores * tiles / tensor_cores), step = 4ull * words_per_cycle;
    return (rows + share - 1) / share * (row_cycles + passes * ((row_bytes + step - 1) / step));
}

HbmConfig common_memory_of(const TpuConfig& config) {
    HbmConfig memory;
    memory.bytes = config.cmem.bytes;
    memory.bandwidth = config.cmem.bandwidth;
    memory.efficiency = 1;
    memory.latency_cycles = config.cmem.latency_cycles;
    memory.access_bytes = config.hbm.access_bytes;
    memory.arbitration_bytes = config.hbm.arbitration_bytes;
    return memory;
}

HbmConfig host_memory_of(const TpuConfig& config) {
    HbmConfig memory;
    memory.bandwidth = config.host.bandwidth;
    memory.efficiency = config.host.efficiency;
    memory.latency_cycles =
        std::max(1u, static_cast<unsigned>(std::lround(config.host.latency_seconds * config.clock_hertz)));
    memory.access_bytes = config.hbm.access_bytes;
    return memory;
}

target::TpuTarget target_of(const TpuConfig& config) {
    target::TpuTarget target;
    target.name = config.name;
    target.cores = config.cores;
    target.matrix_units_per_core = config.matrix.per_core;
    target.array_rows = config.matrix.rows;
    target.array_columns = config.matrix.columns;
    target.vector_sublanes = tpu::kSublanes;
    target.vector_lanes = tpu::kLanes;
    target.vmem_bytes = config.vmem.bytes;
    target.hbm_bytes = config.hbm.bytes;
    target.accumulator_rows = config.matrix.accumulator_rows;
    target.sync_flags = config.sequencer.sync_flags;
    return target;
}

tpu::Limits limits_of(const TpuConfig& config) {
    tpu::Limits limits;
    limits.cores = config.cores;
    limits.matrix_units = config.matrix.per_core;
    limits.array_rows = config.matrix.rows;
    limits.array_columns = config.matrix.columns;
    limits.vmem_bytes = config.vmem.bytes;
    limits.accumulator_rows = config.matrix.accumulator_rows;
    limits.sync_flags = config.sequencer.sync_flags;
    return limits;
}

}  // namespace heddle::models
