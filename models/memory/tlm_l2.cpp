#include "models/memory/tlm_l2.h"

#include <algorithm>
#include <bit>

#include "isa/common/error.h"
#include "models/memory/l2_plugin.h"

namespace heddle::models {

TlmL2Slice::TlmL2Slice(const sc_core::sc_module_name& name, ClockDomain& clock, const L2Config& config,
                       std::uint32_t crossbar_latency, std::uint32_t position, L2Model& model,
                       MemoryRequestPool& pool)
    : L2Block(name, clock),
      requester("requester", false, "L2 model", "l2.model"),
      memory_socket("memory_socket"),
      crossbar_latency_(crossbar_latency),
      position_(position),
      hash_(config.slices, config.partitions, chunk_bits_of(config.interleave_bytes)),
      model_(model),
      pool_(pool) {
    clock.share_kernel();
    memory_socket.register_nb_transport_fw(this, &TlmL2Slice::ask_memory);
}

void TlmL2Slice::end_of_elaboration() {
    issuers_.clear();
    for (int i = 0; i < responses.size(); ++i) issuers_.emplace_back(responses[i]);
    memory_ = Peer<RequestInterface>(memory_requests[0]);
}

void TlmL2Slice::reset() {
    requester.reset();
    inbox_.reset();
    returned_.reset();
    const auto drop = [](tlm::tlm_generic_payload* payload) {
        if (payload != nullptr && payload->has_mm()) payload->release();
    };
    for (const Asked& asked : asked_) drop(asked.payload);
    for (tlm::tlm_generic_payload* const payload : at_memory_) drop(payload);
    for (tlm::tlm_generic_payload* const payload : answers_) drop(payload);
    drop(answering_);
    asked_.clear();
    at_memory_.clear();
    answers_.clear();
    answering_ = nullptr;
    busy_until_ = 0;
    failure_.clear();
    statistics_ = {};
}

void TlmL2Slice::preload(std::uint32_t line, bool dirty, bool) {
    const std::uint32_t key = hash_.key(hash_.place(line));
    model_.preload(position_, std::uint64_t{hash_.row_of(key)} * kLineBytes, dirty);
}

void TlmL2Slice::send(MemoryRequest& request, Cycle arrival) {
    wake(inbox_.push(request, arrival));
}

// From memory.
void TlmL2Slice::respond(MemoryRequest& request, Cycle arrival) {
    returned_.push(request, arrival);
    wake(arrival);
}

void TlmL2Slice::acknowledge(Cycle, unsigned) {}  // memory answers write-backs with respond()

bool TlmL2Slice::can_act(Cycle now) const {
    const sc_core::sc_time& time = sc_core::sc_time_stamp();
    return inbox_.due(now) || returned_.due(now) || requester.due() ||
           (!asked_.empty() && asked_.front().at < time && now < busy_until_);
}

Cycle TlmL2Slice::tick(Cycle now) {
    if (!failure_.empty())
        throw Error("the L2 model behind " + std::string(name()) + " " + failure_, {},
                    "look at the library that l2.model names");
    for (const ArrivalWindows::Arrival& arrival : inbox_.take(now)) begin(*arrival.request, now);
    for (MemoryRequest* request = returned_.pop(now); request != nullptr;) {
        MemoryRequest* const following = request->next;
        answers_.push_back(at_memory_[request->key]);
        at_memory_[request->key] = nullptr;
        pool_.give_back(*request);
        request = following;
    }
    answer_model();
    const sc_core::sc_time& time = sc_core::sc_time_stamp();
    for (; !asked_.empty() && asked_.front().at < time; asked_.pop_front())
        send_to_memory(*asked_.front().payload, now);
    requester.take(now, [&](MemoryRequest& request) {
        if (--request.missing == 0) finish(request, now);
    });
    requester.check_alive(now, clock().hertz());
    const bool memory_works =
        std::any_of(at_memory_.begin(), at_memory_.end(), [](auto* one) { return one != nullptr; });
    if (requester.outstanding() != 0 || memory_works || !asked_.empty()) busy_until_ = now + kGrace;
    return now < busy_until_ ? now + 1 : std::min(inbox_.next(now), returned_.next(now + 1));
}

/// A transaction for each line. `missing` counts those under way.
void TlmL2Slice::begin(MemoryRequest& request, Cycle now) {
    request.missing = static_cast<LinesMask>(line_count(request.sectors));
    const bool store = request.kind == RequestKind::store, atomic = request.kind == RequestKind::atomic;
    for (unsigned i = 0; i < kMostLines; ++i) {
        const SectorMask sectors = sectors_of(request.sectors, i);
        if (sectors == 0) continue;
        const unsigned count = sector_count(sectors);
        ++statistics_.requests;
        (store    ? statistics_.store_sectors
         : atomic ? statistics_.atomic_sectors
                  : statistics_.load_sectors) += count;
        const auto first = static_cast<unsigned>(std::countr_zero(sectors));
        const auto end = static_cast<unsigned>(std::bit_width(sectors));
        const std::uint64_t row = hash_.row_of(request.key) + std::uint64_t{i};
        tlm::tlm_generic_payload& payload =
            requester.begin(request, store || atomic ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND,
                            row * kLineBytes + first * kSectorBytes, (end - first) * kSectorBytes, now);
        L2Extension* extension = payload.get_extension<L2Extension>();
        if (extension == nullptr) payload.set_extension(extension = new L2Extension);
        extension->sm = request.issuer;
        extension->gpc = request.port;
        extension->sectors = sectors;
        extension->atomic = atomic;
        extension->wants_data = request.wants_data;
        extension->atomic_conflicts = request.atomic_conflicts;
    }
}

void TlmL2Slice::finish(MemoryRequest& request, Cycle now) {
    if (request.kind != RequestKind::load) statistics_.last_store = std::max(statistics_.last_store, now);
    statistics_.answers += line_count(request.sectors);
    issuers_[request.port].respond(*this, request, now + crossbar_latency_);
}

/// Forward path of the model's own transactions.
tlm::tlm_sync_enum TlmL2Slice::ask_memory(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                          sc_core::sc_time& delay) {
    if (phase == tlm::END_RESP) {
        if (answering_ == &payload) {
            if (payload.has_mm()) payload.release();
            answering_ = nullptr;
        }
        return tlm::TLM_COMPLETED;
    }
    if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
    if (payload.has_mm()) payload.acquire();
    const Asked asked{&payload, sc_core::sc_time_stamp() + delay};
    auto place = asked_.end();
    while (place != asked_.begin() && std::prev(place)->at > asked.at) --place;
    asked_.insert(place, asked);
    phase = tlm::END_REQ;
    return tlm::TLM_UPDATED;
}

void TlmL2Slice::send_to_memory(tlm::tlm_generic_payload& payload, Cycle now) {
    const std::uint64_t address = payload.get_address(), line = address / kLineBytes;
    const auto first = static_cast<unsigned>(address % kLineBytes) / kSectorBytes;
    const auto end = static_cast<unsigned>(
        (address % kLineBytes + payload.get_data_length() + kSectorBytes - 1) / kSectorBytes);
    if (payload.get_data_length() == 0 || end > kSectorsPerLine || line > ~std::uint32_t{0}) {
        failure_ = "asked memory for " + std::to_string(payload.get_data_length()) + " bytes at " +
                   std::to_string(address) + ", which are not within one line of the slice";
        return;
    }
    std::size_t place = 0;
    while (place < at_memory_.size() && at_memory_[place] != nullptr) ++place;
    if (place == at_memory_.size()) at_memory_.push_back(nullptr);
    at_memory_[place] = &payload;
    MemoryRequest& request = pool_.take();
    request.kind = payload.is_write() ? RequestKind::write_back : RequestKind::load;
    request.sectors = static_cast<LinesMask>(((1u << end) - 1) & ~((1u << first) - 1));
    request.issuer = static_cast<std::uint16_t>(position_);
    request.tag = static_cast<std::uint32_t>(line);
    request.key = static_cast<std::uint32_t>(place);
    (payload.is_write() ? statistics_.write_back_sectors : statistics_.fill_sectors) +=
        sector_count(request.sectors);
    memory_.send(*this, request, now + 1);
}

/// Backward path: one answer at a time.
void TlmL2Slice::answer_model() {
    while (answering_ == nullptr && !answers_.empty()) {
        answering_ = answers_.front();
        answers_.pop_front();
        answering_->set_response_status(tlm::TLM_OK_RESPONSE);
        tlm::tlm_phase phase = tlm::BEGIN_RESP;
        sc_core::sc_time delay;
        tlm::tlm_generic_payload& payload = *answering_;
        const tlm::tlm_sync_enum status = memory_socket->nb_transport_bw(payload, phase, delay);
        const bool ended =
            status == tlm::TLM_COMPLETED || (status == tlm::TLM_UPDATED && phase == tlm::END_RESP);
        if (!ended || answering_ != &payload) continue;
        if (payload.has_mm()) payload.release();
        answering_ = nullptr;
    }
}

L2SliceStatistics TlmL2Slice::statistics() const {
    L2SliceStatistics result = statistics_;
    const std::uint64_t wanted = result.load_sectors + result.atomic_sectors;
    result.hit_sectors = wanted - std::min(wanted, result.fill_sectors);
    return result;
}

}  // namespace heddle::models
