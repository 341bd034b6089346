// Whole runs: a small model on each device, with values beside the double-precision reference.
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "sim/run/simulate.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "isa/common/error.h"
#include "workloads/importers/open_trace.h"
#include "workloads/zoo/mlp.h"

using namespace heddle;
using namespace heddle::sim;

namespace {

trace::Trace small_mlp(trace::ElementType type) {
    zoo::MlpOptions options;
    options.batch = 48;
    options.widths = {40, 64, 33, 10};
    options.type = type;
    options.learning_rate = 0.5;
    return zoo::mlp(options);
}

RunResult run(const trace::Trace& trace, const std::string& hardware, SimulateOptions options = {}) {
    ::setenv("HEDDLE_CACHE", "off", 1);
    options.jobs = options.jobs == 0 ? 2 : options.jobs;
    // A host that is never late: these tests are about the device.
    std::vector<std::string> overrides;
    if (!hardware.starts_with("tpu")) overrides = {"host.dispatch=0 us", "host.launch=0 us"};
    return simulate(trace, "test", load_hardware(hardware, overrides), options);
}

void check_training(trace::ElementType type, const std::string& hardware) {
    CAPTURE(hardware, trace::name_of(type));
    SimulateOptions options;
    options.numerics = true;
    options.steps = 20;
    const RunResult result = run(small_mlp(type), hardware, options);
    REQUIRE(result.numerics.has_value());
    const NumericsResult& n = *result.numerics;
    REQUIRE(n.device_loss.size() == 20);
    CHECK(n.loss_error <= n.loss_error_bound);
    CHECK(n.gradient_error <= n.gradient_error_bound);
    CHECK(n.gradient_error > 0);        // the device rounds, so it cannot be the reference itself
    CHECK(n.gradient_error_bound < 1);  // a bound that says nothing is none
    CHECK(n.weight_error <= n.weight_error_bound);
    // An update of numbers that are kept in f16 may come out in every bit.
    CHECK((n.weight_error > 0 || type == trace::ElementType::f16));
    CHECK(n.weight_error_bound < 1e-5);
    // Whole trainings stay together this long: the bound of a step, passed on by as many steps.
    CHECK(n.drift <= 20 * n.gradient_error_bound);
    for (std::size_t i = 0; i < n.device_loss.size(); ++i)
        CHECK(std::abs(n.device_loss[i] - n.reference_loss[i]) <=
              n.loss_error_bound * std::max(1.0, n.reference_loss[i]));
    CHECK(n.reference_loss.front() > 2.2);  // ln 10 = 2.30 before training
    CHECK(n.device_loss.back() < 0.9 * n.device_loss.front());
    CHECK(result.coverage.cycle == 1);
}

std::vector<std::uint64_t> cycles_of(const RunResult& result) {
    std::vector<std::uint64_t> cycles;
    for (const KernelResult& kernel : result.kernels) cycles.push_back(kernel.cycles);
    return cycles;
}

}  // namespace

TEST_CASE("20 training steps of a 3-layer MLP stay within the bound of f32 on an H100") {
    check_training(trace::ElementType::f32, "h100-sxm");
}
TEST_CASE("20 training steps of a 3-layer MLP stay within the bound of bf16 on an H100") {
    check_training(trace::ElementType::bf16, "h100-sxm");
}
TEST_CASE("20 training steps of a 3-layer MLP stay within the bound of f16 on an A100") {
    check_training(trace::ElementType::f16, "a100-sxm");
}
TEST_CASE("20 training steps of a 3-layer MLP stay within the bound of bf16 products on a TPU v3") {
    check_training(trace::ElementType::f32, "tpu-v3");
}

TEST_CASE("looking at every cycle, other numbers of workers, and values change no cycle count") {
    for (const std::string hardware : {"h100-sxm", "a100-sxm", "tpu-v3"}) {
        for (const trace::ElementType type : {trace::ElementType::f32, trace::ElementType::bf16}) {
            CAPTURE(hardware, trace::name_of(type));
            const trace::Trace trace = small_mlp(type);
            const std::vector<std::uint64_t> cycles = cycles_of(run(trace, hardware));
            SimulateOptions options;
            options.jobs = 1;
            CHECK(cycles_of(run(trace, hardware, options)) == cycles);
            options.tick_every_cycle = true;
            CHECK(cycles_of(run(trace, hardware, options)) == cycles);
            // simulate() itself compares each program's cycles with values and without.
            options.tick_every_cycle = false;
            options.numerics = true;
            CHECK(cycles_of(run(trace, hardware, options)) == cycles);
        }
    }
}

TEST_CASE("a wider machine and a faster clock are not slower") {
    zoo::MlpOptions options;
    // Large enough for products to fill both machines: with less, the choice of tiles decides by a few per
    // cent.
    options.batch = 2048;
    options.widths = {1024, 2048, 1024, 10};
    options.type = trace::ElementType::bf16;
    const trace::Trace trace = zoo::mlp(options);
    ::setenv("HEDDLE_CACHE", "off", 1);
    const auto busy = [&](const std::vector<std::string>& overrides) {
        return simulate(trace, "test", load_hardware("h100-sxm", overrides), {}).device_busy_us;
    };
    const double plain = busy({});
    CHECK(busy({"sm.count=66"}) > plain);
    CHECK(busy({"clock=1 GHz"}) > 1.2 * plain);
}

TEST_CASE("an op that no kernel carries out is estimated and said so") {
    trace::Trace trace;
    const auto tensor = [&](std::vector<std::int64_t> shape, trace::ElementType type) {
        trace::Tensor t;
        t.shape = std::move(shape);
        t.type = type;
        return trace.add(t);
    };
    trace::Op op;
    op.kind = trace::OpKind::reduce;
    op.inputs = {tensor({64, 32}, trace::ElementType::f32)};
    op.outputs = {tensor({32}, trace::ElementType::f32), tensor({32}, trace::ElementType::i64)};
    op.set(keys::reduce.reduction, "max");
    op.set(keys::reduce.axes, {0});
    op.set(keys::reduce.argument, 1);
    trace.add(op);
    const RunResult result = run(trace, "h100-sxm");
    CHECK(result.coverage.estimated == 1);
    CHECK(result.device_busy_us > 0);
    REQUIRE(result.notes.size() == 1);
    CHECK(result.notes[0].find("position of an extremum along a leading axis") != std::string::npos);
    SimulateOptions options;
    options.numerics = true;
    CHECK_THROWS_AS(run(trace, "h100-sxm", options), Error);
}

TEST_CASE("a recorded GPT step runs on the H100 model, its optimizer cycle by cycle") {
    const char* data = std::getenv("HEDDLE_DATA");
    const std::string path = (data != nullptr ? std::string(data) : HEDDLE_SOURCE_DIR "/../shared/data") +
                             "/traces/chakra/gpt_12layer_h100_bf16.tar.gz";
    if (FILE* file = std::fopen(path.c_str(), "rb")) {
        std::fclose(file);
    } else {
        WARN("skipped: " << path << " is not there");
        return;
    }
    trace::Trace whole = importers::open_trace(path);
    REQUIRE(whole.ops.size() == 1617);
    // The kernels of under 8 us stand for the rest, which takes minutes.
    trace::Trace part = whole;
    part.ops.clear();
    for (const trace::Op& op : whole.ops) {
        if (op.measured_us.value_or(1e9) > 5 || op.kind == trace::OpKind::collective) continue;
        trace::Op copy = op;
        copy.dependencies.clear();
        part.ops.push_back(copy);
    }
    REQUIRE(part.ops.size() > 600);
    const RunResult result = run(part, "h100-sxm");
    CHECK(result.coverage.cycle > 0.9);
    CHECK(result.coverage.unknown == 0);
    REQUIRE(result.measured_total_us.has_value());
    CHECK(result.device_busy_us == Approx(*result.measured_total_us).epsilon(0.4));
}

TEST_CASE("programmatic launches begin beside the launch before and wait for its end") {
    SimulateOptions options;
    options.numerics = true;  // which must take the same cycles, launch by launch
    const trace::Trace trace = small_mlp(trace::ElementType::bf16);
    const RunResult plain = run(trace, "h100-sxm", options);
    options.programmatic = true;
    const RunResult result = run(trace, "h100-sxm", options);
    REQUIRE(result.kernels.size() == plain.kernels.size());
    CHECK(result.numerics->device_loss == plain.numerics->device_loss);

    const models::gpu::GpuConfig config = gpu_config(load_hardware("h100-sxm"));
    const auto cycles_in = [&](double seconds) { return std::llround(seconds * result.clock_hz); };
    const auto before = cycles_in(config.launch.before), after = cycles_in(config.launch.after);
    CHECK(result.kernels.front().overlap_cycles == 0);
    double saved_us = 0;
    for (std::size_t i = 1; i < result.kernels.size(); ++i) {
        const KernelResult& kernel = result.kernels[i];
        const auto overlap = static_cast<long long>(kernel.overlap_cycles);
        CAPTURE(i, kernel.name, overlap);
        CHECK(overlap >= after);  // the earliest end of a launch is that of its thread blocks
        // Its thread blocks get past griddepcontrol.wait when the launch before has ended, and no sooner.
        CHECK(static_cast<long long>(kernel.dependency_release) == std::max(0ll, overlap - before));
        CHECK(static_cast<long long>(kernel.cycles) > std::max(before, overlap) + after);
        saved_us += static_cast<double>(overlap) / result.clock_hz * 1e6;
    }
    double longer_us = 0;  // by two instructions each, and by the wait
    for (std::size_t i = 0; i < result.kernels.size(); ++i)
        longer_us +=
            (static_cast<double>(result.kernels[i].cycles) - static_cast<double>(plain.kernels[i].cycles)) /
            result.clock_hz * 1e6;
    CHECK(result.step_time_us == Approx(plain.step_time_us - saved_us + longer_us).epsilon(1e-6));
    CHECK(result.step_time_us < 0.9 * plain.step_time_us);
    CHECK_THROWS_WITH(run(trace, "a100-sxm", options), Catch::Contains("compute capability 9.0"));
}

TEST_CASE("a tiling is searched once: the second run knows it, also in another process") {
    const std::string folder = "/tmp/heddle-tiling-test-" + std::to_string(getpid());
    std::filesystem::remove_all(folder);
    const trace::Trace trace = small_mlp(trace::ElementType::f32);
    const auto simulated = [&] {
        ::setenv("HEDDLE_CACHE", folder.c_str(), 1);
        // Looking at every cycle reads no results of earlier runs, so programs are made again.
        SimulateOptions options;
        options.tick_every_cycle = true;
        options.jobs = 2;
        return simulate(trace, "test", load_hardware("tpu-v3"), options);
    };
    const RunResult first = simulated(), second = simulated();
    std::filesystem::remove_all(folder);
    CHECK(first.simulation.tilings_searched >= 6);
    CHECK(second.simulation.tilings_searched == 0);
    CHECK(second.simulation.kernels_simulated == first.simulation.kernels_simulated);
    CHECK(cycles_of(first) == cycles_of(second));
}

TEST_CASE("a v4 keeps what the step itself makes in CMEM, and computes the same") {
    ::setenv("HEDDLE_CACHE", "off", 1);
    const auto run_on = [](const trace::Trace& trace, bool common, bool numerics) {
        SimulateOptions options;
        options.numerics = numerics;  // checks that every program takes the cycles that it took alone
        options.jobs = 2;
        const std::vector<std::string> without{"cmem.size=0 B"};
        return simulate(trace, "test", load_hardware("tpu-v4", common ? std::vector<std::string>{} : without),
                        options);
    };
    zoo::MlpOptions large;
    large.batch = 4096;
    large.widths = {256, 1024, 1024, 10};
    const trace::Trace trace = zoo::mlp(large);
    CHECK(run_on(trace, true, false).device_busy_us < 0.97 * run_on(trace, false, false).device_busy_us);
    const trace::Trace small = small_mlp(trace::ElementType::f32);
    const RunResult with = run_on(small, true, true), plain = run_on(small, false, true);
    REQUIRE(with.numerics);
    CHECK(with.numerics->reference_loss == plain.numerics->reference_loss);
    CHECK(with.numerics->loss_error <= with.numerics->loss_error_bound);
    CHECK(with.numerics->device_loss == plain.numerics->device_loss);
}

TEST_CASE("designs whose L2 has room for all that a kernel touches have its simulation in common") {
    const std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("heddle-canonical-l2-test-" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder);
    const trace::Trace trace = small_mlp(trace::ElementType::bf16);
    const auto with_l2 = [&](const std::string& size) {
        SimulateOptions options;
        options.jobs = 2;
        return simulate(trace, "test", load_hardware("h100-sxm", {"l2.size=" + size}), options);
    };
    ::setenv("HEDDLE_CACHE", "off", 1);
    const RunResult alone = with_l2("60MiB");
    ::setenv("HEDDLE_CACHE", folder.c_str(), 1);
    const RunResult first = with_l2("50MiB"), second = with_l2("60MiB");
    ::setenv("HEDDLE_CACHE", "off", 1);
    std::filesystem::remove_all(folder);
    CHECK(first.simulation.kernels_simulated > 0);
    CHECK(second.simulation.kernels_simulated == 0);
    CHECK(second.step_time_us == alone.step_time_us);
    CHECK(second.step_time_us == first.step_time_us);
    CHECK(second.energy == alone.energy);
}

TEST_CASE("in a recorded step memory is written as much as its kernels write") {
    // y = max(x, 0), 16 MiB each: without a step around it the result stays in L2, which has 40 MiB.
    trace::Trace trace;
    trace::Tensor tensor;
    tensor.shape = {4 << 20};
    tensor.type = trace::ElementType::f32;
    trace::Op op;
    op.kind = trace::OpKind::elementwise;
    op.inputs = {trace.add(tensor)};
    op.outputs = {trace.add(tensor)};
    op.set(keys::elementwise.expression, "y0 = max(x0, 0)");
    trace.add(op);
    constexpr double kBytes = 16 << 20;
    const KernelResult alone = run(trace, "a100-sxm-40gb").kernels.at(0);
    trace.ops[0].measured_us = 25;
    const KernelResult amid = run(trace, "a100-sxm-40gb").kernels.at(0);
    CHECK(alone.dram_bytes == Approx(kBytes).epsilon(0.1));
    CHECK(amid.dram_bytes == Approx(2 * kBytes).epsilon(0.1));
    CHECK(amid.time_us > 1.2 * alone.time_us);
}
