#include "models/memory/tlm_requester.h"

#include <algorithm>
#include <utility>

#include "isa/common/error.h"

namespace heddle::models {
namespace {

/// A model that answers nothing for so long, seconds, is taken for dead.
constexpr double kPatience = 1e-3;

}  // namespace

/// A payload with its request; TLM's reference count gives it back.
class TlmRequester::Transaction : public tlm::tlm_generic_payload, public tlm::tlm_mm_interface {
  public:
    explicit Transaction(std::vector<Transaction*>& home) : home_(home) { set_mm(this); }
    void free(tlm::tlm_generic_payload*) override {
        reset();
        home_.push_back(this);
    }
    MemoryRequest* request = nullptr;
    bool orphan = false;  // of a run that was given up

  private:
    std::vector<Transaction*>& home_;
};

TlmRequester::TlmRequester(const sc_core::sc_module_name& name, bool blocking, std::string model,
                           std::string parameter)
    : sc_module(name),
      socket("socket"),
      model_(std::move(model)),
      parameter_(std::move(parameter)),
      scratch_(kLineBytes) {
    socket.register_nb_transport_bw(this, &TlmRequester::answered);
    if (blocking) {
        SC_THREAD(transport);
    } else {
        SC_METHOD(request_next);
        sensitive << go_;
        dont_initialize();
    }
}

TlmRequester::~TlmRequester() = default;

void TlmRequester::reset() {
    // What the model still has under way of a run that failed is answered to nobody.
    for (const auto& transaction : transactions_) {
        transaction->orphan = transaction->request != nullptr;
        transaction->request = nullptr;
    }
    const auto drop = [](Transaction& transaction) {
        transaction.orphan = false;
        transaction.release();
    };
    for (Transaction* transaction : waiting_) drop(*transaction);
    for (const Complete& complete : complete_) drop(*complete.transaction);
    waiting_.clear();
    complete_.clear();
    outstanding_ = 0;
    last_progress_ = 0;
}

tlm::tlm_generic_payload& TlmRequester::begin(MemoryRequest& request, tlm::tlm_command command,
                                              std::uint64_t address, std::uint32_t bytes, Cycle now) {
    if (outstanding_++ == 0) last_progress_ = now;
    if (free_.empty()) {
        transactions_.push_back(std::make_unique<Transaction>(free_));
        free_.push_back(transactions_.back().get());
    }
    Transaction& transaction = *free_.back();
    free_.pop_back();
    transaction.request = &request;
    tlm::tlm_generic_payload& payload = transaction;
    payload.acquire();
    payload.set_command(command);
    payload.set_address(address);
    payload.set_data_length(bytes);
    payload.set_streaming_width(bytes);
    payload.set_data_ptr(scratch_.data());
    payload.set_byte_enable_ptr(nullptr);
    payload.set_dmi_allowed(false);
    payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    waiting_.push_back(&transaction);
    go_.notify(sc_core::SC_ZERO_TIME);
    return payload;
}

bool TlmRequester::due() const {
    const sc_core::sc_time& time = sc_core::sc_time_stamp();
    return std::any_of(complete_.begin(), complete_.end(),
                       [&](const Complete& one) { return one.at < time; });
}

std::size_t TlmRequester::sort_complete() {
    const sc_core::sc_time& time = sc_core::sc_time_stamp();
    std::stable_sort(complete_.begin(), complete_.end(),
                     [](const Complete& a, const Complete& b) { return a.at < b.at; });
    std::size_t count = 0;
    while (count < complete_.size() && complete_[count].at < time) ++count;
    return count;
}

MemoryRequest& TlmRequester::release(Transaction& transaction, Cycle now) {
    MemoryRequest* const request = transaction.request;
    if (request == nullptr)
        throw Error("the " + model_ + " behind " + std::string(name()) + " answered a transaction twice", {},
                    "look at the library that " + parameter_ + " names");
    transaction.request = nullptr;
    transaction.release();
    --outstanding_;
    last_progress_ = now;
    return *request;
}

void TlmRequester::check_alive(Cycle now, double hertz) const {
    if (outstanding_ == 0 || static_cast<double>(now - last_progress_) <= kPatience * hertz) return;
    throw Error("the " + model_ + " behind " + std::string(name()) + " has not answered for a millisecond; " +
                    std::to_string(outstanding_) + " transactions wait",
                {}, "look at the library that " + parameter_ + " names");
}

void TlmRequester::transport() {
    for (;;) {
        while (!waiting_.empty()) {
            Transaction& transaction = *waiting_.front();
            waiting_.pop_front();
            sc_core::sc_time delay;
            socket->b_transport(transaction, delay);
            complete(transaction, sc_core::sc_time_stamp() + delay);
        }
        wait(go_);
    }
}

void TlmRequester::request_next() {
    while (requesting_ == nullptr && !waiting_.empty()) {
        Transaction& transaction = *waiting_.front();
        waiting_.pop_front();
        requesting_ = &transaction;
        tlm::tlm_phase phase = tlm::BEGIN_REQ;
        sc_core::sc_time delay;
        switch (socket->nb_transport_fw(transaction, phase, delay)) {
            case tlm::TLM_ACCEPTED:
                break;
            case tlm::TLM_UPDATED:
                answered(transaction, phase, delay);
                break;
            case tlm::TLM_COMPLETED:
                requesting_ = nullptr;
                complete(transaction, sc_core::sc_time_stamp() + delay);
                break;
        }
    }
}

/// Backward path: END_REQ lets the next request begin, BEGIN_RESP completes a transaction (and ends its
/// request if that was not said).
tlm::tlm_sync_enum TlmRequester::answered(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                          sc_core::sc_time& delay) {
    if (requesting_ == &payload) {
        requesting_ = nullptr;
        go_.notify(delay);
    }
    if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
    complete(payload, sc_core::sc_time_stamp() + delay);
    phase = tlm::END_RESP;
    return tlm::TLM_COMPLETED;
}

void TlmRequester::complete(tlm::tlm_generic_payload& payload, const sc_core::sc_time& at) {
    auto& transaction = static_cast<Transaction&>(payload);
    if (transaction.orphan) {
        transaction.orphan = false;
        payload.release();
        return;
    }
    complete_.push_back({at, &transaction});
}

}  // namespace heddle::models
