#include "models/memory/l2_slice.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "memory_test_bench.h"
#include "models/memory/memory_channel.h"

using namespace heddle::models;

namespace {

constexpr std::uint32_t kCrossbar = 69;  // one way to the requester

/// One slice of one, so that a line's row is its number.
struct Bench {
    ClockDomain clock{"clock", 1.755e9};
    MemoryRequestPool pool;
    L2Config config;
    MemoryConfig memory;
    L2Slice slice;
    MemoryChannel channel;
    Requester requester{"requester", clock};

    static L2Config small(L2Config c) {
        c.slices = 1;
        c.partitions = 1;
        return c;
    }
    static MemoryConfig quiet() {
        MemoryConfig c;
        c.refresh = RefreshPolicy::none;
        c.pseudo_channels = 1;  // at the rate of one channel
        c.latency = 214e-9;
        c.channels = 1;
        c.bandwidth = 3.35e12 / 40;
        return c;
    }
    explicit Bench(std::uint64_t bytes, L2Config c = {})
        : config(small(c)),
          memory(quiet()),
          slice("slice", clock, with_bytes(config, bytes), kCrossbar, 0, memory.burst_bytes, pool),
          channel("channel", clock, memory, 0, 0, 1) {
        slice.responses.bind(requester.responses);
        slice.memory_requests.bind(channel.requests);
        channel.responses.bind(slice.memory_responses);
        requester.target.bind(slice.requests);
    }
    static L2Config with_bytes(L2Config c, std::uint64_t bytes) {
        c.bytes = bytes;
        return c;
    }
    void add(Cycle at, RequestKind kind, std::uint64_t line, LinesMask sectors = kWholeLine,
             bool data = true) {
        MemoryRequest request;
        request.kind = kind;
        request.line = request.key = static_cast<std::uint32_t>(line);
        request.sectors = sectors;
        request.wants_data = data;
        request.atomic_conflicts = 1;
        request.tag = static_cast<std::uint32_t>(requester.plans.size());
        requester.plans.push_back({at, request});
    }
    Cycle run() {
        clock.restart();
        slice.reset();
        channel.reset();
        return go();
    }
    Cycle go() {
        requester.wake(1);
        return clock.run();
    }
};

/// The same lines, four in a request and one by one.
void compare_requests(RequestKind kind) {
    Bench one(1 << 20), four(1 << 20);
    for (std::uint64_t chunk = 0; chunk < 2000; ++chunk) {
        const std::uint64_t line = 4 * (chunk % 1500);  // again what was there
        const Cycle at = 100 + 40 * chunk;
        one.add(at, kind, line, 0xffff, kind == RequestKind::load);
        for (std::uint64_t i = 0; i < 4; ++i)
            four.add(at, kind, line + i, kWholeLine, kind == RequestKind::load);
    }
    one.run();
    four.run();
    const L2SliceStatistics a = one.slice.statistics(), b = four.slice.statistics();
    CHECK(a.requests == b.requests);
    CHECK(a.answers == b.answers);
    CHECK(a.hit_sectors == b.hit_sectors);
    CHECK(a.fill_sectors == b.fill_sectors);
    CHECK(a.store_sectors == b.store_sectors);
    CHECK(a.write_back_sectors == b.write_back_sectors);
    CHECK(a.busy_cycles == b.busy_cycles);
    CHECK(one.channel.statistics().read_bytes == four.channel.statistics().read_bytes);
    CHECK(one.channel.statistics().write_bytes == four.channel.statistics().write_bytes);
    CHECK(one.requester.acknowledgements.size() == four.requester.acknowledgements.size());
    if (kind != RequestKind::load) return;
    REQUIRE(one.requester.answers.size() == 2000);
    std::vector<Cycle> last(2000, 0);  // by chunk
    for (const auto& answer : four.requester.answers)
        last[answer.tag / 4] = std::max(last[answer.tag / 4], answer.at);
    double early = 0;
    for (const auto& answer : one.requester.answers)
        early += static_cast<double>(last[answer.tag]) - static_cast<double>(answer.at);
    CHECK(std::abs(early) / 2000 < 10);
}

}  // namespace

TEST_CASE("a hit takes the slice's latency, a miss that of memory as well") {
    Bench bench(1 << 20);
    bench.add(100, RequestKind::load, 5);
    bench.add(5000, RequestKind::load, 5);
    bench.run();
    const L2Config& c = bench.config;
    const Cycle memory = 376 + 3;  // 214 ns for 64 bytes, and two bursts more, tCCD_L apart, of 0.67 cycles
    REQUIRE(static_cast<double>(bench.requester.answers.at(0).at) ==
            Approx(100 + c.miss_latency + memory + c.fill_latency + kCrossbar).margin(2));
    REQUIRE(bench.requester.answers.at(1).at == 5000 + c.latency + kCrossbar);
    REQUIRE(bench.slice.statistics().fill_sectors == 4);
    REQUIRE(bench.slice.statistics().hit_sectors == 4);
}

TEST_CASE("loads of a line under way wait for it and ask memory once") {
    Bench bench(1 << 20);
    for (Cycle i = 0; i < 20; ++i) bench.add(100 + i, RequestKind::load, 5);
    bench.run();
    REQUIRE(bench.requester.answers.size() == 20);
    for (const auto& answer : bench.requester.answers) REQUIRE(answer.at == bench.requester.answers[0].at);
    REQUIRE(bench.channel.statistics().read_bytes == 128);
    REQUIRE(bench.slice.statistics().merged_sectors == 19 * 4);
}

TEST_CASE("memory is read in bursts of two sectors") {
    Bench bench(1 << 20);
    bench.add(100, RequestKind::load, 5, 0x2);
    bench.add(5000, RequestKind::load, 5, 0x1);
    bench.add(9000, RequestKind::load, 5, 0x4);
    bench.run();
    REQUIRE(bench.channel.statistics().read_bytes == 2 * 64);
    REQUIRE(bench.slice.statistics().hit_sectors == 1);
}

TEST_CASE("dirty lines are written back when evicted, each once, and clean ones never") {
    constexpr std::uint64_t kLines = 64;
    Bench bench(kLines * kLineBytes);
    for (std::uint64_t i = 0; i < 10 * kLines; ++i)
        bench.add(100 + 50 * i, RequestKind::store, i, kWholeLine, false);
    bench.run();
    const L2SliceStatistics s = bench.slice.statistics();
    // Sets are hashed: every line beyond the capacity evicts one, at least once all sets are full.
    REQUIRE(s.write_back_sectors / 4 >= 9 * kLines);
    REQUIRE(s.write_back_sectors / 4 <= 10 * kLines);
    REQUIRE(s.fill_sectors == 0);
    REQUIRE(bench.requester.acknowledgements.size() == 10 * kLines);
}

TEST_CASE("four lines in one load are what four loads are, answered with the last") {
    compare_requests(RequestKind::load);
}

TEST_CASE("four lines in one store are what four stores are") {
    compare_requests(RequestKind::store);
}

TEST_CASE("requests of some sectors of some lines are each answered once, however they meet") {
    std::mt19937 random(1);
    L2Config config;
    config.mshrs = 12;
    config.write_backs = 6;
    config.ways = 4;
    Bench bench(64 * kLineBytes, config);
    constexpr std::uint64_t kRequests = 20000;
    std::uint64_t lines = 0, loads = 0, stores = 0;
    for (std::uint64_t i = 0; i < kRequests; ++i) {
        const bool load = random() % 3 != 0;
        const std::uint64_t chunk = random() % 40, first = random() % 4;
        auto sectors = static_cast<LinesMask>(random() & (0xffffu >> 4 * first));
        if ((sectors & kWholeLine) == 0) sectors |= 1;
        lines += line_count(sectors);
        (load ? loads : stores) += load ? 1 : line_count(sectors);
        bench.add(100 + 3 * i, load ? RequestKind::load : RequestKind::store, 4 * chunk + first, sectors,
                  load);
    }
    bench.run();
    const L2SliceStatistics s = bench.slice.statistics();
    CHECK(bench.requester.answers.size() == loads);
    CHECK(bench.requester.acknowledgements.size() == stores);
    CHECK(s.requests == lines);
    CHECK(s.answers == lines);
    CHECK(s.stalls > 100);
    CHECK(s.merged_sectors > 100);
    CHECK(s.fill_sectors == bench.channel.statistics().read_sectors);
    CHECK(s.write_back_sectors == bench.channel.statistics().write_sectors);
    CHECK(bench.pool.in_use() == 0);
    std::vector<bool> seen(kRequests, false);
    for (const auto& answer : bench.requester.answers) {
        CHECK(!seen[answer.tag]);
        seen[answer.tag] = true;
    }
}

TEST_CASE("stores faster than memory writes are held back to its pace") {
    L2Config config;
    config.bytes_per_cycle = 1024;
    Bench bench(64 * kLineBytes, config);
    constexpr std::uint64_t kLines = 20000;
    for (std::uint64_t i = 0; i < kLines; ++i) bench.add(100 + i, RequestKind::store, i, kWholeLine, false);
    bench.run();
    const double peak = 3.35e12 / 40 / 1.755e9;
    const auto last = static_cast<double>(bench.slice.statistics().last_store);
    REQUIRE(last == Approx(kLines * 128 / peak).epsilon(0.02));  // the bus never turns round
    REQUIRE(bench.slice.statistics().stalls > 0);
}

TEST_CASE("few miss registers limit the misses in flight") {
    L2Config config;
    config.mshrs = 4;
    Bench bench(1 << 20, config);
    for (std::uint64_t i = 0; i < 400; ++i) bench.add(100 + i, RequestKind::load, i * 1000);
    const Cycle end = bench.run();
    // Four misses per round trip of memory: latency to the channel and in it.
    const double round_trip = config.miss_latency + 376;
    REQUIRE(static_cast<double>(end) == Approx(400 / 4 * round_trip).epsilon(0.03));
}

TEST_CASE("looking at every cycle gives the same answers") {
    Bench normal(64 * kLineBytes), every_cycle(64 * kLineBytes);  // both before the one elaboration
    every_cycle.clock.set_tick_every_cycle(true);
    for (Bench* bench : {&normal, &every_cycle}) {
        for (std::uint64_t i = 0; i < 2000; ++i) {
            const std::uint64_t mixed = mix_bits(i);
            const RequestKind kind = mixed % 3 == 0   ? RequestKind::store
                                     : mixed % 7 == 0 ? RequestKind::atomic
                                                      : RequestKind::load;
            bench->add(100 + i, kind, mixed / 8 % 200, static_cast<SectorMask>(1 + mixed / 4096 % 15),
                       mixed % 3 != 0);
        }
        bench->run();
    }
    const auto& a = normal.requester.answers;
    const auto& b = every_cycle.requester.answers;
    REQUIRE(a.size() > 1000);
    REQUIRE(a.size() == b.size());
    for (std::size_t i = 0; i < a.size(); ++i) REQUIRE((a[i].at == b[i].at && a[i].tag == b[i].tag));
}
