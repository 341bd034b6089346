#include "sim/collective/collective.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "isa/common/error.h"
#include "models/network/chunk_network.h"
#include "models/network/schedule_run.h"
#include "sim/collective/evaluate.h"

namespace heddle::sim {
namespace {

using namespace models::network;

/// Each is a module of SystemC.
constexpr std::size_t kMostPorts = 20000;

constexpr std::array kKinds{"all-reduce", "all-gather", "reduce-scatter", "broadcast",
                            "reduce",     "all-to-all", "send-receive"};
constexpr std::array kAlgorithms{"automatic", "ring",         "tree",   "double-tree", "halving-doubling",
                                 "in-switch", "hierarchical", "direct", "torus"};

template <std::size_t N>
std::size_t find_name(const std::array<const char*, N>& names, const std::string& name, const char* what) {
    std::vector<std::string> words(names.begin(), names.end());
    for (std::size_t i = 0; i < N; ++i)
        if (name == names[i]) return i;
    const std::string near = nearest_word(name, words.data(), words.size());
    std::string known;
    for (const std::string& word : words) known += (known.empty() ? "" : ", ") + word;
    throw Error("`" + name + "` is no " + what, {},
                near.empty() ? "known: " + known : "did you mean `" + near + "`?");
}

void check_ranks(const std::vector<std::uint32_t>& ranks, const Topology& topology) {
    std::set<std::uint32_t> seen;
    for (const std::uint32_t rank : ranks) {
        if (rank >= topology.endpoint_count())
            throw Error("there is no device " + std::to_string(rank), {"--ranks", 0, ""},
                        "the cluster has " + std::to_string(topology.endpoint_count()) + "; set `nodes`");
        if (!seen.insert(rank).second)
            throw Error("device " + std::to_string(rank) + " is named twice", {"--ranks", 0, ""});
    }
}

/// Of the bytes, what nccl-tests counts as having passed a link (its PERFORMANCE page).
double bus_factor(CollectiveKind kind, double n) {
    switch (kind) {
        case CollectiveKind::all_reduce:
            return 2 * (n - 1) / n;
        case CollectiveKind::all_gather:
        case CollectiveKind::reduce_scatter:
        case CollectiveKind::all_to_all:
            return (n - 1) / n;
        default:
            return 1;
    }
}

std::vector<LinkUse> link_uses(const FoldedSchedule& folded, const RunOutcome& outcome,
                               const Topology& topology) {
    std::map<LinkKind, LinkUse> busiest;
    for (std::size_t i = 0; i < folded.links.size(); ++i) {
        const double busy =
            outcome.seconds > 0 ? outcome.carried[i] / folded.links[i].bandwidth / outcome.seconds : 0;
        LinkUse& use = busiest[folded.links[i].kind];
        if (!use.name.empty() && busy <= use.busy) continue;
        // A folded link stands for a part of the bandwidth, and carries that part of the bytes.
        const double whole = topology.links()[folded.originals[i]].bandwidth / folded.links[i].bandwidth;
        use = {topology.name_of(folded.originals[i]),
               static_cast<std::uint64_t>(outcome.carried[i] * whole * folded.schedule.wire), busy};
    }
    std::vector<LinkUse> uses;
    uses.reserve(busiest.size());
    for (const auto& [kind, use] : busiest) uses.push_back(use);
    std::stable_sort(uses.begin(), uses.end(),
                     [](const LinkUse& a, const LinkUse& b) { return a.busy > b.busy; });
    return uses;
}

/// Seconds besides the schedule.
double fixed_seconds(const CollectiveConfig& c, const CollectivePlan& plan) {
    const ProtocolConfig& protocol = c.protocols[static_cast<std::size_t>(plan.protocol)];
    if (plan.algorithm == CollectiveAlgorithm::in_switch) return c.launch + c.switch_start;
    return c.launch +
           (plan.algorithm == CollectiveAlgorithm::direct ? protocol.direct_start : protocol.start);
}

/// The first nodes of a request.
CollectiveRequest part_of(const CollectiveRequest& request, const RankLayout& layout, std::size_t nodes) {
    CollectiveRequest part = request;
    part.ranks.clear();
    for (std::size_t n = 0; n < nodes; ++n)
        for (const std::uint32_t rank : layout.nodes[n]) part.ranks.push_back(layout.ranks[rank]);
    return part;
}

}  // namespace

struct CollectiveTimer::State {
    explicit State(Cluster given)
        : cluster(std::move(given)),
          topology(cluster.network, cluster.nodes, cluster.devices_per_node, cluster.servers) {}

    CollectiveResult run(const CollectiveRequest& request);
    CollectiveResult run_many(const CollectiveRequest& request, const RankLayout& layout,
                              const CollectivePlan& plan);
    CollectiveResult run(const CollectiveRequest& request, const RankLayout& layout,
                         const CollectivePlan& plan);
    RunOutcome simulate(const FoldedSchedule& folded, NetworkModel model);

    Cluster cluster;
    Topology topology;
    std::unique_ptr<ChunkNetwork> chunks;  // made when first needed: one in a process
    std::map<std::tuple<CollectiveKind, std::uint64_t, std::string, std::vector<std::uint32_t>,
                        std::vector<std::vector<std::uint32_t>>, CollectiveAlgorithm, CollectiveProtocol,
                        NetworkModel, bool>,
             CollectiveResult>
        answers;
};

RunOutcome CollectiveTimer::State::simulate(const FoldedSchedule& folded, NetworkModel model) {
    if (model == NetworkModel::flows) return run_flows(folded.schedule, folded.links);
    if (topology.links().size() > kMostPorts)
        throw Error("the cluster has " + std::to_string(topology.links().size()) +
                        " links, too many for --network chunks",
                    {}, "take flows, or fewer nodes");
    if (!chunks) chunks = std::make_unique<ChunkNetwork>(topology.links().size());
    return chunks->run(folded.schedule, folded.links);
}

CollectiveResult CollectiveTimer::State::run(const CollectiveRequest& request, const RankLayout& layout,
                                             const CollectivePlan& plan) {
    // A long ring of equal nodes repeats itself: what a turn costs is the difference of two rings of few
    // turns.
    const std::uint32_t period = period_of(request, layout, plan);
    const std::uint32_t some = std::max(4 * period, 16u), more = some + 2 * period;
    const bool repeats = period > 0 && request.model == NetworkModel::flows && more < layout.count();
    FoldedSchedule folded = schedule_of(cluster, topology, request, layout, plan, repeats ? more : 0);
    RunOutcome outcome = simulate(folded, request.model);
    if (repeats) {
        const RunOutcome less =
            simulate(schedule_of(cluster, topology, request, layout, plan, some), request.model);
        const double turns = (static_cast<double>(layout.count()) - more) / (more - some);
        outcome.seconds += turns * (outcome.seconds - less.seconds);
        for (std::size_t i = 0; i < outcome.carried.size(); ++i)
            outcome.carried[i] += turns * (outcome.carried[i] - less.carried[i]);
        outcome.events += less.events;
    }
    CollectiveResult result;
    result.algorithm = plan.algorithm;
    result.protocol = plan.protocol;
    result.channels = plan.channels;
    result.seconds = outcome.seconds + fixed_seconds(cluster.collective, plan);
    result.links = link_uses(folded, outcome, topology);
    result.events = outcome.events;
    result.algorithm_bandwidth = static_cast<double>(request.bytes) / result.seconds;
    result.bus_bandwidth = result.algorithm_bandwidth * bus_factor(request.kind, layout.count());
    return result;
}

// Over many equal nodes a tree's time grows by the same for each level, and that of rings across nodes by the
// same for each node: what that is, two smaller clusters say.
CollectiveResult CollectiveTimer::State::run_many(const CollectiveRequest& request, const RankLayout& layout,
                                                  const CollectivePlan& plan) {
    constexpr std::size_t kFew = 32, kMore = 64;
    const bool tree =
        plan.algorithm == CollectiveAlgorithm::tree || plan.algorithm == CollectiveAlgorithm::double_tree;
    const bool grows = tree || plan.algorithm == CollectiveAlgorithm::hierarchical;
    const auto nodes = layout.nodes.size();
    if (!grows || !request.fold || !layout.even || nodes <= kMore || request.model != NetworkModel::flows)
        return run(request, layout, plan);
    const CollectiveRequest few = part_of(request, layout, kFew), more = part_of(request, layout, kMore);
    const CollectiveResult less = run(few, layout_of(few.ranks, topology), plan);
    CollectiveResult result = run(more, layout_of(more.ranks, topology), plan);
    const double steps = tree ? std::ceil(std::log2(static_cast<double>(nodes) / kMore))
                              : static_cast<double>(nodes - kMore) / (kMore - kFew);
    result.seconds += steps * std::max(0.0, result.seconds - less.seconds);
    result.events += less.events;
    result.algorithm_bandwidth = static_cast<double>(request.bytes) / result.seconds;
    result.bus_bandwidth = result.algorithm_bandwidth * bus_factor(request.kind, layout.count());
    return result;
}

CollectiveResult CollectiveTimer::State::run(const CollectiveRequest& request) {
    check_ranks(request.ranks, topology);
    if (request.kind == CollectiveKind::send_receive && request.ranks.size() < 2)
        throw Error("send-receive needs two ranks", {"--ranks", 0, ""});
    const RankLayout layout = layout_of(request.ranks, topology);
    if (layout.count() < 2) {
        CollectiveResult alone;
        alone.seconds = cluster.collective.launch;
        alone.algorithm = CollectiveAlgorithm::direct;
        return alone;
    }
    CollectiveResult best;
    for (const CollectivePlan& plan : plans_of(cluster, request, layout, topology)) {
        CollectiveResult result = run_many(request, layout, plan);
        if (best.seconds == 0 || result.seconds < best.seconds) best = std::move(result);
    }
    return best;
}

CollectiveTimer::CollectiveTimer(Cluster cluster) : state_(std::make_unique<State>(std::move(cluster))) {}
CollectiveTimer::~CollectiveTimer() = default;
CollectiveTimer::CollectiveTimer(CollectiveTimer&&) noexcept = default;

const Cluster& CollectiveTimer::cluster() const {
    return state_->cluster;
}

CollectiveResult CollectiveTimer::time(const CollectiveRequest& given) {
    CollectiveRequest request = given;
    if (request.ranks.empty()) {
        request.ranks.resize(state_->cluster.device_count());
        std::iota(request.ranks.begin(), request.ranks.end(), 0u);
    }
    if (request.link_parts) return state_->run(request);
    const auto [place, fresh] =
        state_->answers.try_emplace({request.kind, request.bytes, request.type, request.ranks, request.beside,
                                     request.algorithm, request.protocol, request.model, request.fold});
    if (!fresh) return place->second;
    try {
        place->second = state_->run(request);
    } catch (...) {
        state_->answers.erase(place);
        throw;
    }
    return place->second;
}

const char* name_of(CollectiveKind kind) {
    return kKinds[static_cast<std::size_t>(kind)];
}

const char* name_of(CollectiveAlgorithm algorithm) {
    return kAlgorithms[static_cast<std::size_t>(algorithm)];
}

CollectiveKind collective_kind(const std::string& name) {
    return static_cast<CollectiveKind>(find_name(kKinds, name, "collective"));
}

CollectiveAlgorithm collective_algorithm(const std::string& name) {
    return static_cast<CollectiveAlgorithm>(find_name(kAlgorithms, name, "algorithm"));
}

CollectiveProtocol collective_protocol(const std::string& name) {
    constexpr std::array kNames{"ll", "ll128", "simple", "automatic"};
    return static_cast<CollectiveProtocol>(find_name(kNames, name, "protocol"));
}

}  // namespace heddle::sim
