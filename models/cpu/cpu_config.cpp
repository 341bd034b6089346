#include "models/cpu/cpu_config.h"

#include <algorithm>
#include <bit>

namespace heddle::models {

void CpuConfig::describe(ParameterList& list) {
    list.add("sockets", sockets, Quantity::count, 1, 16, "Sockets.");
    list.add("cores", cores, Quantity::count, 1, 1024, "Cores of a socket.");
    list.add("smt", threads_per_core, Quantity::count, 1, 8, "Threads that a core can run at once.");
    list.add("threads", threads, Quantity::count, 0, 16384, "OpenMP threads of a program; 0: one on each core.");
    list.add("clock.single", clock_single, Quantity::frequency, 1e8, 1e10, "Clock with one core at work.");
    list.add("clock.all", clock_all, Quantity::frequency, 1e8, 1e10, "Clock with all cores at work.");
    list.add("clock.vector512", clock_vector512, Quantity::frequency, 0, 1e10, "Clock with all cores in 512-bit arithmetic; 0: clock.all.");
    list.add("clock.matrix", clock_matrix, Quantity::frequency, 0, 1e10, "Clock with all cores in tile arithmetic; 0: clock.vector512.");
    list.add("core.issue", issue, Quantity::count, 1, 16, "Fused operations that a core renames in a cycle.");
    list.add("core.window", window, Quantity::count, 8, 2048, "Operations in flight: the reorder buffer.");
    list.add("core.load_queue", load_queue, Quantity::count, 4, 1024, "Loads in flight.");
    list.add("core.store_queue", store_queue, Quantity::count, 4, 1024, "Stores that have not reached the L1.");
    list.add("core.load_ports", load_ports, Quantity::count, 1, 4, "Whole vectors that are loaded in a cycle.");
    list.add("core.store_ports", store_ports, Quantity::count, 1, 4, "Whole vectors that are stored in a cycle.");
    list.add("core.arithmetic_ports", arithmetic_ports, Quantity::count, 1, 8, "Fused multiply-adds of whole vectors in a cycle.");
    list.add("core.vector_ports", vector_ports, Quantity::count, 1, 8, "Other vector operations in a cycle.");
    list.add("core.branch_miss", branch_miss, Quantity::cycles, 0, 100, "Cycles that a mispredicted branch costs.");
    list.add("core.predicted_trips", predicted_trips, Quantity::count, 0, 1 << 20, "Trips of the longest loop whose exit is predicted.");
    list.add("core.fma_latency", fma_latency, Quantity::cycles, 1, 32, "Latency of multiplications and fused multiply-adds.");
    list.add("core.add_latency", add_latency, Quantity::cycles, 1, 32, "Latency of additions.");
    list.add("core.simple_latency", simple_latency, Quantity::cycles, 1, 32, "Latency of bitwise and integer operations.");
    list.add("core.divide_latency", divide_latency, Quantity::cycles, 1, 128, "Latency of divisions and square roots.");
    list.add("core.divide_interval", divide_interval, Quantity::cycles, 1, 128, "Cycles from one division of a whole vector to the next.");
    list.add("core.gather_lane", gather_lane, Quantity::count, 0.1, 16, "Load slots that each lane of a gather takes.");
    list.add("vector.bits", vector_bits, Quantity::count, 128, 512, "Width of a vector register: 128, 256 or 512.");
    list.add("vector.bf16_dot", bf16_dot, Quantity::count, 0, 1, "1 where there are dot products of bf16 pairs.");
    list.add("matrix.interval", tile_interval, Quantity::cycles, 0, 1024, "Cycles of a product of two tiles of 16 rows of 64 bytes; 0: no tiles.");
    list.add("matrix.latency", tile_latency, Quantity::cycles, 1, 1024, "Latency of that product.");
    const auto cache = [&](const std::string& name, CacheLevel& level, bool shared) {
        list.add(name + ".size", level.bytes, Quantity::bytes, 4096, 4e9, "Size of one instance.");
        list.add(name + ".ways", level.ways, Quantity::count, 1, 64, "Ways of a set.");
        list.add(name + ".latency", level.latency, shared ? Quantity::time : Quantity::cycles, 0, 1000, "From a load to its use.");
        list.add(name + ".bandwidth", level.bandwidth, Quantity::per_cycle, 1, 1024, "Bytes per cycle towards a core.");
        if (!shared) list.add(name + ".fills", level.fills, Quantity::count, 1, 1024, "Lines under way to it at once.");
    };
    cache("l1", l1, false);
    cache("l2", l2, false);
    list.add("l2.prefetch", prefetch_lines, Quantity::count, 0, 64, "Lines that the prefetcher runs ahead of a stream.");
    cache("l3", l3, true);
    list.add("l3.cores", l3_cores, Quantity::count, 0, 1024, "Cores that share one L3; 0: all of a socket.");
    list.add("memory.size", memory_bytes, Quantity::bytes, 1 << 20, 1e14, "Memory of all sockets.");
    list.add("memory.bandwidth", memory_bandwidth, Quantity::bandwidth, 1e8, 1e14, "Peak of a socket's channels.");
    list.add("memory.efficiency", memory_efficiency, Quantity::ratio, 0.05, 1, "Part of the peak that streams reach.");
    list.add("memory.latency", memory_latency, Quantity::time, 0, 1e-4, "Latency beyond the L3's.");
    list.add("memory.remote", remote_latency, Quantity::time, 0, 1e-4, "Additional latency of another node's memory.");
    list.add("memory.nodes", numa_nodes, Quantity::count, 1, 64, "NUMA nodes of the machine.");
    list.add("openmp.fork", fork_seconds, Quantity::time, 0, 1e-2, "Begin and barrier of a parallel region of all threads.");
    list.add("host.dispatch", dispatch_seconds, Quantity::time, 0, 1e-2, "The framework's work for each op.");
}

std::optional<std::string> CpuConfig::problem() const {
    if (vector_bits != 128 && vector_bits != 256 && vector_bits != 512) return "vector.bits is neither 128, 256 nor 512";
    if (tile_interval != 0 && vector_bits != 512) return "matrix.interval is set, but vector.bits is not 512: tiles come with 512-bit vectors";
    for (const auto& [name, level] : {std::pair{"l1", &l1}, {"l2", &l2}, {"l3", &l3}})
        if (level->bytes < std::uint64_t{64} * level->ways) return std::string(name) + ".size is less than one line for each of " + name + ".ways";
    if (clock_single < clock_all) return "clock.single is lower than clock.all";
    if (program_threads() > all_cores() * threads_per_core) return "threads is more than cores and smt can run";
    return std::nullopt;
}

double CpuConfig::clock(unsigned active, bool vector512, bool matrix) const {
    double licence = 1;  // of the clock of other work
    if ((vector512 || matrix) && clock_vector512 != 0) licence = clock_vector512 / clock_all;
    if (matrix && clock_matrix != 0) licence = clock_matrix / clock_all;
    const double busy = std::clamp<double>(active, 1, all_cores());
    const double part = all_cores() == 1 ? 1 : (busy - 1) / (all_cores() - 1);
    return (clock_single + (clock_all - clock_single) * part) * licence;
}

double CpuConfig::peak_f32() const {
    return 2.0 * all_cores() * arithmetic_ports * lanes() * clock(all_cores(), vector_bits == 512, false);
}

double CpuConfig::peak_bf16() const {
    if (tile_interval != 0) return 2.0 * 16 * 16 * 32 / tile_interval * all_cores() * clock(all_cores(), true, true);
    return peak_f32() * (bf16_dot ? 2 : 1);
}

}  // namespace heddle::models
