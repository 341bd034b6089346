#include "models/memory/memory_channel.h"

#include <catch2/catch.hpp>
#include <random>

#include "memory_test_bench.h"

using namespace heddle::models;

namespace {

struct Bench {
    ClockDomain clock{"clock", 1.755e9};
    MemoryConfig config;
    MemoryChannel channel;
    Requester requester{"requester", clock};
    explicit Bench(const MemoryConfig& c = {}) : config(c), channel("channel", clock, c, 0, 0, 1) {
        requester.target.bind(channel.requests);
        channel.responses.bind(requester.responses);
    }
    void add(Cycle at, RequestKind kind, std::uint32_t row) {
        MemoryRequest request;
        request.kind = kind;
        request.sectors = kWholeLine;
        request.tag = row;
        request.wants_data = true;
        requester.plans.push_back({at, request});
    }
    Cycle run() {
        clock.restart();
        channel.reset();
        requester.wake(1);
        return clock.run();
    }
};

}  // namespace

TEST_CASE("an idle channel answers after its latency, an open row sooner") {
    MemoryConfig config;
    config.latency = 214e-9;
    config.refresh_duration = 0;
    Bench bench(config);
    bench.add(1000, RequestKind::load, 0);
    bench.add(3000, RequestKind::load, 1);  // the same row of 8 lines
    bench.run();
    REQUIRE(bench.requester.answers.size() == 2);
    REQUIRE(bench.requester.answers[0].at == 1000 + 376);       // 214 ns at 1.755 GHz
    REQUIRE(bench.requester.answers[1].at == 3000 + 376 - 49);  // tRP + tRCD = 28 ns less
}

TEST_CASE("a stream of reads gets the peak bandwidth less refresh") {
    Bench bench;
    constexpr std::uint32_t kLines = 20000;
    for (std::uint32_t i = 0; i < kLines; ++i) bench.add(2 + i / 4, RequestKind::load, i);
    const Cycle end = bench.run();
    const double bytes_per_cycle = kLines * 128.0 / static_cast<double>(end);
    const double peak = 3.35e12 / 40 / 1.755e9;
    REQUIRE(bytes_per_cycle / peak == Approx(1 - 12.0 / 244).epsilon(0.01));
}

TEST_CASE("rows that alternate in one bank are bounded by the row cycle") {
    MemoryConfig config;
    config.banks = 1;
    config.reorder_rows = 1;
    config.refresh_duration = 0;
    Bench bench(config);
    constexpr std::uint32_t kReads = 1000;
    for (std::uint32_t i = 0; i < kReads; ++i) bench.add(2 + i, RequestKind::load, i * 8);
    const Cycle end = bench.run();
    REQUIRE(static_cast<double>(end) == Approx(kReads * 45e-9 * 1.755e9).epsilon(0.02));
}

TEST_CASE("mixed reads and writes lose a turnaround per batch of writes") {
    MemoryConfig config;
    config.refresh_duration = 0;
    Bench bench(config);
    constexpr std::uint32_t kLines = 12800;
    for (std::uint32_t i = 0; i < kLines; ++i) {
        bench.add(2 + i / 2, i % 2 == 0 ? RequestKind::load : RequestKind::write_back, i);
    }
    const Cycle end = bench.run();
    const double peak = 3.35e12 / 40 / 1.755e9;
    // 64 reads and 64 writes in turn, with two turnarounds of 10 ns.
    const double expected = kLines * 128 / peak + kLines / 128 * 2 * 10e-9 * 1.755e9;
    REQUIRE(static_cast<double>(end) == Approx(expected).epsilon(0.02));
    REQUIRE(bench.requester.answers.size() == kLines);
    REQUIRE(bench.channel.statistics().write_bytes == kLines / 2 * 128);
    REQUIRE(bench.channel.statistics().read_bytes == kLines / 2 * 128);
}
