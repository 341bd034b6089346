// Flow level: every message has a rate, the max-min fair one; rates change when a message starts or ends. No
// SystemC.
#pragma once

#include <queue>
#include <vector>

#include "models/network/transport.h"

namespace heddle::models::network {

/// A fluid model of bandwidth: it has neither queues nor packets, so the cost of a message does not depend on
/// its size.
class FlowNetwork : public Transport {
  public:
    explicit FlowNetwork(const std::vector<Link>& links);

    void start(std::uint32_t token, const std::vector<LinkId>& links, double bytes, double rate,
               Cycle now) override;
    /// Recomputes the rates of what shares a link, directly or through others, with a message that started or
    /// ended.
    void settle(Cycle now);
    /// The cycle in which the next message ends; kNever when none is under way. To be called after settle().
    Cycle next();
    /// Removes the messages that end at `now` and returns their tokens, in the order of their starts.
    void take_ended(Cycle now, std::vector<std::uint32_t>& tokens);

    /// Bytes that each link has carried.
    const std::vector<double>& carried() const { return carried_; }

  private:
    struct Flow {
        const std::vector<LinkId>* links = nullptr;
        double remaining = 0, rate = 0, cap = 0, share = 0;
        Cycle updated = 0, ends = kNever;
        std::uint64_t order = 0;
        std::uint32_t token = 0, version = 0;
        bool active = false, frozen = false, seen = false;
    };
    struct End {
        Cycle at;
        std::uint64_t order;
        std::uint32_t flow, version;
        bool operator>(const End& other) const {
            return at != other.at ? at > other.at : order > other.order;
        }
    };
    struct LinkState {
        std::vector<std::uint32_t> flows;
        double left = 0;
        std::uint32_t unfrozen = 0;
        bool seen = false, dirty = false;
    };

    void gather();
    void share_out();
    void mark(LinkId link);

    const std::vector<Link>& links_;
    std::vector<LinkState> states_;
    std::vector<Flow> flows_;
    std::vector<std::uint32_t> free_;
    std::vector<LinkId> dirty_, component_links_;
    std::vector<std::uint32_t> component_, linkless_;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
    std::vector<double> carried_;
    std::uint64_t started_ = 0;
};

}  // namespace heddle::models::network
