// Collectives on an ideal network take the times of textbooks: Thakur, Rabenseifner, Gropp, "Optimization of
// Collective Communication Operations in MPICH" (2005), with alpha = latency and beta = 1 / bandwidth.
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/collective/collective.h"

namespace {

using namespace heddle;
using namespace heddle::sim;
using A = CollectiveAlgorithm;
using K = CollectiveKind;

constexpr double kBandwidth = 100e9;
constexpr std::uint64_t kBytes = 8 * 3 * 5 * 7 * 100000ull;  // every number of ranks below divides it

CollectiveTimer ideal(std::uint32_t ranks, double latency = 0) {
    return CollectiveTimer(
        load_cluster("ideal", {"devices_per_node=" + std::to_string(ranks), "nic.count=1",
                               "inside.latency=" + std::to_string(latency * 1e9) + " ns"}));
}

double seconds(CollectiveTimer& timer, K kind, A algorithm, std::uint64_t bytes = kBytes, bool fold = true) {
    CollectiveRequest request;
    request.kind = kind;
    request.bytes = bytes;
    request.type = "i8";
    request.algorithm = algorithm;
    request.fold = fold;
    return timer.time(request).seconds;
}

Approx exactly(double value) {
    return Approx(value).epsilon(1e-6).margin(0);
}

TEST_CASE("ring: 2(n-1)/n of the bytes and 2(n-1) latencies") {
    for (const std::uint32_t n : {2u, 3u, 4u, 5u, 7u, 8u}) {
        for (const double latency : {0.0, 1e-6}) {
            CollectiveTimer timer = ideal(n, latency);
            const double share = static_cast<double>(n - 1) / n * kBytes / kBandwidth + (n - 1) * latency;
            CHECK(seconds(timer, K::all_reduce, A::ring) == exactly(2 * share));
            CHECK(seconds(timer, K::all_gather, A::ring) == exactly(share));
            CHECK(seconds(timer, K::reduce_scatter, A::ring) == exactly(share));
        }
    }
}

TEST_CASE("recursive halving and doubling: the bytes of a ring, 2 log2 n latencies") {
    for (const std::uint32_t n : {2u, 4u, 8u, 16u}) {
        CollectiveTimer timer = ideal(n, 1e-6);
        const double bytes = 16 * 100000;
        const double share = (n - 1.0) / n * bytes / kBandwidth + std::log2(n) * 1e-6;
        CHECK(seconds(timer, K::all_reduce, A::halving_doubling, 1600000) == exactly(2 * share));
        CHECK(seconds(timer, K::all_gather, A::halving_doubling, 1600000) == exactly(share));
        CHECK(seconds(timer, K::reduce_scatter, A::halving_doubling, 1600000) == exactly(share));
    }
}

TEST_CASE("tree over nodes: a byte takes the latency of the way up and down") {
    for (const std::uint32_t nodes : {2u, 4u, 8u, 16u, 32u, 64u, 128u, 4096u}) {
        CollectiveTimer timer(
            load_cluster("ideal", {"nodes=" + std::to_string(nodes), "devices_per_node=1", "nic.count=1",
                                   "nic.latency=500 ns", "nic.bandwidth=1000 TB/s"}));
        CHECK(seconds(timer, K::all_reduce, A::tree, 8) == exactly(2 * std::log2(nodes) * 1e-6));
        CHECK(seconds(timer, K::broadcast, A::tree, 8) == exactly(std::log2(nodes) * 1e-6));
        CHECK(seconds(timer, K::reduce, A::tree, 8) == exactly(std::log2(nodes) * 1e-6));
    }
}

TEST_CASE("all-to-all and send-receive") {
    for (const std::uint32_t n : {2u, 4u, 5u, 8u}) {
        CollectiveTimer timer = ideal(n, 1e-6);
        CHECK(seconds(timer, K::all_to_all, A::direct) ==
              exactly((n - 1.0) / n * kBytes / kBandwidth + 1e-6));
        CHECK(seconds(timer, K::send_receive, A::direct) == exactly(kBytes / kBandwidth + 1e-6));
    }
}

TEST_CASE("in-switch reduction: every port carries 1 + 1/n of the bytes") {
    for (const std::uint32_t n : {2u, 4u, 8u}) {
        CollectiveTimer timer(load_cluster(
            "ideal", {"devices_per_node=" + std::to_string(n), "nic.count=1", "inside.reduction=true"}));
        CollectiveRequest request;
        request.bytes = kBytes;
        request.type = "f16";
        request.algorithm = A::in_switch;
        // Copies of the first chunk wait for its sums.
        CHECK(timer.time(request).seconds > (1 + 1.0 / n) * kBytes / kBandwidth);
        CHECK(timer.time(request).seconds < (1 + 1.0 / n) * kBytes / kBandwidth * 9 / 8);
        CollectiveTimer chunked(load_cluster("ideal", {"devices_per_node=" + std::to_string(n), "nic.count=1",
                                                       "inside.reduction=true", "simple.chunk=4200 B"}));
        CHECK(chunked.time(request).seconds == Approx((1 + 1.0 / n) * kBytes / kBandwidth).epsilon(0.01));
    }
}

TEST_CASE("a torus of d dimensions carries an all-reduce over all 2d links of a device") {
    CollectiveTimer timer(load_cluster(
        "ideal", {"inside.fabric=torus", "network.topology=none", "nodes=64", "devices_per_node=1",
                  "nic.count=1", "torus.x=4", "torus.y=4", "torus.z=4", "simple.chunk=20000 B"}));
    CollectiveRequest request;
    request.bytes = 6 * 64 * 10000;
    request.type = "i8";
    request.algorithm = A::torus;
    const double bound = 2.0 * 63 / 64 * request.bytes / (6 * kBandwidth);
    const double time = timer.time(request).seconds;
    CHECK(time >= bound * (1 - 1e-6));
    CHECK(time < 1.6 * bound);
    request.algorithm = A::ring;
    CHECK(timer.time(request).seconds > 5 * bound);  // one link of the six
}

TEST_CASE("all-reduce is a reduce-scatter and an all-gather") {
    CollectiveTimer timer = ideal(6, 1e-7);
    CHECK(seconds(timer, K::all_reduce, A::ring) ==
          exactly(seconds(timer, K::all_gather, A::ring) + seconds(timer, K::reduce_scatter, A::ring)));
}

}  // namespace
