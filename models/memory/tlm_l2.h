// A slice of L2 that is somebody else's TLM-2.0 model (l2_plugin.h).
#pragma once

#include <tlm_utils/simple_target_socket.h>

#include <deque>
#include <string>
#include <vector>

#include "models/memory/delay_queue.h"
#include "models/memory/l2_slice.h"
#include "models/memory/tlm_requester.h"

namespace heddle {
class L2Model;
}

namespace heddle::models {

/// Turns requests of SMs into transactions to the model, one for each line, and the model's transactions to
/// memory into requests. What the model asks for at time t leaves in the first cycle that begins after t.
///
/// While a request is under way, and for kGrace cycles after the last, the block looks every cycle. What a
/// model asks of memory later than that waits for the next request.
class TlmL2Slice : public L2Block {
  public:
    TlmRequester requester;                                     ///< sends the requests of SMs to the model
    tlm_utils::simple_target_socket<TlmL2Slice> memory_socket;  ///< from the model

    /// Answers reach the GPCs `crossbar_latency` after they leave. `model` must outlive it.
    TlmL2Slice(const sc_core::sc_module_name& name, ClockDomain& clock, const L2Config& config,
               std::uint32_t crossbar_latency, std::uint32_t position, L2Model& model,
               MemoryRequestPool& pool);

    void send(MemoryRequest& request, Cycle arrival) override;
    void respond(MemoryRequest& request, Cycle arrival) override;
    void acknowledge(Cycle at, unsigned lines) override;
    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override;
    void reset() override;

    /// Runs on such a slice are not sampled.
    void pass(std::uint32_t, SectorMask, bool, std::uint64_t&, std::uint64_t&) override {}
    void age(double) override {}
    void resize(std::uint64_t) override {}
    void preload(std::uint32_t line, bool dirty, bool spare_dirty) override;
    /// Hits are what was asked for less what the model asked of memory.
    L2SliceStatistics statistics() const override;

  private:
    static constexpr Cycle kGrace = 1024;
    struct Asked {  // of memory
        tlm::tlm_generic_payload* payload = nullptr;
        sc_core::sc_time at;
    };
    void end_of_elaboration() override;
    void begin(MemoryRequest& request, Cycle now);
    void finish(MemoryRequest& request, Cycle now);
    tlm::tlm_sync_enum ask_memory(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                  sc_core::sc_time& delay);
    void send_to_memory(tlm::tlm_generic_payload& payload, Cycle now);
    void answer_model();

    const Cycle crossbar_latency_;
    const std::uint32_t position_;
    const PartitionedHash hash_;
    L2Model& model_;
    MemoryRequestPool& pool_;
    std::vector<Peer<ResponseInterface>> issuers_;
    Peer<RequestInterface> memory_;
    ArrivalWindows inbox_;  // of SMs, whose MemoryRequest::arrival is the GPC's own
    DelayQueue returned_;
    std::deque<Asked> asked_;                           // not yet sent
    std::vector<tlm::tlm_generic_payload*> at_memory_;  // by MemoryRequest::key; nullptr: free
    std::deque<tlm::tlm_generic_payload*> answers_;     // for the model
    tlm::tlm_generic_payload* answering_ = nullptr;     // in the response phase
    Cycle busy_until_ = 0;
    std::string failure_;
    L2SliceStatistics statistics_;
};

}  // namespace heddle::models
