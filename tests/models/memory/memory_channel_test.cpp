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
    config.refresh = RefreshPolicy::none;
    config.row_policy = RowPolicy::open;
    Bench bench(config);
    bench.add(1000, RequestKind::load, 0);
    bench.add(3000, RequestKind::load, 0);  // the same row
    bench.run();
    REQUIRE(bench.requester.answers.size() == 2);
    // 211 ns at 1.755 GHz for the two bursts of 64 bytes; the line's other two follow, two bursts apart each:
    // 4 bursts of 32 B / 20.9 GB/s = 1.53 ns, 2.68 cycles.
    const auto first = static_cast<double>(bench.requester.answers[0].at);
    CHECK(first == Approx(1000 + 370.3 + 4 * 2.68).margin(4));
    // tRCD = 16 ns, in whole bursts 11 x 1.53 ns, is saved.
    CHECK(static_cast<double>(bench.requester.answers[1].at) == Approx(first + 2000 - 11 * 2.68).margin(3));
}

void check_stream(RequestKind kind) {
    MemoryConfig config;
    config.refresh = RefreshPolicy::per_bank;
    Bench bench(config);
    constexpr std::uint32_t kLines = 20000;
    for (std::uint32_t i = 0; i < kLines; ++i) bench.add(2 + i / 4, kind, i);
    const Cycle end = bench.run();
    const double bytes_per_cycle = kLines * 128.0 / static_cast<double>(end);
    const double peak = 3.35e12 / 40 / 1.755e9;
    CHECK(bytes_per_cycle / peak > 0.97);
    CHECK(bytes_per_cycle / peak < 0.995);
}

// gpu-benches, gpu-stream and cuda-stream: writes 895 of 900, 679 of 696, 2016 of 2040 GB/s.
TEST_CASE("a stream of reads gets 97 to 99 % of the peak") {
    check_stream(RequestKind::load);
}

TEST_CASE("a stream of writes gets 97 to 99 % of the peak") {
    check_stream(RequestKind::write_back);
}

TEST_CASE("rows that alternate in one bank are bounded by the row cycle") {
    MemoryConfig config;
    config.pseudo_channels = config.bank_groups = config.banks = 1;
    config.bandwidth /= 4;  // of one pseudo channel of four
    config.read_queue = 1;
    config.refresh = RefreshPolicy::none;
    Bench bench(config);
    constexpr std::uint32_t kReads = 1000;
    for (std::uint32_t i = 0; i < kReads; ++i) bench.add(2 + i, RequestKind::load, i * 8);
    const Cycle end = bench.run();
    REQUIRE(static_cast<double>(end) ==
            Approx(kReads * 33 * 1.5284e-9 * 1.755e9).epsilon(0.02));  // 49 ns: 33 bursts
}

TEST_CASE("refresh of all banks takes its part of the time") {
    MemoryConfig config;
    config.refresh = RefreshPolicy::all_bank;
    Bench bench(config);
    constexpr std::uint32_t kLines = 40000;
    for (std::uint32_t i = 0; i < kLines; ++i) bench.add(2 + i / 4, RequestKind::load, i);
    const Cycle end = bench.run();
    const double part = kLines * 128.0 / static_cast<double>(end) / (3.35e12 / 40 / 1.755e9);
    // 230 ns of each 3.9 us, and the pipe empties and fills again: at most tRP + tRCD + tCL and the last
    // read.
    CHECK(part < 1 - 230.0 / 3900);
    CHECK(part > 1 - (230.0 + 16 + 16 + 16 + 30) / 3900);
}

TEST_CASE("a copy loses the turnarounds of the bus") {
    // gpu-benches, copies: V100 802 of 900, H100 PCIe 1704 of 2040, A40 652 of 696 GB/s: 84 to 94 %.
    MemoryConfig config;
    config.refresh = RefreshPolicy::per_bank;
    Bench bench(config);
    constexpr std::uint32_t kLines = 20000;
    for (std::uint32_t i = 0; i < kLines; ++i)
        bench.add(2 + i / 2, i % 2 == 0 ? RequestKind::load : RequestKind::write_back,
                  i % 2 == 0 ? i / 2 : 5'000'000 + i / 2);
    const Cycle end = bench.run();
    const double part = kLines * 128.0 / static_cast<double>(end) / (3.35e12 / 40 / 1.755e9);
    CHECK(part > 0.83);
    CHECK(part < 0.96);
    REQUIRE(bench.requester.answers.size() == kLines);
    REQUIRE(bench.channel.statistics().write_bytes == kLines / 2 * 128);
    REQUIRE(bench.channel.statistics().read_bytes == kLines / 2 * 128);
}
