// The event-driven controller against one that looks at everything in every cycle.
#include "models/memory/pseudo_channel.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "reference_dram.h"

using namespace heddle::models;

namespace {

struct Kind {
    const char* name;
    double write_part;   ///< of the requests
    std::uint32_t rows;  ///< 1: everything hits
    unsigned gap;        ///< mean slots between arrivals
};

/// Both controllers get the same requests and must end each at the same slot.
void compare(const MemoryConfig& config, const Kind& kind, unsigned seed) {
    INFO(kind.name << ", seed " << seed);
    const DramBursts timing = in_bursts(config.timing, config.bursts_per_second());
    PseudoChannel channel(config, timing, 0.3);
    ReferenceDram reference(config, timing, 0.3);
    std::mt19937 random(seed);
    constexpr std::uint32_t kRequests = 300;
    std::vector<MemoryRequest> requests(kRequests);
    std::vector<Slot> ends(kRequests, 0);
    std::uint32_t sent = 0, answered = 0;
    Slot next_arrival = 0;
    std::uint32_t row = 0, bank = 0;
    for (Slot now = 1; answered < kRequests; ++now) {
        REQUIRE(now < 1'000'000);
        bool arrives = false;
        while (sent < kRequests && next_arrival <= now) {
            if (random() % 3 == 0) {
                row = random() % kind.rows;
                bank = random() % config.banks_in_all();
            }
            const bool write = random() % 1000 < kind.write_part * 1000;
            const std::uint32_t lines = random() % 4 == 0 ? 1 + random() % 4 : 1;
            const std::uint32_t bursts = lines + random() % (3 * lines + 1);
            requests[sent].tag = sent;
            channel.arrive({&requests[sent], row, bank, bursts, write, lines}, now);
            reference.arrive({sent, row, bank, bursts, write, lines}, now);
            ++sent;
            arrives = true;
            next_arrival += random() % (2 * kind.gap + 1) + (random() % 100 == 0 ? 400 : 0);
        }
        if (arrives || channel.next_decision() <= now) {
            PseudoChannel::Served served{};
            while (channel.serve(now, served)) {
                if (served.request == nullptr) continue;  // a piece of it
                ends[served.request->tag] = served.end;
                ++answered;
            }
        }
        reference.cycle(now);
    }
    REQUIRE(reference.answers.size() == kRequests);
    for (const ReferenceDram::Answer& answer : reference.answers) {
        INFO("request " << answer.id);
        REQUIRE(ends[answer.id] == answer.end);
    }
}

void compare_all(const MemoryConfig& config) {
    for (unsigned seed = 1; seed <= 3; ++seed) {
        compare(config, {"reads of few rows", 0, 3, 2}, seed);
        compare(config, {"reads anywhere", 0, 1000, 3}, seed);
        compare(config, {"half writes", 0.5, 4, 3}, seed);
        compare(config, {"writes", 1, 20, 4}, seed);
        compare(config, {"few", 0.3, 5, 60}, seed);
    }
}

}  // namespace

TEST_CASE("every request ends when a controller that looks at every cycle ends it: HBM3, adaptive rows") {
    compare_all({});
}

TEST_CASE("every request ends when a controller that looks at every cycle ends it: open rows, bank by bank") {
    MemoryConfig config;
    config.row_policy = RowPolicy::open;
    config.refresh = RefreshPolicy::per_bank;
    config.bank_groups = 4;
    compare_all(config);
}

TEST_CASE(
    "every request ends when a controller that looks at every cycle ends it: closed rows, short queues") {
    MemoryConfig config;
    config.row_policy = RowPolicy::closed;
    config.refresh = RefreshPolicy::none;
    config.read_queue = 8;
    config.write_queue = 8;
    config.write_high = 6;
    config.batch = 4;
    config.starvation = 100e-9;
    config.timing.ccd_l = 3;
    compare_all(config);
}
