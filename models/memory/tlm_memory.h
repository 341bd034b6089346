// A memory channel whose DRAM is somebody else's TLM-2.0 model (dram_plugin.h).
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <systemc>
#include <tlm>
#include <vector>

#include "models/memory/delay_queue.h"
#include "models/memory/memory_channel.h"

namespace heddle::models {

/// Turns requests into transactions and back. A request that arrives in cycle c becomes a transaction at the
/// time at which c begins; an answer that is complete at time t leaves in the first cycle that begins after
/// t. So cycles do not depend on the order in which SystemC runs processes of one time.
class TlmMemoryChannel : public MemoryBlock {
  public:
    SC_HAS_PROCESS(TlmMemoryChannel);
    tlm_utils::simple_initiator_socket<TlmMemoryChannel> socket;

    /// `blocking`: as DramModel::blocking().
    TlmMemoryChannel(const sc_core::sc_module_name& name, ClockDomain& clock, const MemoryConfig& config,
                     std::uint32_t position, std::uint32_t first_issuer, std::uint32_t issuers,
                     bool blocking);
    ~TlmMemoryChannel() override;

    void send(MemoryRequest& request, Cycle arrival) override;
    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override;
    void reset() override;
    MemoryChannelStatistics statistics() const override;

  private:
    class Transaction;
    struct Done {
        sc_core::sc_time at;
        Transaction* transaction;
    };
    void begin(MemoryRequest& request);
    void begin_line(MemoryRequest& request, unsigned line);
    void transport();     // process of the blocking style
    void request_next();  // process of the non-blocking style
    tlm::tlm_sync_enum answered(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                sc_core::sc_time& delay);
    void complete(tlm::tlm_generic_payload& payload, const sc_core::sc_time& at);
    const bool blocking_;
    DelayQueue inbox_;
    std::deque<Transaction*> waiting_;  // not yet taken by the target
    std::vector<Done> done_;
    tlm::tlm_generic_payload* requesting_ = nullptr;  // in the request phase
    sc_core::sc_event go_;
    std::uint64_t outstanding_ = 0;
    Cycle last_progress_ = 0;
    std::vector<std::unique_ptr<Transaction>> transactions_;
    std::vector<Transaction*> free_;
    std::vector<unsigned char> scratch_;
};

}  // namespace heddle::models
