// Flow level beside chunk level: random transfers on random small networks, and what both must say where the
// answer is known.
#include <catch2/catch.hpp>
#include <random>

#include "models/network/chunk_network.h"
#include "models/network/flow_network.h"

namespace {

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::network;

/// Every transfer has a worker that sends and one that receives.
struct Transfers {
    Schedule schedule;
    std::vector<Link> links;

    void add(std::vector<LinkId> way, std::uint64_t bytes, std::uint64_t latency = 0) {
        const auto from = static_cast<std::uint32_t>(schedule.workers.size()), to = from + 1;
        const auto connection = static_cast<std::uint32_t>(schedule.connections.size());
        schedule.connections.push_back({from, to, std::move(way), latency, 0});
        Operation send, receive;
        send.bytes = receive.bytes = bytes;
        send.send[0] = receive.receive[0] = connection;
        schedule.workers.push_back({from, {send}});
        schedule.workers.push_back({to, {receive}});
    }
};

Transfers on_links(std::vector<double> bandwidths) {
    Transfers t;
    t.schedule.send_rate = t.schedule.receive_rate = t.schedule.reduce_rate = 1e18;
    for (const double bandwidth : bandwidths) t.links.push_back({LinkKind::device_out, bandwidth, 0, 0});
    return t;
}

TEST_CASE("flows share a link evenly, and what one leaves goes to the others") {
    // Bertsekas and Gallager, "Data Networks", 6.5.2: three links in a row, one long message and three short
    // ones.
    Transfers t = on_links({10e9, 10e9, 20e9});
    t.add({0, 1, 2}, 5'000'000'000);
    t.add({0}, 5'000'000'000);
    t.add({1}, 5'000'000'000);
    t.add({2}, 5'000'000'000);
    // 5 GB/s for all on links 0 and 1; the last has 15 GB/s of link 2 and ends after a third of a second.
    CHECK(run_flows(t.schedule, t.links).seconds == Approx(1.0).epsilon(1e-7));
    Transfers alone = on_links({10e9, 10e9, 20e9});
    alone.add({0, 1, 2}, 5'000'000'000);
    alone.add({2}, 30'000'000'000);
    // 10 GB/s each for half a second, then 20 GB/s for what is left of 25 GB.
    CHECK(run_flows(alone.schedule, alone.links).seconds == Approx(0.5 + 25.0 / 20).epsilon(1e-7));
}

TEST_CASE("flow level and chunk level agree on random transfers within 5 per cent, 1 on average") {
    constexpr std::size_t kLinks = 8;
    ChunkNetwork chunks(kLinks);
    std::mt19937 random(20);
    double worst = 0, sum = 0;
    constexpr int kCases = 60;
    for (int i = 0; i < kCases; ++i) {
        std::vector<double> bandwidths;
        for (std::size_t l = 0; l < kLinks; ++l)
            bandwidths.push_back(std::uniform_real_distribution<double>(5e9, 50e9)(random));
        Transfers t = on_links(bandwidths);
        const int count = std::uniform_int_distribution<int>(1, 12)(random);
        for (int k = 0; k < count; ++k) {
            std::vector<LinkId> way;
            const auto hops = std::uniform_int_distribution<std::size_t>(1, 4)(random);
            while (way.size() < hops) {
                const auto link = std::uniform_int_distribution<LinkId>(0, kLinks - 1)(random);
                if (std::find(way.begin(), way.end(), link) == way.end()) way.push_back(link);
            }
            t.add(way, std::uniform_int_distribution<std::uint64_t>(1 << 20, 16 << 20)(random), 1000000);
        }
        const double flow = run_flows(t.schedule, t.links).seconds,
                     chunk = chunks.run(t.schedule, t.links).seconds;
        // No schedule can beat the busiest link.
        std::vector<double> load(kLinks, 0);
        for (std::size_t k = 0; k < t.schedule.connections.size(); ++k)
            for (const LinkId link : t.schedule.connections[k].links)
                load[link] +=
                    static_cast<double>(t.schedule.workers[2 * k].operations[0].bytes) / bandwidths[link];
        const double bound = *std::max_element(load.begin(), load.end());
        CHECK(flow >= bound);
        CHECK(chunk >= bound);
        INFO("case " << i << ": flow " << flow << ", chunk " << chunk << ", busiest link " << bound);
        CHECK(std::fabs(chunk / flow - 1) < 0.05);
        worst = std::max(worst, std::fabs(chunk / flow - 1));
        sum += std::fabs(chunk / flow - 1);
    }
    INFO("mean " << sum / kCases << ", worst " << worst);
    CHECK(sum / kCases < 0.01);
}

TEST_CASE("the same transfers take the same time again, to the picosecond") {
    ChunkNetwork chunks(4);
    Transfers t = on_links({10e9, 20e9, 7e9, 3e9});
    for (LinkId k = 0; k < 9; ++k) t.add({k % 4, (k + 1) % 4}, 1000003 * (k + 1), 5000 * k);
    const RunOutcome first = chunks.run(t.schedule, t.links), second = chunks.run(t.schedule, t.links);
    CHECK(first.seconds == second.seconds);
    CHECK(first.carried == second.carried);
    CHECK(run_flows(t.schedule, t.links).seconds == run_flows(t.schedule, t.links).seconds);
}

TEST_CASE("a full queue pushes back on one sender and leaves others alone") {
    // The first message is held up by a slow second link; the other shares only the first link and loses next
    // to nothing.
    ChunkNetwork chunks(2);
    Transfers t = on_links({10e9, 1e9});
    t.add({0, 1}, 10'000'000);
    t.add({0}, 90'000'000);
    const double seconds = chunks.run(t.schedule, t.links).seconds;
    CHECK(seconds == Approx(0.01).epsilon(0.02));
}

TEST_CASE("bytes are conserved: every link of a way carries the message") {
    ChunkNetwork chunks(3);
    Transfers t = on_links({10e9, 20e9, 30e9});
    t.add({0, 2}, 12345678);
    t.add({1}, 333);
    const std::vector<double> expected{12345678, 333, 12345678};
    CHECK(chunks.run(t.schedule, t.links).carried == expected);
    CHECK(run_flows(t.schedule, t.links).carried == expected);
}

}  // namespace
