#include "sim/hardware/load_hardware.h"
#include "validation/compare/recorded_step.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "isa/common/error.h"

using namespace heddle;
using namespace heddle::validation;

namespace {

trace::TensorId tensor(trace::Trace& trace, std::vector<std::int64_t> shape) {
    trace::Tensor made;
    made.name = "t" + std::to_string(trace.tensors.size());
    made.shape = std::move(shape);
    return trace.add(made);
}

trace::Op addition(trace::Trace& trace, std::int64_t elements, double recorded_us) {
    trace::Op op;
    op.kind = trace::OpKind::elementwise;
    op.set(keys::elementwise.expression, "y0 = x0 + x1");
    op.inputs = {tensor(trace, {elements}), tensor(trace, {elements})};
    op.outputs = {tensor(trace, {elements})};
    op.measured_us = recorded_us;
    op.kernel_name = "void at::native::(anonymous namespace)::add<4, float (*)(float)>(int, float)";
    return op;
}

/// Two equal additions, a larger one, a fill, an op that nobody understands, and a collective.
trace::Trace small_step(double first_us = 2) {
    trace::Trace trace;
    trace.add(addition(trace, 1000, first_us));
    trace.add(addition(trace, 1000, 4));
    trace.add(addition(trace, 200000, 3));
    trace::Op fill;
    fill.kind = trace::OpKind::fill;
    fill.set(keys::fill.value, 0.0);
    fill.outputs = {tensor(trace, {5000})};
    fill.measured_us = 1.5;
    trace.add(fill);
    trace::Op unknown;
    unknown.measured_us = 7;
    trace.add(unknown);
    trace::Op collective;
    collective.kind = trace::OpKind::collective;
    collective.phase = trace::Phase::communication;
    collective.set(keys::collective.collective, "all_reduce");
    collective.set(keys::collective.bytes, 4000);
    collective.measured_us = 20;
    trace.add(collective);
    return trace;
}

sim::SimulateOptions quietly() {
    sim::SimulateOptions options;
    options.cache = false;
    options.jobs = 1;
    return options;
}

}  // namespace

TEST_CASE("A recorded step is held to its kernels one by one, by kind and in all") {
    const sim::Hardware hardware = sim::load_hardware("a100-sxm");
    const trace::Trace trace = small_step();
    const RecordedStep step = compare_recorded_step(trace, "small", hardware, quietly());
    const sim::RunResult result = sim::simulate(trace, "small", hardware, quietly());
    double deviation = 0, simulated = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        simulated += result.kernels[i].time_us;
        deviation += std::abs(result.kernels[i].time_us - *trace.ops[i].measured_us);
    }
    CHECK(step.cycle.count == 4);
    CHECK(step.cycle.recorded_us == 2 + 4 + 3 + 1.5);
    CHECK(step.cycle.simulated_us == Approx(simulated));
    CHECK(step.cycle.bias() == Approx(simulated / 10.5 - 1));
    CHECK(step.cycle.error() == Approx(deviation / 10.5));
    CHECK(step.unknown_us == 7);
    CHECK(step.communication_us == 20);
    CHECK(step.coverage() == Approx(10.5 / 17.5));

    // Equal work is one row, whose errors do not cancel; names lose their arguments.
    const auto row = std::find_if(step.kernels.begin(), step.kernels.end(),
                                  [](const StepKernel& kernel) { return kernel.times.count == 2; });
    REQUIRE(row != step.kernels.end());
    CHECK(row->op == "elementwise 1000 f32");
    CHECK(row->kernel == "at::native::add<4, float (*)(float)>");
    CHECK(row->times.recorded_us == 6);
    CHECK(row->times.deviation_us ==
          Approx(std::abs(result.kernels[0].time_us - 2) + std::abs(result.kernels[1].time_us - 4)));
    const auto kinds = times_by_kind(step);
    REQUIRE(kinds.size() == 2);
    CHECK(kinds[0].first == "elementwise");
    CHECK(kinds[0].second.recorded_us == 9);

    const auto json = nlohmann::json::parse(recorded_step_json(step));
    CHECK(json["error"].get<double>() == Approx(deviation / 10.5));
    CHECK(json["kernels"].size() == 5);
    CHECK(format_recorded_step(step, 1).find("60.0 % cycle by cycle") != std::string::npos);
}

TEST_CASE("Ops of one kind take the times that they take in the whole step") {
    const sim::Hardware hardware = sim::load_hardware("a100-sxm");
    trace::Trace trace = small_step();
    // Reads what the fill wrote, which therefore lies in L2, though the fill is not run.
    trace::Op last = addition(trace, 5000, 2);
    last.inputs = {trace.ops[3].outputs[0], trace.ops[3].outputs[0]};
    trace.add(last);
    sim::SimulateOptions options = quietly();
    const RecordedStep whole = compare_recorded_step(trace, "small", hardware, options);
    options.only_kinds = {"elementwise"};
    const RecordedStep part = compare_recorded_step(trace, "small", hardware, options);
    CHECK(part.cycle.count == 4);
    CHECK(part.unknown_us == 7 + 1.5);
    CHECK(part.clock_hz == whole.clock_hz);
    CHECK(part.cycle.simulated_us == Approx(times_by_kind(whole)[0].second.simulated_us).epsilon(1e-12));
}

TEST_CASE("A step without recorded times cannot be held to them") {
    trace::Trace trace;
    trace.add(addition(trace, 1000, 1));
    trace.ops[0].measured_us.reset();
    CHECK_THROWS_WITH(compare_recorded_step(trace, "small", sim::load_hardware("a100-sxm"), quietly()),
                      Catch::Contains("no recorded times"));
}
