#include "models/memory/tlm_memory.h"

#include <algorithm>
#include <bit>

#include "isa/common/error.h"

namespace heddle::models {
namespace {

/// A model that answers nothing for so long is taken for dead.
constexpr double kPatience = 1e-3;

}  // namespace

/// A payload with its request; TLM's reference count gives it back.
class TlmMemoryChannel::Transaction : public tlm::tlm_generic_payload, public tlm::tlm_mm_interface {
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

TlmMemoryChannel::TlmMemoryChannel(const sc_core::sc_module_name& name, ClockDomain& clock,
                                   const MemoryConfig& config, std::uint32_t position,
                                   std::uint32_t first_issuer, std::uint32_t issuers, bool blocking)
    : MemoryBlock(name, clock, config, position, first_issuer, issuers),
      socket("socket"),
      blocking_(blocking),
      scratch_(kLineBytes) {
    clock.share_kernel();
    socket.register_nb_transport_bw(this, &TlmMemoryChannel::answered);
    if (blocking_) {
        SC_THREAD(transport);
    } else {
        SC_METHOD(request_next);
        sensitive << go_;
        dont_initialize();
    }
}

TlmMemoryChannel::~TlmMemoryChannel() = default;

void TlmMemoryChannel::reset() {
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
    for (const Done& done : done_) drop(*done.transaction);
    inbox_.reset();
    waiting_.clear();
    done_.clear();
    outstanding_ = 0;
    last_progress_ = 0;
    statistics_ = {};
}

void TlmMemoryChannel::send(MemoryRequest& request, Cycle arrival) {
    inbox_.push(request, arrival);
    wake(arrival);
}

bool TlmMemoryChannel::can_act(Cycle now) const {
    if (inbox_.due(now)) return true;
    const sc_core::sc_time& time = sc_core::sc_time_stamp();
    return std::any_of(done_.begin(), done_.end(), [&](const Done& done) { return done.at < time; });
}

// While anything is under way the block looks every cycle: answers come when the model likes.
Cycle TlmMemoryChannel::tick(Cycle now) {
    for (MemoryRequest* request = inbox_.pop(now); request != nullptr;) {
        MemoryRequest* const following = request->next;
        if (outstanding_ == 0) last_progress_ = now;
        begin(*request);
        request = following;
    }
    const sc_core::sc_time& time = sc_core::sc_time_stamp();
    // In order of time, and of completion within a time.
    std::stable_sort(done_.begin(), done_.end(), [](const Done& a, const Done& b) { return a.at < b.at; });
    std::size_t taken = 0;
    for (; taken < done_.size() && done_[taken].at < time; ++taken) {
        Transaction& transaction = *done_[taken].transaction;
        if (transaction.request == nullptr)
            throw Error("the memory model behind " + std::string(name()) + " answered a transaction twice",
                        {}, "look at the library that hbm.model names");
        if (--transaction.request->arrival == 0) answer(*transaction.request, now + 1);
        transaction.request = nullptr;
        transaction.release();
        --outstanding_;
        last_progress_ = now;
    }
    done_.erase(done_.begin(), done_.begin() + static_cast<std::ptrdiff_t>(taken));
    if (static_cast<double>(now - last_progress_) > kPatience * clock().hertz() && outstanding_ != 0) {
        throw Error("the memory model behind " + std::string(name()) +
                        " has not answered for a millisecond; " + std::to_string(outstanding_) +
                        " transactions wait",
                    {}, "look at the library that hbm.model names");
    }
    return outstanding_ != 0 ? now + 1 : inbox_.next(now + 1);
}

/// A transaction for each line. `arrival` counts those under way.
void TlmMemoryChannel::begin(MemoryRequest& request) {
    request.arrival = line_count(request.sectors);
    for (unsigned i = 0; i < kMostLines; ++i) {
        if (sectors_of(request.sectors, i) != 0) begin_line(request, i);
    }
}

void TlmMemoryChannel::begin_line(MemoryRequest& request, unsigned line) {
    ++outstanding_;
    if (free_.empty()) {
        transactions_.push_back(std::make_unique<Transaction>(free_));
        free_.push_back(transactions_.back().get());
    }
    Transaction& transaction = *free_.back();
    free_.pop_back();
    transaction.request = &request;
    const LinesMask sectors = sectors_of(request.sectors, line);
    const auto first = static_cast<std::uint32_t>(std::countr_zero(sectors));
    const std::uint32_t from = first * kSectorBytes / config_.burst_bytes * config_.burst_bytes;
    tlm::tlm_generic_payload& payload = transaction;
    payload.acquire();
    payload.set_command(request.kind == RequestKind::write_back ? tlm::TLM_WRITE_COMMAND
                                                                : tlm::TLM_READ_COMMAND);
    payload.set_address((line_in_channel(request) + line) * kLineBytes + from);
    payload.set_data_length(std::min(bytes_moved(sectors), kLineBytes - from));
    payload.set_streaming_width(payload.get_data_length());
    payload.set_data_ptr(scratch_.data());
    payload.set_byte_enable_ptr(nullptr);
    payload.set_dmi_allowed(false);
    payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    waiting_.push_back(&transaction);
    go_.notify(sc_core::SC_ZERO_TIME);
}

void TlmMemoryChannel::transport() {
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

void TlmMemoryChannel::request_next() {
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
tlm::tlm_sync_enum TlmMemoryChannel::answered(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
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

void TlmMemoryChannel::complete(tlm::tlm_generic_payload& payload, const sc_core::sc_time& at) {
    auto& transaction = static_cast<Transaction&>(payload);
    if (transaction.orphan) {
        transaction.orphan = false;
        payload.release();
        return;
    }
    done_.push_back({at, &transaction});
}

MemoryChannelStatistics TlmMemoryChannel::statistics() const {
    MemoryChannelStatistics result = statistics_;
    result.reads = result.read_requests;
    return result;
}

}  // namespace heddle::models
