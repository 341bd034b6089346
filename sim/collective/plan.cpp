#include "sim/collective/plan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "isa/common/error.h"

namespace heddle::sim {
namespace {

using models::network::Fabric;
using models::network::Topology;

constexpr double kNever = std::numeric_limits<double>::infinity();

/// NCCL corrects its estimate of trees by size, from 64 B on in powers of two (src/graph/tuning.cc).
constexpr std::array<std::array<double, 23>, kProtocols> kTreeCorrection{{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9},
}};
/// NCCL sends up to so many bytes with LL in send/receive (NCCL_P2P_LL_THRESHOLD).
constexpr std::uint64_t kDirectLlBytes = 16384;
/// NCCL's belief of LL between nodes, at most (src/graph/tuning.cc: 19 to 39 GB/s by processor and nodes).
constexpr double kNetworkLlBandwidth = 20e9;
/// NCCL's belief of a ring's own cost of a step when some steps cross the network (three times that with
/// Simple).
constexpr double kNetworkOverhead = 1e-6;

bool is_power_of_two(std::uint32_t n) {
    return std::has_single_bit(n);
}

struct Belief {
    double latency = 0, bandwidth = 0;
};

Belief ring_belief(const CollectiveConfig& c, CollectiveProtocol p, CollectiveKind kind, std::uint32_t ranks,
                   std::uint32_t nodes, double bandwidth) {
    const ProtocolConfig& protocol = c.protocols[static_cast<std::size_t>(p)];
    const bool all_reduce = kind == CollectiveKind::all_reduce;
    const bool shards = kind == CollectiveKind::all_gather || kind == CollectiveKind::reduce_scatter;
    const double steps = all_reduce ? 2.0 * (ranks - 1) : shards ? ranks - 1 : ranks;
    double bus = bandwidth;
    if (p == CollectiveProtocol::ll)
        bus = std::min(nodes > 1 ? kNetworkLlBandwidth : c.believed_ll_bandwidth, bandwidth * 0.5);
    if (p == CollectiveProtocol::ll128)
        bus = std::min(bandwidth * 0.92, c.channels * c.believed_ll128_channel);
    const double overhead = nodes > 1 ? kNetworkOverhead * (p == CollectiveProtocol::simple ? 3 : 1) : 0;
    const double inside = std::max(protocol.believed_ring_hop, overhead);
    const double network_steps = nodes == 1 ? 0 : all_reduce ? 2.0 * (nodes - 1) : nodes - 1;
    const double network_hop =
        ranks == nodes ? protocol.believed_network_tree_hop : protocol.believed_network_ring_hop;
    return {protocol.believed_base + (steps - network_steps) * inside + network_steps * network_hop,
            bus * ranks / steps};
}

Belief tree_belief(const CollectiveConfig& c, CollectiveProtocol p, std::uint32_t ranks, std::uint32_t nodes,
                   double bandwidth, std::uint64_t bytes) {
    const ProtocolConfig& protocol = c.protocols[static_cast<std::size_t>(p)];
    double bus = bandwidth * 0.92;
    if (p == CollectiveProtocol::ll)
        bus = std::min(bus / 3.8, nodes > 1 ? kNetworkLlBandwidth : c.believed_ll_bandwidth);
    if (p == CollectiveProtocol::ll128)
        bus = std::min(bus * (nodes == 1 ? 7.0 / 9 : 120.0 / 128), c.channels * c.believed_ll128_channel);
    bus *= 0.5;
    const int size = static_cast<int>(std::bit_width(bytes >> 6)) - 1;
    if (size >= 0 && size < 23)
        bus *= kTreeCorrection[static_cast<std::size_t>(p)][static_cast<std::size_t>(size)];
    const double depth = std::floor(std::log2(static_cast<double>(nodes)));
    return {
        protocol.believed_base + 2 * ((static_cast<double>(ranks) / nodes - 1) * protocol.believed_tree_hop +
                                      depth * protocol.believed_network_tree_hop),
        bus};
}

std::vector<CollectiveAlgorithm> algorithms_of(CollectiveKind kind, CollectiveChoice choice) {
    using A = CollectiveAlgorithm;
    if (kind == CollectiveKind::all_to_all || kind == CollectiveKind::send_receive) return {A::direct};
    const bool nccl = choice == CollectiveChoice::nccl;
    if (kind == CollectiveKind::all_reduce)
        return nccl ? std::vector<A>{A::ring, A::double_tree, A::in_switch}
                    : std::vector<A>{A::torus,       A::hierarchical, A::halving_doubling,
                                     A::double_tree, A::in_switch,    A::ring};
    if (kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce)
        return nccl ? std::vector<A>{A::ring} : std::vector<A>{A::tree, A::ring};
    return nccl ? std::vector<A>{A::ring} : std::vector<A>{A::halving_doubling, A::in_switch, A::ring};
}

}  // namespace

RankLayout layout_of(const std::vector<std::uint32_t>& ranks, const Topology& topology) {
    RankLayout layout;
    layout.ranks = ranks;
    std::map<std::uint32_t, std::size_t> places;
    for (std::uint32_t r = 0; r < ranks.size(); ++r) {
        const auto [place, fresh] = places.insert({topology.node_of(ranks[r]), layout.nodes.size()});
        if (fresh) layout.nodes.emplace_back();
        layout.nodes[place->second].push_back(r);
    }
    for (const auto& node : layout.nodes)
        layout.even = layout.even && node.size() == layout.nodes.front().size();
    return layout;
}

std::uint32_t element_bytes(const std::string& type) {
    if (type == "f32" || type == "i32") return 4;
    if (type == "f16" || type == "bf16") return 2;
    if (type == "i8") return 1;
    throw Error("`" + type + "` is not a type of elements", {"--type", 0, ""}, "known: f32, f16, bf16, i8");
}

std::string obstacle(CollectiveAlgorithm algorithm, const CollectiveRequest& request,
                     const RankLayout& layout, const Topology& topology) {
    using A = CollectiveAlgorithm;
    using K = CollectiveKind;
    const K kind = request.kind;
    const bool direct = kind == K::all_to_all || kind == K::send_receive;
    const bool rooted = kind == K::broadcast || kind == K::reduce;
    switch (algorithm) {
        case A::automatic:
            return "";
        case A::direct:
            return direct ? "" : "direct is for all-to-all and send-receive";
        case A::ring:
            return direct ? "there is no ring for it; use direct" : "";
        case A::tree:
        case A::double_tree:
            if (kind != K::all_reduce && !(rooted && algorithm == A::tree))
                return "trees are for all-reduce, broadcast and reduce";
            return "";
        case A::halving_doubling:
            if (direct || rooted) return "halving-doubling is for all-reduce, all-gather and reduce-scatter";
            return is_power_of_two(layout.count()) ? "" : "halving-doubling needs a power of two of ranks";
        case A::in_switch:
            if (direct || rooted)
                return "in-switch reduction is for all-reduce, all-gather and reduce-scatter";
            if (!topology.config().switch_reduction)
                return "the cluster's switch does not add (inside.reduction)";
            if (layout.nodes.size() > 1) return "the switch of a node reaches no other node";
            if (request.type == "i8" && kind != K::all_gather) return "the switch adds no i8";
            return "";
        case A::hierarchical:
            if (kind != K::all_reduce) return "hierarchical is for all-reduce";
            if (layout.nodes.size() < 2 || layout.nodes.front().size() < 2)
                return "hierarchical needs several nodes of several ranks";
            return layout.even ? "" : "hierarchical needs as many ranks in every node";
        case A::torus:
            if (kind != K::all_reduce) return "torus is for all-reduce";
            if (topology.config().fabric != Fabric::torus) return "the cluster is not a torus";
            return layout.count() == topology.device_count() ? "" : "torus needs all devices";
    }
    return "";
}

std::uint32_t channels_of(const CollectiveConfig& config, CollectiveAlgorithm algorithm,
                          CollectiveProtocol protocol, std::uint64_t bytes, std::uint32_t ranks) {
    if (algorithm == CollectiveAlgorithm::in_switch) return config.channels;
    const bool direct = algorithm == CollectiveAlgorithm::direct;
    // NCCL's threshold of LL counts bytes of a rank.
    const std::uint64_t each = config.protocols[static_cast<std::size_t>(protocol)].channel_bytes *
                               (protocol == CollectiveProtocol::ll && !direct ? ranks : 1);
    const std::uint64_t most = direct ? std::max(1u, config.direct_channels / ranks) : config.channels;
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes / each, 1, most));
}

double believed_seconds(const Cluster& cluster, const CollectiveRequest& request, const RankLayout& layout,
                        CollectiveAlgorithm algorithm, CollectiveProtocol protocol) {
    const CollectiveConfig& c = cluster.collective;
    const auto nodes = static_cast<std::uint32_t>(layout.nodes.size());
    const auto bytes = static_cast<double>(request.bytes);
    const double network = cluster.network.nics * cluster.network.nic_bandwidth;
    const double bandwidth = nodes > 1 ? std::min(c.believed_bandwidth, network) : c.believed_bandwidth;
    Belief belief;
    if (algorithm == CollectiveAlgorithm::ring) {
        belief = ring_belief(c, protocol, request.kind, layout.count(), nodes, bandwidth);
        // "Plateau effect of ring" (src/graph/tuning.cc).
        if (protocol == CollectiveProtocol::simple && nodes > 1 &&
            request.kind == CollectiveKind::all_reduce && bytes / (c.channels * layout.count()) >= 64)
            belief.latency *= 1.4;
    } else if (algorithm == CollectiveAlgorithm::double_tree) {
        belief = tree_belief(c, protocol, layout.count(), nodes, bandwidth, request.bytes);
    } else if (algorithm == CollectiveAlgorithm::in_switch) {
        // Used when all devices of a node take part, as recorded.
        const bool whole = layout.count() == cluster.devices_per_node;
        if (protocol != CollectiveProtocol::simple || !whole || request.kind != CollectiveKind::all_reduce)
            return kNever;
        belief = {c.believed_switch_hop,
                  bandwidth * 0.85 * 2 * layout.count() / (2.0 * (layout.count() - 1))};
    } else {
        return kNever;
    }
    return belief.latency + bytes / belief.bandwidth;
}

std::vector<CollectivePlan> plans_of(const Cluster& cluster, const CollectiveRequest& request,
                                     const RankLayout& layout, const Topology& topology) {
    using P = CollectiveProtocol;
    const CollectiveConfig& c = cluster.collective;
    const bool nccl = c.choice == CollectiveChoice::nccl;
    std::vector<CollectiveAlgorithm> algorithms{request.algorithm};
    if (request.algorithm == CollectiveAlgorithm::automatic)
        algorithms = algorithms_of(request.kind, c.choice);
    std::vector<CollectivePlan> plans;
    for (const CollectiveAlgorithm algorithm : algorithms) {
        if (!obstacle(algorithm, request, layout, topology).empty()) continue;
        std::vector<P> protocols{request.protocol};
        const bool direct = algorithm == CollectiveAlgorithm::direct;
        const std::uint64_t peer_bytes =
            request.kind == CollectiveKind::all_to_all ? request.bytes / layout.count() : request.bytes;
        if (request.protocol == P::automatic) {
            if (direct)
                protocols = {nccl && peer_bytes <= kDirectLlBytes ? P::ll : P::simple};
            else if (nccl && algorithm != CollectiveAlgorithm::in_switch)
                protocols = {P::ll, P::ll128, P::simple};
            else
                protocols = {P::simple};
        }
        for (const P p : protocols)
            plans.push_back(
                {algorithm, p,
                 channels_of(c, algorithm, p, direct ? peer_bytes : request.bytes, layout.count())});
    }
    if (plans.empty())
        throw Error(std::string(name_of(request.kind)) + ": " +
                        obstacle(request.algorithm, request, layout, topology),
                    {"--algorithm", 0, ""}, "leave it out, or name another");
    if (!nccl || plans.size() == 1) return plans;
    // With one algorithm forced NCCL still chooses the protocol; what it has no belief about is sent with
    // Simple.
    const auto cost = [&](const CollectivePlan& plan) {
        const double seconds = believed_seconds(cluster, request, layout, plan.algorithm, plan.protocol);
        return std::isinf(seconds) && plan.protocol == P::simple ? 1e6 : seconds;
    };
    return {*std::min_element(
        plans.begin(), plans.end(),
        [&](const CollectivePlan& a, const CollectivePlan& b) { return cost(a) < cost(b); })};
}

}  // namespace heddle::sim
