#include "models/gpu/gpu_config.h"

#include <algorithm>
#include <bit>

#include "isa/target/generation.h"
#include "models/gpu/gpc_layout.h"
#include "models/memory/sectored_cache.h"

namespace heddle::models::gpu {

void describe(GpuConfig& c, ParameterList& list) {
    using enum Quantity;
    list.add("compute_capability", c.compute_capability, count, 70, 129,
             "Ten times the CUDA compute capability: 70 Volta, 80 and 86 Ampere, 90 Hopper.");
    list.add("clock", c.clock, frequency, 1e8, 1e10, "SM clock; every latency in cycles counts this clock.");

    list.add("sm.count", c.sm.count, count, 1, 1024, "Streaming multiprocessors.");
    list.add("sm.gpcs", c.sm.gpcs, count, 1, 64,
             "Graphics processing clusters; the SMs are dealt to them two by two, thread block clusters stay "
             "in one.");
    list.add_list("sm.gpc_sizes", c.sm.gpc_sizes, "even", {"sm.count", "sm.gpcs"}, 2, 128,
                  "SMs of each graphics processing cluster, where chips are sold with some switched off.");
    list.add("sm.warps", c.sm.warps, count, 4, 64, "Warps resident on one SM at most.");
    list.add("sm.ctas", c.sm.ctas, count, 1, 64, "Thread blocks resident on one SM at most.");
    list.add("sm.threads", c.sm.threads, count, 128, 2048, "Threads resident on one SM at most.");
    list.add("sm.registers", c.sm.registers, count, 4096, 1 << 20, "32-bit registers of one SM.");
    list.add("sm.register_unit", c.sm.register_unit, count, 32, 4096,
             "Registers are given to a warp in multiples of this.");
    list.add("sm.max_registers_per_thread", c.sm.max_registers_per_thread, count, 16, 1024,
             "Registers that one thread may have.");
    list.add_choice("sm.scheduler", c.sm.scheduler,
                    {"greedy_then_oldest", "greedy_then_youngest", "round_robin"},
                    "Which ready warp of a sub-core issues.");
    list.add("sm.branch_latency", c.sm.branch_latency, cycles, 1, 1000,
             "From a branch to the warp's next instruction.");
    list.add("sm.barrier_latency", c.sm.barrier_latency, cycles, 1, 1000,
             "From the last arrival at a barrier to the next instruction of the released warps.");

    describe(c.pipelines, list);
    describe(c.register_banks, list);
    describe(c.instruction_cache, list);
    describe(c.constant_cache, list);

    list.add("tensor.macs_per_cycle.f16", c.tensor.f16, count, 0, 1e6,
             "Dense fp16 and bf16 multiply-accumulates per cycle and SM; 0: none.");
    list.add("tensor.macs_per_cycle.tf32", c.tensor.tf32, count, 0, 1e6,
             "Dense tf32 multiply-accumulates per cycle and SM; 0: none.");
    list.add("tensor.macs_per_cycle.f8", c.tensor.f8, count, 0, 1e6,
             "Dense fp8 multiply-accumulates per cycle and SM; 0: none.");
    list.add("tensor.macs_per_cycle.s8", c.tensor.s8, count, 0, 1e6,
             "Dense int8 multiply-accumulates per cycle and SM; 0: none.");
    list.add("tensor.macs_per_cycle.s4", c.tensor.s4, count, 0, 1e6,
             "Dense 4-bit integer multiply-accumulates per cycle and SM; 0: none.");
    list.add("tensor.macs_per_cycle.b1", c.tensor.b1, count, 0, 1e6,
             "Single-bit multiply-accumulates per cycle and SM; 0: none.");
    list.add("tensor.macs_per_cycle.f4", c.tensor.f4, count, 0, 1e6,
             "Dense multiply-accumulates of packed 4-bit floats with block scales, per cycle and SM; 0: none.");
    list.add("tensor.macs_per_cycle.f64", c.tensor.f64, count, 0, 1e6,
             "Dense fp64 multiply-accumulates per cycle and SM; 0: none.");
    list.add("tensor.mma_sync_efficiency", c.tensor.mma_sync_efficiency, ratio, 0.01, 1,
             "Part of the peak rates that mma.sync reaches.");
    list.add("tensor.mma_sync_minimum", c.tensor.mma_sync_minimum, cycles, 1, 64,
             "Cycles for which a mma.sync occupies its sub-core's tensor core at least.");
    list.add("tensor.latency", c.tensor.latency, cycles, 1, 1000,
             "Cycles until a dependent mma may issue, beyond latency_growth times those at the full rate.");
    list.add(
        "tensor.latency_growth", c.tensor.latency_growth, count, 0, 16,
        "Cycles by which a mma's latency grows for each cycle that it takes at the full rate of its type.");

    describe(c.wgmma, list);
    describe(c.tcgen05, list);
    list.add("mbarrier.arrive_latency", c.memory_barrier.arrive_latency, cycles, 6, 1000,
             "Arrival at an mbarrier, or change of its transaction count, to the use of its result.");
    list.add("mbarrier.try_wait_latency", c.memory_barrier.try_wait_latency, cycles, 6, 1000,
             "mbarrier.try_wait for a complete phase to the use of its result.");
    list.add("mbarrier.test_wait_latency", c.memory_barrier.test_wait_latency, cycles, 6, 1000,
             "mbarrier.test_wait to the use of its result.");

    list.add("shared.size", c.shared.bytes, bytes, 1024, 1 << 24, "Shared memory of one SM at most.");
    list.add("shared.size_per_cta", c.shared.bytes_per_cta, bytes, 1024, 1 << 24,
             "Shared memory of one thread block at most.");
    list.add("shared.reserved_per_cta", c.shared.reserved_per_cta, bytes, 0, 65536,
             "Shared memory that the system takes of each thread block.");
    list.add("shared.unit", c.shared.unit, bytes, 1, 65536,
             "Shared memory is given to a thread block in multiples of this.");
    list.add("shared.latency", c.shared.latency, cycles, 6, 1000, "Load to use, without bank conflicts.");
    list.add("shared.atomic_latency", c.shared.atomic_latency, cycles, 6, 1000,
             "Shared atomic to use of its result, without conflicts.");
    list.add("shared.shuffle_latency", c.shared.shuffle_latency, cycles, 6, 1000, "Shuffle to use.");

    list.add("l1.unified_size", c.l1.unified_bytes, bytes, 1024, 1 << 24,
             "L1 and shared memory of one SM together.");
    list.add("l1.ways", c.l1.ways, count, 1, 16, "Associativity.");
    list.add("l1.latency", c.l1.latency, cycles, 6, 1000, "Load to use, hit.");
    list.add("l1.miss_latency", c.l1.miss_latency, cycles, 5, 1000,
             "From issue to the request leaving the SM.");
    list.add("l1.return_latency", c.l1.return_latency, cycles, 1, 1000,
             "From the arrival of the last sector at the SM to its use.");
    list.add("l1.bytes_per_cycle", c.l1.bytes_per_cycle, Quantity::per_cycle, 4, 1024,
             "Data of loads that reach the registers, a word for each lane, equal ones too.");
    list.add("l1.mshrs", c.l1.mshrs, count, 64, 16384, "Lines that may wait for L2.");
    list.add("l1.stores", c.l1.stores, count, 64, 16384, "Store requests that may wait for acknowledgement.");

    list.add("load_store.address_interval", c.load_store.address_interval, cycles, 1, 64,
             "Cycles between two memory instructions of one sub-core.");
    list.add("load_store.queue", c.load_store.queue, count, 1, 32,
             "Memory instructions of one sub-core that may wait for the SM's load-store unit.");
    list.add("load_store.instruction_interval", c.load_store.instruction_interval, cycles, 0.25, 64,
             "Cycles between two memory instructions of the SM.");
    list.add("load_store.wavefront_bytes", c.load_store.wavefront_bytes, per_cycle, 32, 1024,
             "Bytes per cycle between registers and L1 or shared memory.");

    list.add("texture.quads_per_cycle", c.texture.quads_per_cycle, count, 0.25, 64,
             "Lanes of texture instructions that an SM serves, of up to four texels each.");

    list.add("cluster.size", c.cluster.size, count, 0, 16,
             "Thread blocks of a cluster at most; 0: no clusters.");
    list.add("cluster.latency", c.cluster.latency, cycles, 6, 10000,
             "Load to use, shared memory of another SM, between the two nearest to the middle of their GPC.");
    list.add("cluster.spread", c.cluster.spread, cycles, 0, 1000,
             "More between the two SMs of a GPC that are furthest from its middle.");
    list.add("cluster.barrier_latency", c.cluster.barrier_latency, cycles, 1, 10000,
             "From the last arrival at a barrier of the cluster to its end.");
    list.add("cluster.bytes_per_cycle", c.cluster.bytes_per_cycle, per_cycle, 1, 1024,
             "Through an SM's port to the other SMs of its GPC, in and out together.");
    list.add("bulk_copy.interval", c.bulk_copy.interval, cycles, 1, 10000,
             "Cycles between the starts of two bulk or tensor copies of an SM.");
    list.add("bulk_copy.latency", c.bulk_copy.latency, cycles, 1, 10000,
             "From the issue of a bulk copy to its first request, beyond that of a load.");
    list.add("bulk_copy.requests", c.bulk_copy.requests, count, 1, 65536,
             "Lines of bulk copies that an SM may have under way.");
    list.add("bulk_copy.write_conflict", c.bulk_copy.write_conflict, Quantity::ratio, 0, 1,
             "Part of the lines that a copy writes into shared memory, each of which keeps others from it "
             "for a cycle.");

    models::describe(c.l2, list);
    models::describe(c.crossbar, list);
    describe(c.translation, list);
    models::describe(c.hbm, list);

    list.add("host.bandwidth", c.host.bandwidth, Quantity::bandwidth, 1e8, 1e13,
             "Large copies between host and device, one direction.");
    list.add("host.latency", c.host.latency, Quantity::time, 0, 1e-3,
             "Of a copy of a few bytes between host and device.");
    list.add("peer.bandwidth", c.peer.bandwidth, Quantity::bandwidth, 0, 1e14,
             "Links to other devices, all together, in each direction and with headers; 0: there are none.");
    list.add("peer.latency", c.peer.latency, Quantity::time, 0, 1e-3,
             "From a GPC's port to the L2 of another device, beyond the way to the device's own L2.");
    list.add("peer.header", c.peer.header, Quantity::bytes, 0, 4096,
             "Of a packet on these links, beside its data: a line or a part of one.");
    describe(c.power, list);
    list.add("launch.before", c.launch.before, time, 0, 1e-3,
             "From the end of earlier work in the stream to the first thread block.");
    list.add("launch.graph_before", c.launch.graph_before, time, 0, 1e-3,
             "From the end of a kernel to the first thread block of the next in the same CUDA graph.");
    list.add("launch.gap", c.launch.gap, time, 0, 1e-3,
             "The part of launch.before between two kernels, which a profiler counts for neither.");
    list.add("launch.after", c.launch.after, time, 0, 1e-3,
             "From the end of the last thread block to the end of the kernel.");
    list.add("launch.cta_interval", c.launch.cta_interval, cycles, 0, 10000,
             "Cycles between two thread blocks that the scheduler hands out.");
    list.add("launch.cta_latency", c.launch.cta_latency, cycles, 2, 100000,
             "From handing out a thread block to its first instruction.");
    list.add("launch.warp_interval", c.launch.warp_interval, cycles, 0, 1000,
             "Cycles between the starts of two warps of a thread block.");
}

target::GpuTarget target_of(const GpuConfig& config) {
    target::GpuTarget target;
    target.compute_capability = config.compute_capability;
    target.sm_count = config.sm.count;
    target.max_threads_per_sm = config.sm.threads;
    target.max_warps_per_sm = config.sm.warps;
    target.max_ctas_per_sm = config.sm.ctas;
    target.registers_per_sm = config.sm.registers;
    target.shared_bytes_per_sm = config.shared.bytes;
    target.shared_bytes_per_cta = config.shared.bytes_per_cta;
    target.l2_bytes = config.l2.bytes;
    return target;
}

namespace {

void check_gpc_sizes(const SmConfig& sm, std::vector<std::string>& problems) {
    if (sm.gpc_sizes.empty()) return;
    std::uint64_t sum = 0;
    bool odd = false;
    for (const std::uint32_t size : sm.gpc_sizes) {
        sum += size;
        odd = odd || size % kSmsPerTpc != 0;
    }
    if (odd) problems.emplace_back("sm.gpc_sizes must be even numbers: SMs come in pairs");
    if (sm.gpc_sizes.size() != sm.gpcs)
        problems.push_back("sm.gpc_sizes lists " + std::to_string(sm.gpc_sizes.size()) +
                           " GPCs, sm.gpcs says " + std::to_string(sm.gpcs));
    if (sum != sm.count)
        problems.push_back("sm.gpc_sizes adds up to " + std::to_string(sum) + " SMs, sm.count says " +
                           std::to_string(sm.count));
}

}  // namespace

std::vector<std::string> check(const GpuConfig& c) {
    std::vector<std::string> problems;
    const auto require = [&problems](bool holds, const char* sentence) {
        if (!holds) problems.emplace_back(sentence);
    };
    if (target::find_generation(c.compute_capability) == nullptr)
        problems.push_back("compute_capability: no GPU is known of " +
                           target::capability_text(c.compute_capability) + "; known are " +
                           target::known_capabilities());
    require(std::has_single_bit(c.l2.interleave_bytes), "l2.interleave must be a power of two");
    require(c.sm.threads == c.sm.warps * ptx::kWarpSize, "sm.threads must be 32 times sm.warps");
    require(c.sm.warps % kSubCores == 0, "sm.warps must divide among 4 sub-cores");
    require(c.sm.registers % kSubCores == 0, "sm.registers must divide among 4 sub-cores");
    require(c.sm.register_unit != 0 && c.sm.register_unit <= c.sm.registers / kSubCores,
            "sm.register_unit must fit a sub-core's registers");
    require(c.shared.bytes <= c.l1.unified_bytes, "shared.size must fit l1.unified_size");
    require(c.shared.bytes_per_cta + c.shared.reserved_per_cta <= c.shared.bytes,
            "shared.size_per_cta and shared.reserved_per_cta must fit shared.size together");
    require(c.cluster.latency >= c.shared.latency, "cluster.latency must not be shorter than shared.latency");
    require(c.l1.miss_latency > c.load_store.address_interval,
            "l1.miss_latency includes load_store.address_interval and must be longer");
    require(c.l1.latency > c.load_store.address_interval && c.shared.latency > c.load_store.address_interval,
            "l1.latency and shared.latency include load_store.address_interval and must be longer");
    require(c.l2.slices % c.hbm.channels == 0, "l2.slices must be a multiple of hbm.channels");
    require(c.l2.bytes / c.l2.slices >= std::uint64_t{kLineBytes} * c.l2.ways,
            "l2.size must give every slice at least one set of l2.ways lines");
    require(c.l2.partitions == 1 || c.l2.ways >= 2, "l2.ways must be at least 2 with several l2.partitions");
    require(c.l2.slices % c.l2.partitions == 0, "l2.slices must be a multiple of l2.partitions");
    require(c.translation.page_bytes == 0 ||
                (std::has_single_bit(c.translation.page_bytes) && c.translation.page_bytes >= 4096),
            "tlb.page_size must be a power of two of at least 4 KiB, or 0");
    require(c.crossbar.gpc_latency < c.crossbar.latency,
            "crossbar.gpc_latency is a part of crossbar.latency and must be shorter");
    require(c.power.constant(c.sm.count) < c.power.limit,
            "power.idle, power.active and power.leakage of all SMs together must be below power.limit");
    // Equal in a graph (in_graph()), but for what rounding leaves.
    require(c.launch.graph_before <= c.launch.before * (1 + 1e-9),
            "launch.graph_before must not be longer than launch.before");
    check_gpc_sizes(c.sm, problems);
    for (const std::string& problem : models::check(c.hbm)) problems.push_back(problem);
    return problems;
}

GpuConfig in_graph(GpuConfig config) {
    const double saved = config.launch.before - config.launch.graph_before;
    config.launch.before -= saved;
    config.launch.gap = std::max(0.0, config.launch.gap - saved);
    return config;
}

GpuConfig hot(GpuConfig config) {
    models::DramTiming& timing = config.hbm.timing;
    if (timing.hot_refi > 0) timing.refi = timing.hot_refi;
    return config;
}

}  // namespace heddle::models::gpu
