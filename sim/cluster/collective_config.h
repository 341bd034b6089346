// How a communication library uses a device and its links: kernels, channels, protocols.
#pragma once

#include <array>
#include <cstdint>

#include "models/common/parameter.h"

namespace heddle::sim {

/// How a receiver learns that data has come (NCCL's names). A library with one way only uses `simple`.
enum class CollectiveProtocol : std::uint8_t { ll, ll128, simple, automatic };
inline constexpr std::size_t kProtocols = 3;

/// How the library chooses between algorithms and protocols.
enum class CollectiveChoice : std::uint8_t {
    nccl,     ///< by the estimate of NCCL's tuning model: base + steps x hop + bytes / bandwidth
    fastest,  ///< what this model finds fastest
};

/// What one protocol costs on this device.
struct ProtocolConfig {
    double wire = 1;             ///< payload divided by what travels
    double start = 0;            ///< seconds once, before the first byte and after the last
    double step = 0;             ///< seconds of a step besides the link: writing flags, seeing them
    double network_step = 0;     ///< the same when the step goes to another node
    double channel_rate = 1e12;  ///< payload that a channel sends, bytes per second
    double receive_rate = 1e12;  ///< payload that a channel takes out of its buffer when it sends nothing on
    double reduce_rate = 1e12;   ///< payload that a channel adds to what it has and sends on
    std::uint64_t channel_bytes = 1;   ///< a channel more for each so many bytes of the message
    std::uint64_t chunk = 1ull << 40;  ///< payload that a channel works on at a time
    std::uint32_t slices = 1;          ///< parts of a chunk that are handed on by themselves
    std::uint64_t slice_bytes = 0;     ///< a slice is not smaller
    double direct_start = 0;           ///< `start` of send/receive and all-to-all
    // What the library believes when it chooses (NCCL's tuning tables).
    double believed_base = 0, believed_ring_hop = 0, believed_tree_hop = 0;
    double believed_network_ring_hop = 0, believed_network_tree_hop = 0;
};

struct CollectiveConfig {
    CollectiveChoice choice = CollectiveChoice::fastest;
    double launch = 0;                  ///< seconds of an empty collective in a stream of them
    std::uint32_t channels = 1;         ///< thread blocks of the kernel, each with a ring or tree of its own
    std::uint32_t direct_channels = 1;  ///< of send/receive and all-to-all, dealt to the peers
    double direct_efficiency = 1;       ///< part of the links that those reach
    std::uint32_t slots = 8;            ///< slices that may wait for a receiver
    std::array<ProtocolConfig, kProtocols> protocols;
    double believed_bandwidth = 0;      ///< of a ring inside a node, all channels
    double believed_ll_bandwidth = 0;   ///< at most, with LL
    double believed_ll128_channel = 0;  ///< of a channel at most, with LL128
    double believed_switch_hop = 0;     ///< of in-switch reduction
    double switch_start = 0;            ///< seconds once, of in-switch reduction
};

/// Lists every field with its path, unit, range and meaning.
void describe(CollectiveConfig& config, models::ParameterList& list);

const char* name_of(CollectiveProtocol protocol);

}  // namespace heddle::sim
