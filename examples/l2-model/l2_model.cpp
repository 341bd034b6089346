// An L2 of one's own for Heddle: each slice is a cache of sets and ways behind one data port, least recently
// used first, with the latencies that the hardware file gives Heddle's own. See README.md.
#include <tlm_utils/peq_with_get.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <tlm_utils/simple_target_socket.h>

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/memory/l2_plugin.h"

// Cycles that every hit takes longer, and every miss.
#ifndef EXTRA_LATENCY
#define EXTRA_LATENCY 0
#endif

namespace {

using Payload = tlm::tlm_generic_payload;
constexpr unsigned kLine = 128, kSector = 32;

/// A payload for memory that goes back to its slice.
class Fetch : public Payload, public tlm::tlm_mm_interface {
  public:
    explicit Fetch(std::vector<Fetch*>& home) : home_(home) {
        set_mm(this);
        set_data_ptr(data_);
    }
    void free(Payload*) override { home_.push_back(this); }

  private:
    std::vector<Fetch*>& home_;
    unsigned char data_[kLine] = {};
};

class Slice : public sc_core::sc_module {
  public:
    SC_HAS_PROCESS(Slice);
    tlm_utils::simple_target_socket<Slice> requests;
    tlm_utils::simple_initiator_socket<Slice> memory;

    Slice(const sc_core::sc_module_name& name, const heddle::L2ModelSettings& settings)
        : sc_module(name),
          requests("requests"),
          memory("memory"),
          settings_(settings),
          sets_(settings.bytes / settings.slices / settings.ways / kLine),
          arrived_("arrived"),
          leaving_("leaving"),
          to_memory_("to_memory") {
        requests.register_nb_transport_fw(this, &Slice::request);
        memory.register_nb_transport_bw(this, &Slice::filled);
        SC_METHOD(serve);
        sensitive << arrived_.get_event();
        dont_initialize();
        SC_METHOD(answer);
        sensitive << leaving_.get_event();
        dont_initialize();
        SC_METHOD(ask_memory);
        sensitive << to_memory_.get_event();
        dont_initialize();
    }

    void reset() {
        for (Set& set : sets_) set.clear();
        waiting_.clear();
        free_at_ = sc_core::SC_ZERO_TIME;
        arrived_.cancel_all();
        leaving_.cancel_all();
        to_memory_.cancel_all();
    }
    void preload(unsigned long long address, bool dirty) {
        Line& line = place_of(address / kLine, false);
        line.valid = 0xf;
        line.dirty = dirty ? 0xf : 0;
    }
    void set_clock(double hertz) { settings_.hertz = hertz; }

  private:
    struct Line {
        unsigned long long number = 0;
        unsigned valid = 0, dirty = 0, pending = 0;  // sectors
    };
    using Set = std::vector<Line>;  // least recently used first

    sc_core::sc_time cycles(double count) const {
        return sc_core::sc_time(count / settings_.hertz, sc_core::SC_SEC);
    }

    /// The line, which becomes the most recently used; in the place of another where it was not there.
    Line& place_of(unsigned long long number, bool writes_back = true) {
        Set& set = sets_[number % sets_.size()];
        const auto found =
            std::find_if(set.begin(), set.end(), [&](const Line& line) { return line.number == number; });
        if (found != set.end()) {
            std::rotate(found, found + 1, set.end());
            return set.back();
        }
        const auto idle =
            std::find_if(set.begin(), set.end(), [](const Line& line) { return line.pending == 0; });
        if (set.size() >= settings_.ways && idle != set.end()) {
            if (idle->dirty != 0 && writes_back)
                fetch(idle->number, idle->dirty, tlm::TLM_WRITE_COMMAND, sc_core::SC_ZERO_TIME);
            set.erase(idle);
        }
        set.push_back({number});
        return set.back();
    }

    void fetch(unsigned long long line, unsigned sectors, tlm::tlm_command command,
               const sc_core::sc_time& delay) {
        if (free_.empty()) {
            fetches_.push_back(std::make_unique<Fetch>(free_));
            free_.push_back(fetches_.back().get());
        }
        Fetch& payload = *free_.back();
        free_.pop_back();
        payload.acquire();
        unsigned first = 0, end = 4;
        while ((sectors >> first & 1) == 0) ++first;
        while ((sectors >> (end - 1) & 1) == 0) --end;
        payload.set_command(command);
        payload.set_address(line * kLine + first * kSector);
        payload.set_data_length((end - first) * kSector);
        payload.set_streaming_width(payload.get_data_length());
        payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        to_memory_.notify(payload, delay);
    }

    tlm::tlm_sync_enum request(Payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay) {
        if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
        payload.acquire();
        arrived_.notify(payload, delay);
        phase = tlm::END_REQ;
        return tlm::TLM_UPDATED;
    }

    void serve() {
        while (Payload* const payload = arrived_.get_next_transaction()) take(*payload);
    }

    void take(Payload& payload) {
        const heddle::L2Extension& extension = *payload.get_extension<heddle::L2Extension>();
        const sc_core::sc_time now = sc_core::sc_time_stamp();
        const sc_core::sc_time begin = std::max(now, free_at_);
        free_at_ = begin + cycles(std::max(1.0, payload.get_data_length() / settings_.bytes_per_cycle));
        const unsigned long long number = payload.get_address() / kLine;
        Line& line = place_of(number);
        const unsigned wanted = extension.sectors;
        if (payload.is_write()) line.dirty |= wanted;
        const bool reads = payload.is_read() || extension.atomic;
        if (!reads) line.valid |= wanted;
        if ((wanted & ~line.valid) == 0) {
            leaving_.notify(payload, begin + cycles(settings_.latency + EXTRA_LATENCY) - now);
            return;
        }
        waiting_[number].push_back(&payload);
        const unsigned per_fill = std::max(1u, settings_.fill_bytes / kSector);
        unsigned absent = 0;
        for (unsigned first = 0; first < 4; first += per_fill) {
            const unsigned group = ((1u << per_fill) - 1) << first;
            if ((wanted & ~(line.valid | line.pending) & group) != 0) absent |= group;
        }
        absent &= 0xf & ~(line.valid | line.pending);
        if (absent == 0) return;
        // One transaction for each piece without a gap.
        line.pending |= absent;
        for (unsigned first = 0; first < 4;) {
            unsigned end = first;
            while (end < 4 && (absent >> end & 1) != 0) ++end;
            if (end > first)
                fetch(number, (1u << end) - (1u << first), tlm::TLM_READ_COMMAND,
                      begin + cycles(settings_.miss_latency + EXTRA_LATENCY) - now);
            first = end + 1;
        }
    }

    void ask_memory() {
        while (Payload* const payload = to_memory_.get_next_transaction()) {
            tlm::tlm_phase phase = tlm::BEGIN_REQ;
            sc_core::sc_time delay;
            memory->nb_transport_fw(*payload, phase, delay);  // Heddle accepts at once
        }
    }

    tlm::tlm_sync_enum filled(Payload& payload, tlm::tlm_phase& phase, sc_core::sc_time&) {
        if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
        if (payload.is_read()) deliver(payload);
        payload.release();
        phase = tlm::END_RESP;
        return tlm::TLM_COMPLETED;
    }

    void deliver(const Payload& payload) {
        const unsigned long long number = payload.get_address() / kLine;
        const unsigned first = payload.get_address() % kLine / kSector;
        const unsigned brought = ((1u << payload.get_data_length() / kSector) - 1) << first;
        Set& set = sets_[number % sets_.size()];
        const auto line =
            std::find_if(set.begin(), set.end(), [&](const Line& one) { return one.number == number; });
        if (line == set.end()) return;  // of a run that was given up
        line->valid |= brought;
        line->pending &= ~brought;
        std::vector<Payload*> left;
        for (Payload* const waiting : waiting_[number]) {
            if ((waiting->get_extension<heddle::L2Extension>()->sectors & ~line->valid) == 0)
                leaving_.notify(*waiting, cycles(settings_.fill_latency));
            else
                left.push_back(waiting);
        }
        if (left.empty())
            waiting_.erase(number);
        else
            waiting_[number] = left;
    }

    void answer() {
        while (Payload* const payload = leaving_.get_next_transaction()) {
            tlm::tlm_phase phase = tlm::BEGIN_RESP;
            sc_core::sc_time delay;
            payload->set_response_status(tlm::TLM_OK_RESPONSE);
            requests->nb_transport_bw(*payload, phase, delay);  // Heddle takes it at once
            payload->release();
        }
    }

    heddle::L2ModelSettings settings_;
    std::vector<Set> sets_;
    std::unordered_map<unsigned long long, std::vector<Payload*>> waiting_;  // by line: for sectors of memory
    sc_core::sc_time free_at_;                                               // of the data port
    tlm_utils::peq_with_get<Payload> arrived_, leaving_, to_memory_;
    std::vector<std::unique_ptr<Fetch>> fetches_;
    std::vector<Fetch*> free_;
};

class Model : public heddle::L2Model {
  public:
    Model(const std::string& name, const heddle::L2ModelSettings& settings) {
        for (unsigned i = 0; i < settings.slices; ++i)
            slices_.push_back(std::make_unique<Slice>((name + "_" + std::to_string(i)).c_str(), settings));
    }
    tlm::tlm_target_socket<>& requests(unsigned slice) override { return slices_[slice]->requests; }
    tlm::tlm_initiator_socket<>& memory(unsigned slice) override { return slices_[slice]->memory; }
    void reset() override {
        for (const auto& slice : slices_) slice->reset();
    }
    void preload(unsigned slice, unsigned long long address, bool dirty) override {
        slices_[slice]->preload(address, dirty);
    }
    void set_clock(double hertz) override {
        for (const auto& slice : slices_) slice->set_clock(hertz);
    }

  private:
    std::vector<std::unique_ptr<Slice>> slices_;
};

}  // namespace

extern "C" unsigned heddle_l2_version() {
    return heddle::kL2PluginVersion;
}

extern "C" heddle::L2Model* heddle_make_l2(const char* name, const heddle::L2ModelSettings* settings) {
    return new Model(name, *settings);
}
