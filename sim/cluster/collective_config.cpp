#include "sim/cluster/collective_config.h"

#include <string>

namespace heddle::sim {
namespace {

using models::ParameterList;
using models::Quantity;

void describe_protocol(ProtocolConfig& p, const std::string& name, ParameterList& list) {
    const auto time = [&](const char* key, double& field, const char* meaning) {
        list.add(name + key, field, Quantity::time, 0, 1, meaning);
    };
    const auto rate = [&](const char* key, double& field, const char* meaning) {
        list.add(name + key, field, Quantity::bandwidth, 1e3, 1e18, meaning);
    };
    list.add(name + ".wire", p.wire, Quantity::ratio, 0.01, 1, "Payload, as a part of what travels.");
    time(".start", p.start, "Once in a collective: loading connections, first and last flags.");
    time(".direct_start", p.direct_start, "The same of send/receive and all-to-all.");
    time(".step", p.step, "Of a step besides its link: flags written, seen and acknowledged.");
    time(".network_step", p.network_step, "The same when the step goes to another node.");
    rate(".channel_rate", p.channel_rate, "Payload that a channel copies and sends.");
    rate(".receive_rate", p.receive_rate,
         "Payload that a channel takes from its buffer when it sends nothing on.");
    rate(".reduce_rate", p.reduce_rate, "Payload that a channel adds to its own and sends on.");
    list.add(name + ".channel_bytes", p.channel_bytes, Quantity::bytes, 1, 1ull << 40,
             "Bytes of the message for each channel that is used; with LL, for each rank too.");
    list.add(name + ".chunk", p.chunk, Quantity::bytes, 1, 1ull << 50,
             "Payload that a channel works on at a time.");
    list.add(name + ".slices", p.slices, Quantity::count, 1, 64,
             "Parts of a chunk that are handed on by themselves.");
    list.add(name + ".slice_bytes", p.slice_bytes, Quantity::bytes, 0, 1ull << 40, "A slice is not smaller.");
    time(".believed.base", p.believed_base, "What the library believes of a collective when it chooses.");
    time(".believed.ring_hop", p.believed_ring_hop, "What it believes of a step of a ring inside a node.");
    time(".believed.tree_hop", p.believed_tree_hop, "What it believes of a step of a tree inside a node.");
    time(".believed.network_ring_hop", p.believed_network_ring_hop,
         "What it believes of a ring's step between nodes.");
    time(".believed.network_tree_hop", p.believed_network_tree_hop,
         "What it believes of a tree's step between nodes.");
}

}  // namespace

void describe(CollectiveConfig& c, ParameterList& list) {
    list.add_choice(
        "collective.choice", c.choice, {"nccl", "fastest"},
        "Algorithm and protocol: by the estimate of NCCL's tuning model, or what this model finds fastest.");
    list.add("collective.launch", c.launch, Quantity::time, 0, 1,
             "An empty collective, in a stream of them.");
    list.add("collective.channels", c.channels, Quantity::count, 1, 1024,
             "Thread blocks of the kernel; each has a ring or tree of its own.");
    list.add("collective.direct_channels", c.direct_channels, Quantity::count, 1, 4096,
             "Channels of send/receive and all-to-all, dealt to the ranks.");
    list.add("collective.direct_efficiency", c.direct_efficiency, Quantity::ratio, 0.01, 1,
             "Part of the links' bandwidth that send/receive and all-to-all reach.");
    list.add("collective.slots", c.slots, Quantity::count, 1, 1024, "Slices that may wait for a receiver.");
    list.add("collective.believed.bandwidth", c.believed_bandwidth, Quantity::bandwidth, 0, 1e15,
             "What the library believes that rings carry inside a node.");
    list.add("collective.believed.ll_bandwidth", c.believed_ll_bandwidth, Quantity::bandwidth, 0, 1e15,
             "At most, with LL.");
    list.add("collective.believed.ll128_channel", c.believed_ll128_channel, Quantity::bandwidth, 0, 1e15,
             "Of a channel at most, with LL128.");
    list.add("collective.believed.switch_hop", c.believed_switch_hop, Quantity::time, 0, 1,
             "What it believes of the latency of in-switch reduction.");
    list.add("collective.switch_start", c.switch_start, Quantity::time, 0, 1,
             "Once in a collective with in-switch reduction.");
    for (std::size_t p = 0; p < kProtocols; ++p)
        describe_protocol(c.protocols[p], name_of(static_cast<CollectiveProtocol>(p)), list);
}

const char* name_of(CollectiveProtocol protocol) {
    switch (protocol) {
        case CollectiveProtocol::ll:
            return "ll";
        case CollectiveProtocol::ll128:
            return "ll128";
        case CollectiveProtocol::simple:
            return "simple";
        case CollectiveProtocol::automatic:
            return "automatic";
    }
    return "";
}

}  // namespace heddle::sim
