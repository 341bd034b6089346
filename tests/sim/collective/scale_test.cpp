// Symmetry: what is simulated once takes the time of everything simulated. Many devices: few events.
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/collective/collective.h"

namespace {

using namespace heddle;
using namespace heddle::sim;
using A = CollectiveAlgorithm;
using K = CollectiveKind;

CollectiveResult result(CollectiveTimer& timer, K kind, A algorithm, std::uint64_t bytes, bool fold,
                        CollectiveProtocol protocol = CollectiveProtocol::simple) {
    CollectiveRequest request;
    request.kind = kind;
    request.algorithm = algorithm;
    request.protocol = protocol;
    request.bytes = bytes;
    request.fold = fold;
    return timer.time(request);
}

TEST_CASE("folding changes nothing inside a node") {
    CollectiveTimer timer(load_cluster("dgx-h100"));
    for (const auto& [kind, algorithm] :
         {std::pair{K::all_reduce, A::ring}, std::pair{K::all_gather, A::ring},
          std::pair{K::all_reduce, A::double_tree}, std::pair{K::all_reduce, A::halving_doubling},
          std::pair{K::all_to_all, A::direct}, std::pair{K::broadcast, A::ring}}) {
        for (const std::uint64_t bytes : {std::uint64_t{8} << 10, std::uint64_t{3} << 20}) {
            INFO(name_of(kind) << " " << name_of(algorithm) << " " << bytes);
            const CollectiveResult folded = result(timer, kind, algorithm, bytes, true),
                                   full = result(timer, kind, algorithm, bytes, false);
            CHECK(folded.seconds == Approx(full.seconds).epsilon(0.002));
            CHECK(folded.events <= full.events);
        }
    }
}

TEST_CASE("folding changes next to nothing over nodes") {
    CollectiveTimer timer(load_cluster("dgx-a100", {"nodes=4", "collective.channels=8"}));
    for (const auto& [kind, algorithm] :
         {std::pair{K::all_reduce, A::ring}, std::pair{K::reduce_scatter, A::ring},
          std::pair{K::all_reduce, A::double_tree}, std::pair{K::all_reduce, A::hierarchical}}) {
        INFO(name_of(kind) << " " << name_of(algorithm));
        const std::uint64_t bytes = 16 << 20;
        CHECK(result(timer, kind, algorithm, bytes, true).seconds ==
              Approx(result(timer, kind, algorithm, bytes, false).seconds).epsilon(0.01));
    }
}

TEST_CASE("a ring of many nodes: the closed form of its slowest link") {
    // Every card passes 2 (n-1)/n of an eighth of the bytes; steps inside nodes hide behind it.
    CollectiveTimer timer(load_cluster(
        "ideal", {"nodes=128", "nic.bandwidth=10 GB/s", "collective.channels=8", "simple.slices=8"}));
    const std::uint64_t bytes = std::uint64_t{1} << 30;
    const CollectiveResult r = result(timer, K::all_reduce, A::ring, bytes, true);
    CHECK(r.seconds == Approx(2.0 * 1023 / 1024 * bytes / 8 / 10e9).epsilon(0.02));
    CHECK(r.events < 200000);
}

TEST_CASE("however chunks are cut, nobody waits for ever") {
    for (const char* slices : {"1", "3", "8", "13"}) {
        CollectiveTimer timer(
            load_cluster("ideal", {"devices_per_node=16", "nic.count=1", "simple.chunk=1000 B",
                                   "collective.slots=1", std::string("simple.slices=") + slices}));
        for (const A algorithm : {A::ring, A::double_tree, A::halving_doubling})
            CHECK(result(timer, K::all_reduce, algorithm, 64000, true).seconds > 0);
        for (const A algorithm : {A::ring, A::halving_doubling}) {
            CHECK(result(timer, K::all_gather, algorithm, 64000, true).seconds > 0);
            CHECK(result(timer, K::reduce_scatter, algorithm, 64000, true).seconds > 0);
        }
    }
}

TEST_CASE("groups beside one another share the links that both need") {
    CollectiveTimer timer(
        load_cluster("ideal", {"nodes=2", "devices_per_node=4", "nic.count=1", "pcie.devices=4"}));
    CollectiveRequest request;
    request.bytes = 100000000;
    request.type = "i8";
    request.algorithm = A::ring;
    request.ranks = {0, 4};
    const double alone = timer.time(request).seconds;
    request.beside = {{1, 5}, {2, 6}, {3, 7}};
    // All four pairs go through the one card of each node.
    CHECK(timer.time(request).seconds == Approx(4 * alone).epsilon(1e-3));
}

TEST_CASE("chunk level gives the time of flow level for a collective") {
    CollectiveTimer timer(load_cluster("dgx-a100"));
    for (const A algorithm : {A::ring, A::double_tree}) {
        CollectiveRequest request;
        request.bytes = 8 << 20;
        request.algorithm = algorithm;
        request.protocol = CollectiveProtocol::simple;
        const double flows = timer.time(request).seconds;
        request.model = NetworkModel::chunks;
        CHECK(timer.time(request).seconds == Approx(flows).epsilon(0.05));
    }
}

TEST_CASE("bad requests are told") {
    CollectiveTimer timer(load_cluster("dgx-h100"));
    CollectiveRequest request;
    request.bytes = 1024;
    request.ranks = {0, 8};
    CHECK_THROWS_WITH(timer.time(request), Catch::Contains("no device 8") && Catch::Contains("nodes"));
    request.ranks = {3, 3};
    CHECK_THROWS_WITH(timer.time(request), Catch::Contains("named twice"));
    request.ranks = {0, 1, 2};
    request.algorithm = A::halving_doubling;
    CHECK_THROWS_WITH(timer.time(request), Catch::Contains("power of two"));
    request.algorithm = A::in_switch;
    request.type = "i8";
    CHECK_THROWS_WITH(timer.time(request), Catch::Contains("i8"));
    CHECK_THROWS_WITH(collective_algorithm("rnig"), Catch::Contains("did you mean `ring`?"));
}

}  // namespace
