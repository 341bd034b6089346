// Turns requests into TLM-2.0 transactions and tells when they are complete: for bridges to somebody else's
// models.
#pragma once

#include <tlm_utils/simple_initiator_socket.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "models/common/cycle.h"
#include "models/memory/memory_request.h"

namespace heddle::models {

/// A transaction begins at the present time; one that is complete at time t is taken in the first cycle that
/// begins after t. So cycles do not depend on the order in which SystemC runs processes of one time.
class TlmRequester : public sc_core::sc_module {
  public:
    SC_HAS_PROCESS(TlmRequester);
    tlm_utils::simple_initiator_socket<TlmRequester> socket;  ///< bound to the model's target socket

    /// `blocking`: b_transport() with the whole time as its delay; else the phases of the base protocol.
    /// `model` and `parameter`: for messages, "memory model" and "hbm.model".
    TlmRequester(const sc_core::sc_module_name& name, bool blocking, std::string model,
                 std::string parameter);
    ~TlmRequester() override;

    /// Its data lead to scratch memory. Extensions stay on the payload, which is used again.
    tlm::tlm_generic_payload& begin(MemoryRequest& request, tlm::tlm_command command, std::uint64_t address,
                                    std::uint32_t bytes, Cycle now);
    /// Whether there is something to take.
    bool due() const;
    /// Calls done(request) for each complete transaction, in order of time, and of completion within a time.
    template <class Done>
    void take(Cycle now, Done done) {
        const std::size_t count = sort_complete();
        for (std::size_t i = 0; i < count; ++i) done(release(*complete_[i].transaction, now));
        complete_.erase(complete_.begin(), complete_.begin() + static_cast<std::ptrdiff_t>(count));
    }
    std::uint64_t outstanding() const { return outstanding_; }
    /// Throws heddle::Error when the model has answered nothing for a millisecond and should have.
    void check_alive(Cycle now, double hertz) const;
    void reset();

  private:
    class Transaction;
    struct Complete {
        sc_core::sc_time at;
        Transaction* transaction;
    };
    std::size_t sort_complete();
    MemoryRequest& release(Transaction& transaction, Cycle now);
    void transport();     // process of the blocking style
    void request_next();  // process of the non-blocking style
    tlm::tlm_sync_enum answered(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                sc_core::sc_time& delay);
    void complete(tlm::tlm_generic_payload& payload, const sc_core::sc_time& at);

    const std::string model_, parameter_;
    std::deque<Transaction*> waiting_;  // not yet taken by the target
    std::vector<Complete> complete_;
    tlm::tlm_generic_payload* requesting_ = nullptr;  // in the request phase
    sc_core::sc_event go_;
    std::uint64_t outstanding_ = 0;
    Cycle last_progress_ = 0;
    std::vector<std::unique_ptr<Transaction>> transactions_;
    std::vector<Transaction*> free_;
    std::vector<unsigned char> scratch_;
};

}  // namespace heddle::models
