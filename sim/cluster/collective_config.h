// How a communication library uses a device and its links: thread blocks, channels and protocols.
#pragma once

#include <array>
#include <cstdint>

#include "models/common/parameter.h"

namespace heddle::sim {

/// How a receiver learns that data has arrived (NCCL's names). A library with only one protocol uses
/// `simple`.
enum class CollectiveProtocol : std::uint8_t { ll, ll128, simple, automatic };
inline constexpr std::size_t kProtocols = 3;

/// How the library chooses between algorithms and protocols.
enum class CollectiveChoice : std::uint8_t {
    nccl,     ///< by the estimate of NCCL's tuning model: base + steps x hop + bytes / bandwidth
    fastest,  ///< by this model: the one that takes the least simulated time
};

/// The costs of one protocol on this device. Times are seconds, rates are bytes of payload per second.
struct ProtocolConfig {
    double wire = 1;             ///< payload divided by transferred bytes
    double start = 0;            ///< seconds once, before the first byte and after the last
    double step = 0;             ///< seconds of a step in addition to the link: writing and reading flags
    double network_step = 0;     ///< the same for a step to another node
    double channel_rate = 1e12;  ///< rate at which a channel sends
    /// Rate at which a channel takes data out of its buffer without sending it on.
    double receive_rate = 1e12;
    double reduce_rate = 1e12;         ///< rate at which a channel adds data to its own and sends the sum on
    std::uint64_t channel_bytes = 1;   ///< one more channel is used for each this many bytes of the message
    std::uint64_t chunk = 1ull << 40;  ///< payload that a channel works on at a time
    std::uint32_t slices = 1;          ///< parts of a chunk that are sent on separately
    std::uint64_t slice_bytes = 0;     ///< least size of a slice in bytes
    double direct_start = 0;           ///< `start` of send/receive and all-to-all
    // What the library believes when it chooses (NCCL's tuning tables).
    double believed_base = 0, believed_ring_hop = 0, believed_tree_hop = 0;
    double believed_network_ring_hop = 0, believed_network_tree_hop = 0;
};

/// The costs of collectives on this device, and how the library chooses among them.
struct CollectiveConfig {
    CollectiveChoice choice = CollectiveChoice::fastest;
    double launch = 0;                  ///< seconds of an empty collective in a stream of collectives
    std::uint32_t channels = 1;         ///< thread blocks of the kernel; each has a ring or tree
    std::uint32_t direct_channels = 1;  ///< channels of send/receive and all-to-all, divided among the peers
    double direct_efficiency = 1;       ///< fraction of the links' rate that these channels reach
    std::uint32_t slots = 8;            ///< number of slices that can wait for a receiver
    std::array<ProtocolConfig, kProtocols> protocols;
    double believed_bandwidth = 0;      ///< bytes per second of a ring inside a node, over all channels
    double believed_ll_bandwidth = 0;   ///< at most, with LL
    double believed_ll128_channel = 0;  ///< largest rate of a channel with LL128
    double believed_switch_hop = 0;     ///< seconds of a hop of in-switch reduction
    double switch_start = 0;            ///< seconds once, of in-switch reduction
};

/// Adds every field to `list` with its path, unit, range and meaning.
void describe(CollectiveConfig& config, models::ParameterList& list);

const char* name_of(CollectiveProtocol protocol);

}  // namespace heddle::sim
