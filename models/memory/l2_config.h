// What makes one L2 cache different from another, as numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "models/common/parameter.h"

namespace heddle {
class L2Model;
struct L2ModelSettings;
}  // namespace heddle

namespace heddle::models {

/// L2 cache. The defaults describe an H100 SXM.
///
/// From the A100 on L2 has two partitions, each with half of the slices and of the GPCs. An SM asks the slice
/// of its own partition. A line's home is one slice, by hash; a slice of another partition that is asked for
/// the line keeps a copy, which it fetches from the home over a link. Memory lies behind the home. Data that
/// all SMs read are there once for each partition: half of L2 holds them.
struct L2Config {
    std::uint64_t bytes = 50ull << 20;  ///< of all slices together
    std::uint32_t slices = 80;          ///< of all partitions together
    std::uint32_t ways = 16;            ///< lines in a set
    /// So many consecutive bytes lie in one slice, and in one row of a bank of the memory behind it.
    std::uint32_t interleave_bytes = 512;
    double bytes_per_cycle = 64;  ///< data of one slice
    double write_cost = 2;        ///< cycles of the data array per sector written, of one read
    std::uint32_t latency = 92;   ///< from arrival at the slice to the response leaving it, hit
    std::uint32_t miss_latency =
        20;  ///< from arrival at the slice to the read leaving for memory or the home
    std::uint32_t fill_latency = 21;  ///< from the data's arrival from there to the response leaving
    std::uint32_t mshrs = 256;  ///< lines of one slice that may wait for memory; as many for other slices
    std::uint32_t write_backs = 256;   ///< evicted lines of one slice that may be on their way to memory
    std::uint32_t partitions = 2;      ///< GPCs and slices divide evenly among them
    std::uint32_t link_latency = 17;   ///< one way between the slices of a line in two partitions
    double link_bytes_per_cycle = 32;  ///< of one slice, each way
    double atomic_interval = 1;        ///< cycles per atomic operation on one word
    double persisting = 0.75;          ///< part of a set that lines with evict_last may take

    /// Shared library with a cache or network in place of the slices (l2_plugin.h); empty: none. With it,
    /// `slices` and `interleave_bytes` still hold, the library is told the other values, and there is one
    /// partition.
    std::string model;
    /// The same as a function of the program, for models that are linked in.
    std::function<std::shared_ptr<L2Model>(const char* name, const L2ModelSettings& settings)> make_model;
    bool is_replaced() const { return !model.empty() || make_model; }

    /// Bytes of one partition. Since each partition keeps copies of its own, this is the most data that L2
    /// holds when all SMs read them.
    std::uint64_t bytes_per_partition() const { return bytes / partitions; }
};
void describe(L2Config& config, ParameterList& list);

/// The network between SMs and L2: a port for each SM, and one for each GPC, which its SMs share.
struct CrossbarConfig {
    std::uint32_t latency = 69;       ///< one way, SM to slice or back
    std::uint32_t gpc_latency = 10;   ///< the part of it between the SM and its GPC's port
    double request_bytes = 32;        ///< per cycle from one SM: store data; a load takes one cycle
    double response_bytes = 64;       ///< per cycle to one SM
    double gpc_request_bytes = 336;   ///< per cycle from one GPC: store data; a load counts as one sector
    double gpc_response_bytes = 672;  ///< per cycle to one GPC
    std::uint32_t coalescer = 1024;   ///< lines under way to a GPC that further SMs may join; 0: none
};
void describe(CrossbarConfig& config, ParameterList& list);

}  // namespace heddle::models
