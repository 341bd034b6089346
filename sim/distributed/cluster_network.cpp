#include "sim/distributed/cluster_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>

#include "isa/common/error.h"
#include "models/network/schedule_run.h"
#include "sim/collective/collective.h"
#include "sim/collective/schedule_builder.h"

namespace heddle::sim {
namespace {

using namespace models::network;
using Together = std::shared_ptr<const std::vector<DeviceList>>;

/// Ranks of a group up to which all of its routes tell its shape; of larger ones those to powers of two
/// ahead.
constexpr std::size_t kAllPairs = 16;
/// Gradients and activations; the number of bytes is given, the type decides what the switch may add.
constexpr const char* kType = "bf16";

CollectiveKind kind_of(Exchange kind) {
    switch (kind) {
        case Exchange::all_reduce:
            return CollectiveKind::all_reduce;
        case Exchange::all_gather:
            return CollectiveKind::all_gather;
        case Exchange::reduce_scatter:
            return CollectiveKind::reduce_scatter;
        case Exchange::all_to_all:
            return CollectiveKind::all_to_all;
        case Exchange::broadcast:
            return CollectiveKind::broadcast;
        case Exchange::shift:
        case Exchange::send:
        case Exchange::push:
            break;
    }
    return CollectiveKind::send_receive;
}

/// SplitMix64, one value after the other.
class Hash {
  public:
    void add(std::uint64_t value) {
        state_ += value + 0x9e3779b97f4a7c15ull;
        state_ = (state_ ^ state_ >> 30) * 0xbf58476d1ce4e5b9ull;
        state_ = (state_ ^ state_ >> 27) * 0x94d049bb133111ebull;
        state_ ^= state_ >> 31;
    }
    std::uint64_t value() const { return state_ == 0 ? 1 : state_; }

  private:
    std::uint64_t state_ = 0;
};

}  // namespace

struct ClusterNetwork::State {
    State(const Cluster& given, bool keep_answers)
        : cluster(given),
          keep(keep_answers),
          topology(given.network, given.nodes, given.devices_per_node, given.servers),
          timer(given) {}

    /// Loads of all groups that act together: those of the last such set are kept.
    const LinkLoads& loads_of(const Together& together) {
        if (counted != together) {
            counted = together;
            loads.clear();
            for (const DeviceList& group : *together) add_ring_loads(topology, group, loads);
        }
        return loads;
    }
    std::shared_ptr<const LinkLoads> parts_for(const DeviceGroup& group) {
        if (!group.together || group.together->size() < 2) return nullptr;
        LinkLoads own;
        add_ring_loads(topology, group.devices, own);
        return std::make_shared<const LinkLoads>(parts_of_links(own, loads_of(group.together)));
    }
    void add_route(Hash& hash, std::uint32_t from, std::uint32_t to, const LinkLoads* parts) const {
        const Route route = topology.route(from, to);
        hash.add(route.links.size());
        for (const LinkId link : route.links) {
            hash.add(static_cast<std::uint64_t>(topology.links()[link].kind));
            if (parts == nullptr) continue;
            const auto part = parts->find(link);
            hash.add(part == parts->end() ? 0 : static_cast<std::uint64_t>(std::llround(1e9 * part->second)));
        }
    }
    void add_torus_place(Hash& hash, std::uint32_t device, std::uint32_t first) const {
        const NetworkConfig& c = cluster.network;
        std::uint32_t a = device, b = first;
        for (const std::uint32_t size : {c.torus_x, c.torus_y, c.torus_z}) {
            hash.add(c.torus_wrap ? (a % size + size - b % size) % size : a % size);
            hash.add(b % size % 2);  // half-way round, odd places go one way and even ones the other
            a /= size;
            b /= size;
        }
    }
    double shift_seconds(double bytes, const DeviceGroup& group);
    double push_seconds(double bytes, const DeviceGroup& group) const;
    double one_way(std::uint64_t bytes, const std::vector<std::uint32_t>& endpoints, std::uint32_t devices,
                   bool to_servers) const;

    Cluster cluster;
    bool keep;
    Topology topology;
    CollectiveTimer timer;
    Together counted;
    LinkLoads loads;
    std::map<std::tuple<Exchange, double, std::uint64_t>, double> answers;
};

/// From every device to every server, or back, all at once; `endpoints`: devices, then servers.
double ClusterNetwork::State::one_way(std::uint64_t bytes, const std::vector<std::uint32_t>& endpoints,
                                      std::uint32_t devices, bool to_servers) const {
    LanePlan lane;
    lane.protocol = CollectiveProtocol::simple;
    lane.width = std::max(1u, cluster.collective.channels);
    ScheduleBuilder builder(cluster.collective, lane, topology, endpoints);
    const std::uint64_t chunk =
        std::max<std::uint64_t>(1, cluster.collective.protocols[2].chunk) * lane.width;
    const auto count = static_cast<std::uint32_t>(endpoints.size());
    for (std::uint32_t server = devices; server < count; ++server) {
        for (std::uint32_t device = 0; device < devices; ++device) {
            const std::uint32_t a = builder.worker(device, server, 0), b = builder.worker(server, device, 0);
            const std::uint32_t from = to_servers ? a : b, to = to_servers ? b : a;
            for (std::uint64_t done = 0; done < bytes; done += chunk) {
                Operation give, take;
                give.bytes = take.bytes = std::min(chunk, bytes - done);
                give.own = true;
                give.send[0] = take.receive[0] = builder.connect(from, to);
                take.store = true;
                builder.add(from, give);
                builder.add(to, take);
            }
        }
    }
    const Schedule schedule = builder.take();
    return run_flows(schedule, topology.links()).seconds;
}

double ClusterNetwork::State::push_seconds(double bytes, const DeviceGroup& group) const {
    if (cluster.servers == 0)
        throw Error(cluster.name + " has no parameter servers", {"servers", 0, ""},
                    "add --servers, or choose a cluster with some: parameter-server-rack");
    std::vector<std::uint32_t> endpoints;
    if (group.together) {
        for (const DeviceList& list : *group.together)
            endpoints.insert(endpoints.end(), list.begin(), list.end());
    } else {
        endpoints = group.devices;
    }
    const auto devices = static_cast<std::uint32_t>(endpoints.size());
    for (std::uint32_t s = 0; s < cluster.servers; ++s) endpoints.push_back(cluster.device_count() + s);
    const auto each = static_cast<std::uint64_t>(std::ceil(bytes / cluster.servers));
    return 2 * cluster.collective.launch + one_way(each, endpoints, devices, true) +
           one_way(each, endpoints, devices, false);
}

/// The slowest message of a ring in which each device sends to the next. A link has its part for every
/// message that takes it, of this ring and of those beside it.
double ClusterNetwork::State::shift_seconds(double bytes, const DeviceGroup& group) {
    LinkLoads own;
    if (!group.together) add_ring_loads(topology, group.devices, own);
    const LinkLoads& all = group.together ? loads_of(group.together) : own;
    const auto parts = std::make_shared<LinkLoads>();
    for (const auto& [link, load] : all) (*parts)[link] = 1 / std::max(1.0, load);
    double slowest = 0;
    for (std::size_t i = 0; i < group.devices.size(); ++i) {
        CollectiveRequest request;
        request.kind = CollectiveKind::send_receive;
        request.bytes = static_cast<std::uint64_t>(std::ceil(bytes));
        request.type = kType;
        request.ranks = {group.devices[i], group.devices[(i + 1) % group.devices.size()]};
        request.link_parts = parts;
        slowest = std::max(slowest, timer.time(request).seconds);
    }
    return slowest;
}

ClusterNetwork::ClusterNetwork(const Cluster& cluster, bool keep)
    : state_(std::make_unique<State>(cluster, keep)) {}
ClusterNetwork::~ClusterNetwork() = default;

std::uint32_t ClusterNetwork::place_of(std::uint32_t device) const {
    const NetworkConfig& c = state_->cluster.network;
    const bool tree = c.between == Between::fat_tree && c.routing == Routing::adaptive;
    if (c.fabric == Fabric::torus || !tree || c.core_oversubscription > 1) return 0;
    const std::uint32_t node = state_->topology.node_of(device);
    return c.oversubscription > 1 ? node / c.leaf_nodes : node;
}

std::uint64_t ClusterNetwork::shape_of(const DeviceGroup& group) const {
    const std::vector<std::uint32_t>& ranks = group.devices;
    const std::size_t n = ranks.size();
    const std::shared_ptr<const LinkLoads> parts = state_->parts_for(group);
    Hash hash;
    hash.add(n);
    std::map<std::uint32_t, std::uint64_t> nodes;
    for (const std::uint32_t rank : ranks) {
        hash.add(nodes.try_emplace(state_->topology.node_of(rank), nodes.size()).first->second);
        if (state_->cluster.network.fabric == Fabric::torus)
            state_->add_torus_place(hash, rank, ranks.front());
    }
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t ahead = 1; ahead < n; ahead = n <= kAllPairs ? ahead + 1 : 2 * ahead)
            state_->add_route(hash, ranks[i], ranks[(i + ahead) % n], parts.get());
    }
    return hash.value();
}

double ClusterNetwork::seconds(Exchange kind, double bytes, const DeviceGroup& group) const {
    if (bytes <= 0 || (group.devices.size() < 2 && kind != Exchange::push)) return 0;
    const std::uint64_t shape = group.shape != 0 ? group.shape : shape_of(group);
    if (state_->keep) {
        const auto found = state_->answers.find({kind, bytes, shape});
        if (found != state_->answers.end()) return found->second;
    }
    double seconds = 0;
    if (kind == Exchange::push) {
        seconds = state_->push_seconds(bytes, group);
    } else if (kind == Exchange::shift) {
        seconds = state_->shift_seconds(bytes, group);
    } else {
        CollectiveRequest request;
        request.kind = kind_of(kind);
        request.bytes = static_cast<std::uint64_t>(std::ceil(bytes));
        request.type = kType;
        request.ranks = group.devices;
        request.link_parts = state_->parts_for(group);
        // Answers are kept here, by shape.
        if (!request.link_parts) request.link_parts = std::make_shared<const LinkLoads>();
        seconds = state_->timer.time(request).seconds;
    }
    if (state_->keep) state_->answers[{kind, bytes, shape}] = seconds;
    return seconds;
}

}  // namespace heddle::sim
