#include "models/network/flow_network.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heddle::models::network {
namespace {

// Shares that differ by rounding only are one share.
constexpr double kSame = 1 + 1e-12;

}  // namespace

FlowNetwork::FlowNetwork(const std::vector<Link>& links)
    : links_(links), states_(links.size()), carried_(links.size(), 0) {}

void FlowNetwork::mark(LinkId link) {
    if (states_[link].dirty) return;
    states_[link].dirty = true;
    dirty_.push_back(link);
}

void FlowNetwork::start(std::uint32_t token, const std::vector<LinkId>& links, double bytes, double rate,
                        Cycle now) {
    std::uint32_t index;
    if (free_.empty()) {
        index = static_cast<std::uint32_t>(flows_.size());
        flows_.emplace_back();
    } else {
        index = free_.back();
        free_.pop_back();
    }
    Flow& flow = flows_[index];
    flow =
        Flow{&links, bytes, 0, rate, 0, now, kNever, started_++, token, flow.version + 1, true, false, false};
    for (const LinkId link : links) {
        states_[link].flows.push_back(index);
        carried_[link] += bytes;
        mark(link);
    }
    if (links.empty()) linkless_.push_back(index);
}

void FlowNetwork::gather() {
    component_.clear();
    component_links_.clear();
    const auto see_link = [&](LinkId link) {
        LinkState& state = states_[link];
        if (state.seen) return;
        state.seen = true;
        component_links_.push_back(link);
    };
    for (const LinkId link : dirty_) {
        states_[link].dirty = false;
        see_link(link);
    }
    dirty_.clear();
    for (std::size_t i = 0; i < component_links_.size(); ++i) {
        for (const std::uint32_t index : states_[component_links_[i]].flows) {
            Flow& flow = flows_[index];
            if (flow.seen) continue;
            flow.seen = true;
            component_.push_back(index);
            for (const LinkId link : *flow.links) see_link(link);
        }
    }
    for (const std::uint32_t index : linkless_) component_.push_back(index);
    linkless_.clear();
}

// Progressive filling: the smallest share that a link offers, or the smallest cap, is final; what is left is
// shared again.
void FlowNetwork::share_out() {
    for (const LinkId link : component_links_) {
        states_[link].left = links_[link].bandwidth;
        states_[link].unfrozen = static_cast<std::uint32_t>(states_[link].flows.size());
    }
    for (const std::uint32_t index : component_) flows_[index].frozen = false;
    std::size_t left = component_.size();
    while (left > 0) {
        double least = std::numeric_limits<double>::infinity();
        for (const LinkId link : component_links_)
            if (states_[link].unfrozen > 0)
                least = std::min(least, states_[link].left / states_[link].unfrozen);
        for (const std::uint32_t index : component_)
            if (!flows_[index].frozen) least = std::min(least, flows_[index].cap);
        const double bound = least * kSame;
        for (const LinkId link : component_links_) {
            LinkState& state = states_[link];
            state.seen = state.unfrozen > 0 && state.left / state.unfrozen <= bound;  // at its limit
        }
        for (const std::uint32_t index : component_) {
            Flow& flow = flows_[index];
            if (flow.frozen) continue;
            const bool limited =
                flow.cap <= bound || std::any_of(flow.links->begin(), flow.links->end(),
                                                 [&](LinkId link) { return states_[link].seen; });
            if (!limited) continue;
            flow.frozen = true;
            flow.share = std::min(least, flow.cap);
            --left;
            for (const LinkId link : *flow.links) {
                states_[link].left = std::max(0.0, states_[link].left - flow.share);
                --states_[link].unfrozen;
            }
        }
    }
}

void FlowNetwork::settle(Cycle now) {
    if (dirty_.empty() && linkless_.empty()) return;
    gather();
    share_out();
    for (const LinkId link : component_links_) states_[link].seen = false;
    for (const std::uint32_t index : component_) {
        Flow& flow = flows_[index];
        flow.seen = false;
        if (flow.share == flow.rate) continue;
        flow.remaining =
            std::max(0.0, flow.remaining - flow.rate * static_cast<double>(now - flow.updated) * kPicosecond);
        flow.updated = now;
        flow.rate = flow.share;
        // Rounded to the nearest picosecond, which is never before now.
        flow.ends = now + static_cast<Cycle>(std::llround(flow.remaining / flow.rate / kPicosecond));
        ends_.push({flow.ends, flow.order, index, ++flow.version});
    }
}

Cycle FlowNetwork::next() {
    while (!ends_.empty()) {
        const End& end = ends_.top();
        if (flows_[end.flow].active && flows_[end.flow].version == end.version) return end.at;
        ends_.pop();
    }
    return kNever;
}

void FlowNetwork::take_ended(Cycle now, std::vector<std::uint32_t>& tokens) {
    while (next() <= now) {
        const std::uint32_t index = ends_.top().flow;
        ends_.pop();
        Flow& flow = flows_[index];
        flow.active = false;
        tokens.push_back(flow.token);
        for (const LinkId link : *flow.links) {
            std::vector<std::uint32_t>& flows = states_[link].flows;
            flows.erase(std::find(flows.begin(), flows.end(), index));
            mark(link);
        }
        free_.push_back(index);
    }
}

}  // namespace heddle::models::network
