#include "sim/collective/evaluate.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "sim/collective/algorithms.h"
#include "sim/collective/link_parts.h"

namespace heddle::sim {
namespace {

using namespace models::network;

/// Lanes of a plan. `apart`: every channel by itself.
LanePlan lanes_of(const Cluster& cluster, const CollectiveRequest& request, const RankLayout& layout,
                  const CollectivePlan& plan, bool apart) {
    const ProtocolConfig& protocol = cluster.collective.protocols[static_cast<std::size_t>(plan.protocol)];
    LanePlan lanes;
    lanes.protocol = plan.protocol;
    lanes.element = element_bytes(request.type);
    // Channels of a node are alike; those that leave it go by different cards.
    // Rings of a hierarchy go by their own devices' cards, whatever the channel.
    const bool turned = layout.nodes.size() > 1 && plan.algorithm != CollectiveAlgorithm::hierarchical;
    const std::uint32_t ways = turned ? std::min(cluster.network.nics, plan.channels) : 1;
    lanes.lanes = apart ? plan.channels : ways;
    lanes.width = apart ? 1 : std::max(1u, plan.channels / ways);
    lanes.chunk = std::max<std::uint64_t>(1, protocol.chunk / lanes.element);
    return lanes;
}

/// NCCL makes the chunks of trees smaller, so that deep trees are full sooner (src/enqueue.cc).
void shrink_chunks(LanePlan& lanes, std::uint64_t elements, std::size_t depth) {
    constexpr std::uint64_t kLeast = 32768;
    const std::uint64_t channel_bytes = elements * lanes.element / (lanes.lanes * lanes.width);
    while (lanes.chunk * lanes.element > kLeast && channel_bytes / (lanes.chunk * lanes.element) < 4 * depth)
        lanes.chunk /= 2;
}

/// Ranks node by node; lane l begins in every node at the device beside card l.
std::vector<std::uint32_t> ring_order(const Cluster& cluster, const RankLayout& layout, std::uint32_t lane) {
    std::vector<std::uint32_t> order;
    for (const std::vector<std::uint32_t>& node : layout.nodes) {
        const std::size_t shift =
            layout.nodes.size() > 1 ? lane % cluster.network.nics * node.size() / cluster.network.nics : 0;
        for (std::size_t i = 0; i < node.size(); ++i) order.push_back(node[(i + shift) % node.size()]);
    }
    return order;
}

std::vector<std::vector<std::uint32_t>> tree_nodes(const Cluster& cluster, const RankLayout& layout,
                                                   std::uint32_t lane) {
    std::vector<std::vector<std::uint32_t>> nodes = layout.nodes;
    if (nodes.size() < 2) return nodes;
    for (std::vector<std::uint32_t>& node : nodes)
        std::rotate(node.begin(),
                    node.begin() + static_cast<std::ptrdiff_t>(lane % cluster.network.nics * node.size() /
                                                               cluster.network.nics),
                    node.end());
    return nodes;
}

using Rings = std::vector<std::vector<std::uint32_t>>;

/// Rings inside nodes, then rings of the same place in every node.
std::vector<Rings> hierarchy(const RankLayout& layout) {
    Rings across(layout.nodes.front().size());
    for (const std::vector<std::uint32_t>& node : layout.nodes)
        for (std::size_t i = 0; i < node.size(); ++i) across[i].push_back(node[i]);
    return {layout.nodes, across};
}

/// Rings along x, y and z, in `direction`.
std::vector<Rings> torus_rings(const NetworkConfig& c, const RankLayout& layout, bool backwards) {
    const std::array<std::uint32_t, 3> size{c.torus_x, c.torus_y, c.torus_z};
    const std::array<std::uint32_t, 3> stride{1, size[0], size[0] * size[1]};
    std::vector<std::uint32_t> rank_at(layout.count());
    for (std::uint32_t r = 0; r < layout.count(); ++r) rank_at[layout.ranks[r]] = r;
    std::vector<Rings> dimensions;
    for (std::size_t d = 0; d < 3; ++d) {
        if (size[d] < 2) continue;
        Rings rings;
        for (std::uint32_t first = 0; first < layout.count(); ++first) {
            if (first / stride[d] % size[d] != 0) continue;
            std::vector<std::uint32_t> ring;
            for (std::uint32_t i = 0; i < size[d]; ++i) ring.push_back(rank_at[first + i * stride[d]]);
            if (backwards) std::reverse(ring.begin(), ring.end());
            rings.push_back(std::move(ring));
        }
        dimensions.push_back(std::move(rings));
    }
    return dimensions;
}

class Maker {
  public:
    Maker(const Cluster& cluster, const Topology& topology, const CollectiveRequest& request,
          const RankLayout& layout, const CollectivePlan& plan, bool apart, std::uint32_t turns)
        : cluster_(cluster),
          request_(request),
          layout_(layout),
          plan_(plan),
          lanes_(shrunk(apart)),
          apart_(apart),
          turns_(turns),
          builder_(cluster.collective, lanes_, topology, layout.ranks) {}

    Schedule make(std::uint32_t first_lane, std::uint32_t end_lane) {
        if (plan_.algorithm == CollectiveAlgorithm::in_switch) {
            const NetworkConfig& n = cluster_.network;
            builder_.schedule().wire =
                std::min(1.0, n.switch_reduction_bandwidth / (n.device_bandwidth * n.device_efficiency));
        }
        if (plan_.algorithm == CollectiveAlgorithm::direct)
            builder_.schedule().wire *= cluster_.collective.direct_efficiency;
        // Exchanges write to the peer's vector, not to a buffer.
        if (plan_.algorithm == CollectiveAlgorithm::halving_doubling) builder_.schedule().slots = 1u << 30;
        for (std::uint32_t lane = first_lane; lane < end_lane; ++lane) add_lane(lane);
        return builder_.take();
    }
    const LanePlan& lanes() const { return lanes_; }

  private:
    std::uint64_t elements() const { return divide_up(request_.bytes, lanes_.element); }
    bool shards() const {
        return request_.kind == CollectiveKind::all_gather ||
               request_.kind == CollectiveKind::reduce_scatter || request_.kind == CollectiveKind::all_to_all;
    }

    LanePlan shrunk(bool apart) {
        lanes_ = lanes_of(cluster_, request_, layout_, plan_, apart);
        using A = CollectiveAlgorithm;
        const bool rooted =
            request_.kind == CollectiveKind::broadcast || request_.kind == CollectiveKind::reduce;
        if (plan_.algorithm == A::tree || plan_.algorithm == A::double_tree || rooted) {
            std::size_t depth = layout_.nodes.front().size();
            for (std::size_t n = layout_.nodes.size(); n > 1; n = (n + 1) / 2) ++depth;
            if (rooted && plan_.algorithm == A::ring) depth = layout_.count();
            shrink_chunks(lanes_, elements(), depth);
        }
        if (plan_.algorithm == A::in_switch) shrink_chunks(lanes_, elements() / layout_.count(), 2);
        return lanes_;
    }

    Span span_of(std::uint32_t lane, std::uint64_t extent) const {
        const std::uint64_t channels = std::uint64_t{lanes_.lanes} * lanes_.width;
        const std::uint64_t each = divide_up(extent, channels);
        if (!apart_) return {0, each};  // widths stand for the rest
        const std::uint64_t begin = std::min(extent, lane * each);
        return {begin, std::min(each, extent - begin)};
    }

    void add_lane(std::uint32_t lane) {
        using A = CollectiveAlgorithm;
        const std::uint64_t shard = shards() ? divide_up(elements(), layout_.count()) : 0;
        const Span span = span_of(lane, shard > 0 ? shard : elements());
        switch (plan_.algorithm) {
            case A::ring:
                add_ring_lane(lane, span, shard);
                break;
            case A::tree:
                add_tree(builder_, tree_nodes(cluster_, layout_, lane), request_.kind, false, lane, span);
                break;
            case A::double_tree:
                add_tree(builder_, tree_nodes(cluster_, layout_, lane), request_.kind, false, lane,
                         {span.offset, span.count - span.count / 2});
                add_tree(builder_, tree_nodes(cluster_, layout_, lane), request_.kind, true, lane,
                         {span.offset + span.count - span.count / 2, span.count / 2});
                break;
            case A::halving_doubling:
                add_halving_doubling(builder_, request_.kind, lane, span, shard);
                break;
            case A::in_switch:
                add_in_switch(builder_, request_.kind, switch_rate(), lane, span, shard);
                break;
            case A::direct:
                add_direct(builder_, request_.kind == CollectiveKind::all_to_all, lane, span, shard);
                break;
            case A::hierarchical: {
                // Portions of at least 512 KiB in every step, as each costs all latencies again.
                const std::uint64_t step_bytes = request_.bytes / layout_.count();
                const std::uint64_t portions = std::clamp<std::uint64_t>(step_bytes / (512 << 10), 1, 8);
                const std::uint64_t portion = std::max<std::uint64_t>(1, divide_up(span.count, portions));
                add_dimensions(builder_, hierarchy(layout_), lane, span, 0, portion);
                break;
            }
            case A::torus:
                add_torus_lane(lane, span);
                break;
            case A::automatic:
                break;
        }
    }

    double switch_rate() const {
        return cluster_.collective.protocols[static_cast<std::size_t>(plan_.protocol)].reduce_rate *
               lanes_.width * 2;
    }

    void add_ring_lane(std::uint32_t lane, Span span, std::uint64_t shard) {
        std::vector<std::uint32_t> order = ring_order(cluster_, layout_, lane);
        if (request_.kind == CollectiveKind::broadcast || request_.kind == CollectiveKind::reduce) {
            // The root leads.
            std::rotate(order.begin(), std::find(order.begin(), order.end(), 0u), order.end());
            add_chain(builder_, order, request_.kind == CollectiveKind::reduce, lane, span);
            return;
        }
        Ring ring(std::move(order));
        const std::uint32_t period = apart_ ? 0 : period_of(request_, layout_, plan_);
        if (period > 0) ring.period = period;
        if (period > 0 && turns_ > 0) ring.turns = std::min(turns_, ring.size());
        const RingPart part = request_.kind == CollectiveKind::all_reduce   ? RingPart::all_reduce
                              : request_.kind == CollectiveKind::all_gather ? RingPart::all_gather
                                                                            : RingPart::reduce_scatter;
        add_ring(builder_, ring, part, 0, lane, span, shard, false);
    }

    // Every dimension comes first in one part of the vector, forwards and backwards: all links are busy all
    // the time.
    void add_torus_lane(std::uint32_t lane, Span span) {
        std::vector<std::vector<Rings>> parts;
        for (const bool backwards : {false, true}) {
            std::vector<Rings> dimensions = torus_rings(cluster_.network, layout_, backwards);
            for (std::size_t d = 0; d < dimensions.size(); ++d) {
                parts.push_back(dimensions);
                std::rotate(dimensions.begin(), dimensions.begin() + 1, dimensions.end());
            }
        }
        const std::uint64_t each = divide_up(span.count, parts.size());
        constexpr std::uint32_t kRoles = 8;  // more than the phases of a part
        for (std::uint32_t p = 0; p < parts.size(); ++p) {
            const std::uint64_t begin = std::min(span.count, p * each),
                                count = std::min(each, span.count - begin);
            if (count == 0) continue;
            const std::uint64_t portion =
                std::max<std::uint64_t>(divide_up(count, 4), std::min(count, lanes_.chunk));
            add_dimensions(builder_, parts[p], lane, {span.offset + begin, count}, p * kRoles, portion);
        }
    }

    const Cluster& cluster_;
    const CollectiveRequest& request_;
    const RankLayout& layout_;
    const CollectivePlan& plan_;
    LanePlan lanes_;
    bool apart_;
    std::uint32_t turns_;
    ScheduleBuilder builder_;
};

bool on_crossbar(LinkKind kind) {
    return kind == LinkKind::device_out || kind == LinkKind::device_in;
}

/// Lanes of several nodes differ by a turn of the devices in a node only: one of them is simulated, and what
/// all of them share inside the nodes has its part of the bandwidth.
bool lanes_alike(const Cluster& cluster, const RankLayout& layout, const CollectivePlan& plan,
                 const LanePlan& lanes) {
    using A = CollectiveAlgorithm;
    const bool turned =
        plan.algorithm == A::ring || plan.algorithm == A::tree || plan.algorithm == A::double_tree;
    return turned && lanes.lanes > 1 && layout.even && lanes.lanes == cluster.network.nics &&
           layout.nodes.front().size() == cluster.devices_per_node &&
           cluster.devices_per_node == cluster.network.nics && cluster.network.fabric == Fabric::crossbar;
}

/// How much of a link is left to this group when others do the same beside it.
LinkLoads parts_beside(const Topology& topology, const CollectiveRequest& request) {
    LinkLoads own;
    add_ring_loads(topology, request.ranks, own);
    LinkLoads all = own;
    for (const std::vector<std::uint32_t>& group : request.beside) add_ring_loads(topology, group, all);
    return parts_of_links(own, all);
}

}  // namespace

std::uint32_t period_of(const CollectiveRequest& request, const RankLayout& layout,
                        const CollectivePlan& plan) {
    if (!request.fold || plan.algorithm != CollectiveAlgorithm::ring) return 0;
    if (layout.nodes.size() < 3 || !layout.even) return 0;
    return static_cast<std::uint32_t>(layout.nodes.front().size());
}

FoldedSchedule schedule_of(const Cluster& cluster, const Topology& topology, const CollectiveRequest& request,
                           const RankLayout& layout, const CollectivePlan& plan, std::uint32_t turns) {
    Maker maker(cluster, topology, request, layout, plan, !request.fold, turns);
    const bool one_lane = request.fold && lanes_alike(cluster, layout, plan, maker.lanes());
    FoldedSchedule folded;
    folded.schedule = maker.make(0, one_lane ? 1 : maker.lanes().lanes);
    LinkLoads beside;
    if (!request.beside.empty()) beside = parts_beside(topology, request);
    const LinkLoads& parts = request.link_parts ? *request.link_parts : beside;
    std::unordered_map<LinkId, LinkId> numbers;
    for (Connection& connection : folded.schedule.connections) {
        for (LinkId& link : connection.links) {
            const auto [place, fresh] = numbers.insert({link, static_cast<LinkId>(folded.links.size())});
            if (fresh) {
                folded.links.push_back(topology.links()[link]);
                folded.originals.push_back(link);
                Link& copy = folded.links.back();
                if (one_lane && on_crossbar(copy.kind)) copy.bandwidth /= maker.lanes().lanes;
                const auto part = parts.find(link);
                if (part != parts.end()) copy.bandwidth *= part->second;
            }
            link = place->second;
        }
    }
    return folded;
}

Schedule full_schedule(const Cluster& cluster, const Topology& topology, const CollectiveRequest& request,
                       const RankLayout& layout, const CollectivePlan& plan) {
    Maker maker(cluster, topology, request, layout, plan, true, 0);
    return maker.make(0, maker.lanes().lanes);
}

}  // namespace heddle::sim
