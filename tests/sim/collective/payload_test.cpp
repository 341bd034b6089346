// Payloads: sums in the algorithm's own order beside a plain loop that adds in that order, and beside the
// exact sum's bound.
#include "sim/collective/payload.h"

#include <catch2/catch.hpp>
#include <random>

#include "isa/numerics/formats.h"

namespace {

using namespace heddle;
using namespace heddle::sim;
using A = CollectiveAlgorithm;
using K = CollectiveKind;

Cluster cluster_of(std::uint32_t nodes, std::uint32_t devices, const std::vector<std::string>& more = {}) {
    std::vector<std::string> settings{"nodes=" + std::to_string(nodes),
                                      "devices_per_node=" + std::to_string(devices),
                                      "nic.count=1",
                                      "collective.channels=3",
                                      "simple.chunk=64 B",
                                      "simple.slices=2"};
    settings.insert(settings.end(), more.begin(), more.end());
    return load_cluster("ideal", settings);
}

float to_half(float x) {
    const auto bits =
        numerics::convert(numerics::Format::fp16, numerics::Format::fp32, std::bit_cast<std::uint32_t>(x));
    return numerics::to_float(numerics::Format::fp16, static_cast<std::uint32_t>(bits));
}

std::vector<Payload> random_inputs(std::size_t ranks, std::size_t elements) {
    std::mt19937 random(7);
    std::normal_distribution<float> normal;
    std::vector<Payload> inputs(ranks, Payload(elements));
    for (Payload& input : inputs)
        for (float& x : input) x = to_half(normal(random));
    return inputs;
}

TEST_CASE("every collective and algorithm gives the right values, within the bound of any order") {
    struct Case {
        K kind;
        A algorithm;
        std::uint32_t nodes, devices;
    };
    const std::vector<Case> cases{
        {K::all_reduce, A::ring, 1, 8},
        {K::all_reduce, A::ring, 3, 2},
        {K::all_reduce, A::double_tree, 1, 5},
        {K::all_reduce, A::double_tree, 6, 2},
        {K::all_reduce, A::double_tree, 7, 1},
        {K::all_reduce, A::tree, 5, 3},
        {K::all_reduce, A::halving_doubling, 1, 8},
        {K::all_reduce, A::halving_doubling, 4, 4},
        {K::all_reduce, A::hierarchical, 4, 3},
        {K::all_gather, A::ring, 1, 7},
        {K::all_gather, A::ring, 2, 4},
        {K::all_gather, A::halving_doubling, 1, 8},
        {K::reduce_scatter, A::ring, 1, 7},
        {K::reduce_scatter, A::ring, 3, 3},
        {K::reduce_scatter, A::halving_doubling, 2, 4},
        {K::broadcast, A::ring, 2, 3},
        {K::broadcast, A::tree, 5, 2},
        {K::reduce, A::ring, 2, 3},
        {K::reduce, A::tree, 5, 2},
        {K::all_to_all, A::direct, 1, 5},
        {K::send_receive, A::direct, 1, 3},
    };
    for (const Case& c : cases) {
        for (const char* type : {"f16", "bf16", "f32", "i8"}) {
            for (const std::uint64_t bytes : {std::uint64_t{4}, std::uint64_t{1000}, std::uint64_t{7000}}) {
                INFO(name_of(c.kind) << " " << name_of(c.algorithm) << " " << c.nodes << "x" << c.devices
                                     << " " << type << " " << bytes);
                CollectiveRequest request;
                request.kind = c.kind;
                request.algorithm = c.algorithm;
                request.type = type;
                request.bytes = bytes;
                const PayloadReport report = check_payload(cluster_of(c.nodes, c.devices), request, 11);
                CHECK(report.within_bound);
                CHECK(report.same_everywhere);
                if (std::string(type) == "i8" || c.kind == K::all_gather || c.kind == K::broadcast ||
                    c.kind == K::all_to_all)
                    CHECK(report.largest_error == 0);
            }
        }
    }
}

TEST_CASE("in-switch reduction and tori give the right values") {
    CollectiveRequest request;
    request.bytes = 5000;
    request.algorithm = A::in_switch;
    for (const K kind : {K::all_reduce, K::all_gather, K::reduce_scatter}) {
        request.kind = kind;
        const PayloadReport report = check_payload(cluster_of(1, 8, {"inside.reduction=true"}), request, 3);
        CHECK(report.within_bound);
        CHECK(report.same_everywhere);
    }
    request.kind = K::all_reduce;
    request.algorithm = A::torus;
    const Cluster torus =
        load_cluster("tpu-v4-slice", {"nodes=6", "torus.x=3", "torus.y=4", "torus.z=2", "simple.chunk=64 B"});
    const PayloadReport report = check_payload(torus, request, 3);
    CHECK(report.within_bound);
    CHECK(report.same_everywhere);
}

TEST_CASE("a ring adds piece p from rank p + 1 round to rank p, and rounds after every sum") {
    const std::size_t n = 8, elements = 8 * 40;
    const std::vector<Payload> inputs = random_inputs(n, elements);
    CollectiveRequest request;
    request.bytes = elements * 2;
    request.algorithm = A::ring;
    // One channel and chunks as large as the vector: pieces lie side by side.
    const Cluster cluster = cluster_of(1, 8, {"collective.channels=1", "simple.chunk=1 MiB"});
    const std::vector<Payload> outputs =
        run_payload(payload_schedule(cluster, request), "f16", inputs, elements);
    for (std::size_t i = 0; i < elements; ++i) {
        const std::size_t p = i / 40;
        float sum = inputs[(p + 1) % n][i];
        for (std::size_t k = 2; k <= n; ++k) sum = to_half(inputs[(p + k) % n][i] + sum);
        for (std::size_t r = 0; r < n; ++r) REQUIRE(outputs[r][i] == sum);
    }
}

TEST_CASE("recursive halving adds in pairs at falling distance") {
    const std::size_t n = 4, elements = 32;
    const std::vector<Payload> inputs = random_inputs(n, elements);
    CollectiveRequest request;
    request.bytes = elements * 2;
    request.algorithm = A::halving_doubling;
    const Cluster cluster = cluster_of(1, 4, {"collective.channels=1", "simple.chunk=1 MiB"});
    const std::vector<Payload> outputs =
        run_payload(payload_schedule(cluster, request), "f16", inputs, elements);
    for (std::size_t i = 0; i < elements; ++i) {
        const float sum =
            to_half(to_half(inputs[0][i] + inputs[2][i]) + to_half(inputs[1][i] + inputs[3][i]));
        for (std::size_t r = 0; r < n; ++r) REQUIRE(outputs[r][i] == sum);
    }
}

TEST_CASE("the switch adds in float and rounds once") {
    const std::size_t n = 4, elements = 64;
    const std::vector<Payload> inputs = random_inputs(n, elements);
    CollectiveRequest request;
    request.bytes = elements * 2;
    request.algorithm = A::in_switch;
    const Cluster cluster = cluster_of(1, 4, {"inside.reduction=true"});
    const std::vector<Payload> outputs =
        run_payload(payload_schedule(cluster, request), "f16", inputs, elements);
    for (std::size_t i = 0; i < elements; ++i) {
        float sum = inputs[0][i];
        for (std::size_t r = 1; r < n; ++r) sum += inputs[r][i];
        for (std::size_t r = 0; r < n; ++r) REQUIRE(outputs[r][i] == to_half(sum));
    }
}

}  // namespace
