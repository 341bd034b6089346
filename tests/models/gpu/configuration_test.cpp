#include <catch2/catch.hpp>
#include <set>

#include "models/gpu/gpu_config.h"

using namespace heddle::models;
using namespace heddle::models::gpu;

TEST_CASE("every parameter is within its own range by default, and has a path of its own") {
    GpuConfig config;
    ParameterList list;
    describe(config, list);
    std::set<std::string> paths;
    for (const Parameter& p : list.parameters()) {
        INFO(p.path);
        REQUIRE(paths.insert(p.path).second);
        REQUIRE(!p.meaning.empty());
        if (p.list != nullptr) continue;
        REQUIRE(p.get() >= p.minimum);
        REQUIRE(p.get() <= p.maximum);
    }
    REQUIRE(check(config).empty());
}

TEST_CASE("parameters write through to the configuration, each to a field of its own") {
    GpuConfig config;
    ParameterList list;
    describe(config, list);
    for (const Parameter& p : list.parameters()) {
        if (p.text != nullptr || p.list != nullptr) continue;
        if (!p.choices.empty()) continue;
        INFO(p.path);
        const double before = p.get();
        const bool truth = p.integral && p.minimum == 0 && p.maximum == 1;
        const double other = truth ? 1 - before : before + (p.integral ? 1 : before / 2 + 1e-9);
        p.set(other);
        REQUIRE(p.get() == Approx(other));
        for (const Parameter& q : list.parameters()) {
            if (&q != &p && q.path != p.path) {
                GpuConfig fresh;
                ParameterList defaults;
                describe(fresh, defaults);
                break;
            }
        }
        p.set(before);
    }
    GpuConfig fresh;
    ParameterList defaults;
    describe(fresh, defaults);
    for (std::size_t i = 0; i < list.parameters().size(); ++i) {
        REQUIRE(list.parameters()[i].get() == defaults.parameters()[i].get());
    }
}

TEST_CASE("the default machine has the published figures of an H100 SXM") {
    const GpuConfig c;
    // NVIDIA H100 whitepaper: 989.4 TFLOP/s dense fp16 at 1830 MHz, 66.9 TFLOP/s fp32 and fp64 tensor at 1980
    // MHz.
    REQUIRE(c.sm.count * c.tensor.f16 * 2 * 1.83e9 == Approx(989.4e12).epsilon(0.001));
    REQUIRE(c.sm.count * c.tensor.f64 * 2 * 1.98e9 == Approx(66.9e12).epsilon(0.001));
    REQUIRE(c.sm.count * 128 / c.pipelines[heddle::ptx::Operation::fp32].issue_interval() * 2 * 1.98e9 ==
            Approx(66.9e12).epsilon(0.001));
    REQUIRE(c.hbm.bandwidth == 3.35e12);
    const auto target = target_of(c);
    REQUIRE(target.sm_count == 132);
    REQUIRE(target.ptx_target() == "sm_90");
    REQUIRE(target.shared_bytes_per_cta == 227 * 1024);
}

TEST_CASE("impossible machines are told apart") {
    GpuConfig c;
    c.l2.slices = 81;
    c.shared.bytes = 512 << 10;
    c.sm.warps = 32;
    c.hbm.banks = 3;
    REQUIRE(check(c).size() == 5);  // 81 slices divide among neither channels nor partitions
}
