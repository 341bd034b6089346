// The bridge to TLM-2.0 models, with targets of both styles that are linked to the test.
#include "models/memory/tlm_memory.h"

#include <tlm_utils/peq_with_get.h>
#include <tlm_utils/simple_target_socket.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "isa/common/error.h"
#include "memory_test_bench.h"
#include "models/memory/model_library.h"

using namespace heddle;
using namespace heddle::models;

namespace {

/// Answers each transaction 100 ns after it came, any number at a time.
class Target : public sc_core::sc_module {
  public:
    SC_HAS_PROCESS(Target);
    tlm_utils::simple_target_socket<Target> socket;
    Target(const sc_core::sc_module_name& name, bool blocking, bool ticks)
        : sc_module(name), socket("socket"), queue_("queue") {
        if (blocking) {
            socket.register_b_transport(this, &Target::transport);
        } else {
            socket.register_nb_transport_fw(this, &Target::request);
            SC_METHOD(respond);
            sensitive << queue_.get_event();
            dont_initialize();
        }
        if (ticks) SC_THREAD(tick);
    }
    std::vector<std::uint64_t> addresses;
    std::uint64_t bytes = 0;

  private:
    void note(const tlm::tlm_generic_payload& payload) {
        addresses.push_back(payload.get_address());
        bytes += payload.get_data_length();
    }
    void transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
        note(payload);
        delay += sc_core::sc_time(100, sc_core::SC_NS);
    }
    tlm::tlm_sync_enum request(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time&) {
        if (phase != tlm::BEGIN_REQ) return tlm::TLM_ACCEPTED;
        note(payload);
        payload.acquire();
        queue_.notify(payload, sc_core::sc_time(100, sc_core::SC_NS));
        phase = tlm::END_REQ;
        return tlm::TLM_UPDATED;
    }
    void respond() {
        while (tlm::tlm_generic_payload* payload = queue_.get_next_transaction()) {
            tlm::tlm_phase phase = tlm::BEGIN_RESP;
            sc_core::sc_time delay;
            socket->nb_transport_bw(*payload, phase, delay);
            payload->release();
        }
    }
    void tick() {  // a model with a clock never comes to rest
        for (;;) wait(1, sc_core::SC_NS);
    }
    tlm_utils::peq_with_get<tlm::tlm_generic_payload> queue_;
};

void check_bridge(bool blocking, bool ticks, bool every_cycle = false) {
    ClockDomain clock("clock", 2e9);
    MemoryConfig config;
    TlmMemoryChannel channel("channel", clock, config, 0, 0, 1, blocking);
    Target target("target", blocking, ticks);
    Requester requester("requester", clock);
    requester.target.bind(channel.requests);
    channel.responses.bind(requester.responses);
    channel.socket.bind(target.socket);
    constexpr std::uint32_t kRequests = 50;
    for (std::uint32_t i = 0; i < kRequests; ++i) {
        MemoryRequest request;
        request.kind = i % 5 == 4 ? RequestKind::write_back : RequestKind::load;
        request.sectors = i % 2 == 0 ? kWholeLine : SectorMask{4};  // the third sector: bytes 64 to 95
        request.tag = i;
        request.wants_data = true;
        requester.plans.push_back({10 + 3 * i, request});
    }
    clock.set_tick_every_cycle(every_cycle);
    clock.restart();
    channel.reset();
    requester.wake(1);
    clock.run();
    REQUIRE(requester.answers.size() == kRequests);
    for (std::uint32_t i = 0; i < kRequests; ++i) {
        // 100 ns are 200 cycles of 2 GHz; the first cycle after that looks, and the answer takes a cycle.
        CHECK(requester.answers[i].tag == i);
        CHECK(requester.answers[i].at == 10 + 3 * i + 200 + 2);
        CHECK(target.addresses[i] == i * 128 + (i % 2 == 0 ? 0 : 64));
    }
    CHECK(target.bytes == kRequests / 2 * (128 + 64));
    CHECK(channel.statistics().read_requests == 40);
    CHECK(channel.statistics().write_requests == 10);
}

std::string error_of(const std::string& path) {
    try {
        load_dram_model(path, "model", {1, 1e9, 64});
    } catch (const Error& error) {
        return error.problem();
    }
    return "no error";
}

}  // namespace

TEST_CASE("requests become transactions of a loosely timed model, and its delay becomes cycles") {
    check_bridge(true, false);
}

TEST_CASE("requests become transactions of a model with phases, in the same cycles") {
    check_bridge(false, false);
}

TEST_CASE("a model with a clock of its own does not keep a run from ending") {
    check_bridge(false, true);
}

TEST_CASE("a bridge that is looked at in every cycle answers in the same") {
    check_bridge(true, false, true);
}

TEST_CASE("a DRAM model that cannot be used is refused in one line") {
    using Catch::Contains;
    CHECK_THAT(error_of("/nowhere/model.so"), Contains("there is no file /nowhere/model.so"));
    const std::string text = "not_a_library.so";
    std::ofstream(text) << "nothing\n";
    CHECK_THAT(error_of(text), Contains("cannot be loaded"));
    // A library that is something else.
    CHECK_THAT(error_of(HEDDLE_OTHER_LIBRARY), Contains("does not export `heddle_dram_version`"));
    CHECK_THAT(error_of(HEDDLE_OLD_DRAM_MODEL), Contains("version 0 of the interface"));
    CHECK(error_of(HEDDLE_DRAM_MODEL) == "no error");
}
