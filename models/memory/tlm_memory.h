// A memory channel whose DRAM is somebody else's TLM-2.0 model (dram_plugin.h).
#pragma once

#include "models/memory/delay_queue.h"
#include "models/memory/memory_channel.h"
#include "models/memory/tlm_requester.h"

namespace heddle::models {

/// Turns requests into transactions, one for each line, and back.
class TlmMemoryChannel : public MemoryBlock {
  public:
    TlmRequester requester;  ///< sends the requests to the model
    tlm_utils::simple_initiator_socket<TlmRequester>& socket =
        requester.socket;  ///< to be bound to the model's
                           ///< socket of this channel

    /// `blocking`: as DramModel::blocking().
    TlmMemoryChannel(const sc_core::sc_module_name& name, ClockDomain& clock, const MemoryConfig& config,
                     std::uint32_t position, std::uint32_t first_issuer, std::uint32_t issuers,
                     bool blocking);

    void send(MemoryRequest& request, Cycle arrival) override;
    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override;
    void reset() override;
    MemoryChannelStatistics statistics() const override;

  private:
    void begin(MemoryRequest& request, Cycle now);

    DelayQueue inbox_;
};

}  // namespace heddle::models
