// Blocks that stand in for the other side of a block under test.
#pragma once

#include <systemc>
#include <utility>
#include <vector>

#include "models/common/clock_domain.h"
#include "models/memory/delay_queue.h"
#include "models/memory/memory_ports.h"

namespace heddle::models {

/// Sends requests in the cycles it is told and notes what comes back, when.
class Requester : public Block, public ResponseInterface {
  public:
    sc_core::sc_port<RequestInterface> target;
    sc_core::sc_export<ResponseInterface> responses;

    Requester(const sc_core::sc_module_name& name, ClockDomain& clock) : Block(name, clock) {
        responses.bind(*this);
    }
    struct Plan {
        Cycle at;
        MemoryRequest request;
    };
    struct Answer {
        Cycle at;
        std::uint32_t tag;
        RequestKind kind;
    };
    std::vector<Plan> plans;  // in order of time; requests arrive in the cycle given
    std::vector<Answer> answers;
    std::vector<Cycle> acknowledgements;

    void respond(MemoryRequest& request, Cycle arrival) override {
        if (!request.wants_data) return acknowledge(arrival, line_count(request.sectors));
        inbox_.push(request, arrival);
        wake(arrival);
    }
    void acknowledge(Cycle at, unsigned lines) override {
        acknowledgements.insert(acknowledgements.end(), lines, at);
    }
    Cycle tick(Cycle now) override {
        for (MemoryRequest* r = inbox_.pop(now); r != nullptr; r = r->next)
            answers.push_back({now, r->tag, r->kind});
        while (next_ < plans.size() && plans[next_].at <= now + 1) {
            target->send(plans[next_].request, plans[next_].at);
            ++next_;
        }
        return std::min(inbox_.next(now + 1), next_ < plans.size() ? plans[next_].at - 1 : kNever);
    }
    bool can_act(Cycle now) const override {
        return inbox_.due(now) || (next_ < plans.size() && plans[next_].at <= now + 1);
    }
    void reset() override {}

  private:
    DelayQueue inbox_;
    std::size_t next_ = 0;
};

}  // namespace heddle::models
