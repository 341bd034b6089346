// What is a CPU? Cores, vector and matrix units, caches, memory and clocks: the parameters of a hardware file of `kind: cpu`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/common/parameter.h"

namespace heddle::models {

/// One level of a core's caches. Lines have 64 bytes.
struct CacheLevel {
    std::uint64_t bytes = 0;  ///< of one instance
    std::uint32_t ways = 8;
    double latency = 0;       ///< cycles from a load to its use; of the L3: seconds
    double bandwidth = 64;    ///< bytes per cycle towards the core
    std::uint32_t fills = 16; ///< lines that may be under way to this level at once
};

/// A machine of one or more equal sockets. Times that follow the core's clock are in cycles, others in seconds.
struct CpuConfig {
    std::string name;
    std::uint32_t sockets = 1, cores = 1;  ///< cores: of a socket
    std::uint32_t threads_per_core = 1;    ///< that the hardware can run at once
    std::uint32_t threads = 0;             ///< OpenMP threads of a program; 0: one on each core

    double clock_single = 3e9, clock_all = 3e9;  ///< hertz with one and with all cores at work; between them linear in the cores
    double clock_vector512 = 0;  ///< hertz with all cores in 512-bit arithmetic; 0: clock_all
    double clock_matrix = 0;     ///< hertz with all cores in tile arithmetic; 0: clock_vector512

    std::uint32_t issue = 6, window = 512;       ///< fused operations per cycle; reorder buffer
    std::uint32_t load_queue = 192, store_queue = 112;
    std::uint32_t load_ports = 2, store_ports = 1, arithmetic_ports = 2, vector_ports = 2;
    std::uint32_t branch_miss = 17;              ///< cycles
    std::uint32_t predicted_trips = 48;          ///< longest loop whose exit is predicted
    std::uint32_t fma_latency = 4, add_latency = 4, simple_latency = 1;
    std::uint32_t divide_latency = 17, divide_interval = 16;   ///< of a whole register
    double gather_lane = 1.0;                    ///< load slots per lane of a gather

    std::uint32_t vector_bits = 512;
    bool bf16_dot = true;                        ///< vdpbf16ps or the like
    std::uint32_t tile_interval = 0;             ///< cycles of a 16x16x64-byte tile product; 0: no tiles
    std::uint32_t tile_latency = 52;

    CacheLevel l1{48 << 10, 12, 5, 128, 16}, l2{2 << 20, 16, 15, 48, 48};
    CacheLevel l3{32 << 20, 16, 30e-9, 16, 0};
    std::uint32_t l3_cores = 0;                  ///< cores that share one L3; 0: all of a socket
    std::uint32_t prefetch_lines = 20;           ///< how far the L2 prefetcher runs ahead of a stream

    std::uint64_t memory_bytes = std::uint64_t{64} << 30;  ///< of all sockets
    double memory_bandwidth = 100e9;             ///< bytes per second of a socket
    double memory_efficiency = 0.85;             ///< of it that streams can reach
    double memory_latency = 100e-9;              ///< seconds, beyond the L3's
    double remote_latency = 0;                   ///< seconds more for the memory of another node
    std::uint32_t numa_nodes = 1;                ///< of the whole machine

    double fork_seconds = 2e-6;                  ///< a parallel region's begin and barrier with all threads
    double dispatch_seconds = 3e-6;              ///< the framework's work for each op

    void describe(ParameterList& list);
    /// The first reason why there can be no such machine.
    std::optional<std::string> problem() const;

    std::uint32_t all_cores() const { return sockets * cores; }
    std::uint32_t program_threads() const { return threads != 0 ? threads : all_cores(); }
    unsigned lanes() const { return vector_bits / 32; }
    /// Hertz with `active` cores at work. What the licence of wide arithmetic takes with all cores, it takes with fewer.
    double clock(unsigned active, bool vector512, bool matrix) const;
    /// Floating-point operations per second of all cores: f32 by vectors; bf16 by the fastest units that there are.
    double peak_f32() const;
    double peak_bf16() const;
};

}  // namespace heddle::models
