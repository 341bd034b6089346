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

TEST_CASE("all-to-all over tori: hops of all messages over all links") {
    // In a ring of odd length n the distances from a device add up to (n^2 - 1) / 4, half in each direction;
    // in d dimensions each link carries (n^2 - 1) / 8 / n of a device's bytes. Every link carries the same.
    struct Torus {
        unsigned n, dimensions;
    };
    for (const Torus torus : {Torus{5, 1}, Torus{3, 2}, Torus{5, 2}, Torus{3, 3}}) {
        const unsigned y = torus.dimensions > 1 ? torus.n : 1, z = torus.dimensions > 2 ? torus.n : 1;
        CollectiveTimer timer(load_cluster(
            "ideal",
            {"inside.fabric=torus", "network.topology=none", "nodes=" + std::to_string(torus.n * y * z),
             "devices_per_node=1", "nic.count=1", "torus.x=" + std::to_string(torus.n),
             "torus.y=" + std::to_string(y), "torus.z=" + std::to_string(z)}));
        const double n = torus.n;
        INFO(torus.n << " to the power of " << torus.dimensions);
        CHECK(seconds(timer, K::all_to_all, A::direct, 27 * 25 * 10000) ==
              exactly((n * n - 1) / 8 / n * 27 * 25 * 10000 / kBandwidth));
    }
}

TEST_CASE("a torus of two dimensions carries an all-reduce over all four links of a device") {
    CollectiveTimer timer(load_cluster(
        "ideal", {"inside.fabric=torus", "network.topology=none", "nodes=64", "devices_per_node=1",
                  "nic.count=1", "torus.x=8", "torus.y=8", "simple.chunk=20000 B"}));
    CollectiveRequest request;
    request.bytes = 6 * 64 * 10000;
    request.type = "i8";
    request.algorithm = A::torus;
    const double bound = 2.0 * 63 / 64 * static_cast<double>(request.bytes) / (4 * kBandwidth);
    CHECK(timer.time(request).seconds >= bound * (1 - 1e-6));
    CHECK(timer.time(request).seconds < 1.6 * bound);
}

TEST_CASE("all-to-all over a fat tree takes what its narrowest level lets through") {
    // 8 nodes below two leaf switches: 4 x 4 messages of an eighth go up each, over 4 cards' bandwidth
    // divided by the oversubscription.
    for (const double over : {1.0, 2.0, 4.0, 8.0}) {
        CollectiveTimer timer(
            load_cluster("ideal", {"nodes=8", "devices_per_node=1", "nic.count=1", "fat_tree.leaf_nodes=4",
                                   "fat_tree.oversubscription=" + std::to_string(static_cast<int>(over))}));
        const double cards = 7.0 / 8, leaves = 4 * 4 / 8.0 / (4 / over);
        CHECK(seconds(timer, K::all_to_all, A::direct, 8000000) ==
              exactly(std::max(cards, leaves) * 8000000 / kBandwidth));
    }
    // A second level: 4 leaves in two pods.
    CollectiveTimer timer(
        load_cluster("ideal", {"nodes=8", "devices_per_node=1", "nic.count=1", "fat_tree.leaf_nodes=2",
                               "fat_tree.pod_leaves=2", "fat_tree.core_oversubscription=8"}));
    CHECK(seconds(timer, K::all_to_all, A::direct, 8000000) ==
          exactly(4 * 4 / 8.0 / (4.0 / 8) * 8000000 / kBandwidth));
}

TEST_CASE("all-to-all over a dragonfly takes what a link between two groups carries") {
    // 4 groups of 2 routers of 2 nodes: 4 x 4 messages of a sixteenth from a group to another.
    for (const double global : {10e9, 50e9}) {
        CollectiveTimer timer(load_cluster(
            "ideal",
            {"nodes=16", "devices_per_node=1", "nic.count=1", "network.topology=dragonfly",
             "dragonfly.router_nodes=2", "dragonfly.group_routers=2",
             "dragonfly.global_bandwidth=" + std::to_string(static_cast<int>(global / 1e9)) + " GB/s"}));
        CHECK(seconds(timer, K::all_to_all, A::direct, 8000000) == exactly(8000000 / global));
    }
}

TEST_CASE("all-reduce is a reduce-scatter and an all-gather") {
    CollectiveTimer timer = ideal(6, 1e-7);
    CHECK(seconds(timer, K::all_reduce, A::ring) ==
          exactly(seconds(timer, K::all_gather, A::ring) + seconds(timer, K::reduce_scatter, A::ring)));
}

}  // namespace
