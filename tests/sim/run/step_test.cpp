#include "sim/run/assemble/assemble.h"

#include <catch2/catch.hpp>

using namespace heddle;
using namespace heddle::sim;

namespace {

trace::OpId add_product(trace::Trace& trace, std::optional<double> measured) {
    const auto tensor = [&](std::vector<std::int64_t> shape) {
        trace::Tensor t;
        t.shape = std::move(shape);
        t.type = trace::ElementType::bf16;
        return trace.add(t);
    };
    trace::Op op;
    op.kind = trace::OpKind::matmul;
    op.inputs = {tensor({4, 8}), tensor({16, 8})};
    op.outputs = {tensor({4, 16})};
    op.set(keys::matmul.transpose_b, 1);
    op.measured_us = measured;
    return trace.add(op);
}

OpOutcome outcome(double time_us, Fidelity fidelity, double gap_us = 0) {
    KernelResult kernel;
    kernel.time_us = time_us;
    kernel.gap_us = gap_us;
    kernel.fidelity = fidelity;
    kernel.bound_by = "x";
    OpOutcome result;
    result.kernels.push_back(kernel);
    return result;
}

void assemble(const trace::Trace& trace, const std::vector<OpOutcome>& outcomes, RunResult& result) {
    assemble_step(trace, outcomes, schedule_step(trace, outcomes), result);
}

}  // namespace

TEST_CASE("times, gaps, coverage and measured totals add up") {
    trace::Trace trace;
    for (const double measured : {10.0, 30.0, 60.0}) add_product(trace, measured);
    std::vector<OpOutcome> outcomes{outcome(8, Fidelity::cycle, 1), outcome(20, Fidelity::estimated, 1),
                                    outcome(50, Fidelity::cycle, 1)};
    outcomes[2].kernels.push_back(outcome(5, Fidelity::cycle, 1).kernels[0]);
    RunResult result;
    assemble(trace, outcomes, result);
    CHECK(result.device_busy_us == 83);
    CHECK(result.launch_gap_us == 4);
    CHECK(result.step_time_us == 87);
    CHECK(result.measured_total_us == 100);
    // Weighted by what was measured.
    CHECK(result.coverage.cycle == Approx(0.7));
    CHECK(result.coverage.estimated == Approx(0.3));
    CHECK(result.coverage.unknown == 0);
    REQUIRE(result.ops.size() == 2);  // by fidelity
    CHECK(result.ops[0].count == 2);
    CHECK(result.ops[0].time_us == 63);
    CHECK(result.ops[0].measured_us == 70);
    CHECK(result.ops[0].name == "matmul 4x16x8 bf16 nt");
    CHECK(result.ops[0].flops == 2 * 2 * 4 * 16 * 8);
    REQUIRE(result.kernels.size() == 4);
    CHECK(result.kernels[0].start_us == 1);
    CHECK(result.kernels[1].start_us == 10);
    CHECK(result.kernels[3].start_us == 82);
    CHECK_FALSE(result.kernels[3].measured_us.has_value());
}

TEST_CASE("one op without a recorded time leaves no measured total") {
    trace::Trace trace;
    add_product(trace, 10.0);
    add_product(trace, std::nullopt);
    RunResult result;
    assemble(trace, {outcome(8, Fidelity::cycle), outcome(8, Fidelity::cycle)}, result);
    CHECK_FALSE(result.measured_total_us.has_value());
    REQUIRE(result.ops.size() == 1);
    CHECK_FALSE(result.ops[0].measured_us.has_value());
}

TEST_CASE("communication is apart and says where its time is from") {
    trace::Trace trace;
    trace::Op op;
    op.kind = trace::OpKind::collective;
    op.measured_us = 40.0;
    trace.add(op);
    add_product(trace, 10.0);
    RunResult result;
    const OpOutcome collective = communication_outcome(trace.ops[0], result);
    REQUIRE(result.notes.size() == 1);
    assemble(trace, {collective, outcome(8, Fidelity::cycle)}, result);
    CHECK(result.communication_us == 40);
    CHECK(result.device_busy_us == 8);
    CHECK(result.step_time_us == 48);
    CHECK(result.measured_total_us == 10);
    CHECK(result.coverage.cycle == 1);
}

TEST_CASE("tiny kernels wait for the host, a graph does not, and recorded times count where there are any") {
    trace::Trace trace;
    for (int i = 0; i < 100; ++i) add_product(trace, std::nullopt);
    const auto run = [&](bool graph) {
        std::vector<OpOutcome> outcomes(100, outcome(2, Fidelity::cycle, 1));
        RunResult result;
        result.recorded_host = add_host_times(trace, {5e-6, 2e-6, 10e-6}, graph, outcomes);
        assemble_step(trace, outcomes, schedule_step(trace, outcomes, {.launch_latency_us = 1.5}), result);
        return result;
    };
    // Host: 7 us for each op. The device starts the last 1.5 + 1 us after its launch.
    const RunResult eager = run(false);
    CHECK(eager.step_time_us == Approx(100 * 7 + 1.5 + 1 + 2));
    CHECK(eager.division.kernels_us == Approx(200));
    CHECK(eager.division.gaps_us == Approx(100));
    CHECK(eager.division.host_us == Approx(7 + 1.5 + 99 * (7 - 3)));
    CHECK(eager.kernels[50].launched_us == Approx(51 * 7));
    // One call, then kernel after kernel.
    const RunResult graph = run(true);
    CHECK(graph.step_time_us == Approx(10 + 1.5 + 100 * 3));
    CHECK(graph.division.host_us == Approx(11.5));
    // Recorded: 1 us each, less than the kernels take; nothing declared is added.
    for (trace::Op& op : trace.ops) op.host_us = 1.0;
    const RunResult recorded = run(false);
    CHECK(recorded.recorded_host);
    CHECK(recorded.step_time_us == Approx(1 + 1.5 + 100 * 3));
}

TEST_CASE("a collective on a stream of its own hides behind kernels that do not need it") {
    trace::Trace trace;
    add_product(trace, std::nullopt);
    trace::Op op;
    op.kind = trace::OpKind::collective;
    op.measured_us = 50.0;
    op.stream = 1;
    op.dependencies = {0};
    trace.add(op);
    add_product(trace, std::nullopt);
    add_product(trace, std::nullopt);
    trace.ops[3].dependencies = {1};
    RunResult result;
    const OpOutcome collective = communication_outcome(trace.ops[1], result);
    assemble(
        trace,
        {outcome(10, Fidelity::cycle), collective, outcome(30, Fidelity::cycle), outcome(5, Fidelity::cycle)},
        result);
    CHECK(result.step_time_us == 65);  // 10, then 50 beside 30, then 5
    CHECK(result.communication_us == 50);
    CHECK(result.division.communication_us == 20);
    CHECK(result.division.kernels_us == 45);
    CHECK(result.division.overlapped_us == 30);
}
