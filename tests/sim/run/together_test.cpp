// Which kernels of a step are simulated together, what they wait for there, and what becomes of the schedule.
#include "sim/run/schedule/together.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "sim/hardware/load_hardware.h"
#include "sim/run/simulate.h"

using namespace heddle;
using namespace heddle::sim;

namespace {

/// A step of elementwise ops, one kernel each, by the stream, the time alone and the ops that it depends on.
struct Step {
    void add(std::uint32_t stream, double time_us, std::vector<trace::OpId> dependencies = {}) {
        trace::Op op;
        op.kind = trace::OpKind::elementwise;
        op.stream = stream;
        op.dependencies = std::move(dependencies);
        trace.ops.push_back(op);
        OpOutcome outcome;
        outcome.kernels.emplace_back();
        outcome.kernels.back().time_us = time_us;
        outcome.kernels.back().waves = 0.25;
        outcomes.push_back(outcome);
    }
    /// Kernels of a run take `factor` times their time alone, and wait for places for `queued_us`.
    StepSchedule schedule(double factor, double queued_us = 0) {
        return schedule_together(
            trace, outcomes, {},
            [&](const std::vector<ConcurrentRun>& given) {
                runs = given;
                ++rounds;
                std::vector<std::vector<ConcurrentTime>> times;
                for (const ConcurrentRun& run : given) {
                    times.emplace_back();
                    for (const ConcurrentKernel& kernel : run) {
                        const KernelResult& row = outcomes[kernel.op].kernels[kernel.kernel];
                        times.back().push_back({queued_us, factor * row.alone_us.value_or(row.time_us)});
                    }
                }
                return times;
            },
            notes);
    }

    trace::Trace trace;
    std::vector<OpOutcome> outcomes;
    std::vector<ConcurrentRun> runs;
    unsigned rounds = 0;
    std::vector<std::string> notes;
};

}  // namespace

TEST_CASE("kernels that overlap form a run, others stay alone", "[together]") {
    Step step;
    step.add(0, 10);       // from 0 to 10
    step.add(1, 4);        // from 0 to 4, beside it
    step.add(1, 20, {0});  // from 10 to 30, alone
    const StepSchedule schedule = step.schedule(1.5);
    REQUIRE(step.runs.size() == 1);
    REQUIRE(step.runs[0].size() == 2);
    CHECK(step.runs[0][0].op == 0);
    CHECK(step.runs[0][1].op == 1);
    CHECK(step.runs[0][1].after.empty());
    CHECK(step.outcomes[0].kernels[0].time_us == 15);
    CHECK(step.outcomes[0].kernels[0].alone_us == 10);
    CHECK_FALSE(step.outcomes[2].kernels[0].alone_us.has_value());
    // What they cost one another is not counted twice.
    CHECK(schedule.work[0].end_us == Approx(15));
    CHECK(schedule.work[1].end_us == Approx(6));
    CHECK(schedule.work[2].start_us == Approx(15));
    CHECK(schedule.division.total_us == Approx(35));
}

TEST_CASE("kernels of a run know when they may begin and what they come after", "[together]") {
    Step step;
    step.add(0, 10);       // from 0 to 10
    step.add(1, 4);        // from 0 to 4
    step.add(1, 12);       // from 4 to 16: through it the next belongs to the run
    step.add(0, 10, {1});  // from 10 to 20
    step.schedule(1);
    REQUIRE(step.runs.size() == 1);
    REQUIRE(step.runs[0].size() == 4);
    CHECK(step.runs[0][2].after == std::vector<std::size_t>{1});
    CHECK(step.runs[0][3].after == std::vector<std::size_t>{0, 1});
    CHECK(step.runs[0][3].earliest_us == 0);
    CHECK(step.rounds == 1);
}

TEST_CASE("kernels that take longer beside others come to overlap with further ones", "[together]") {
    Step step;
    step.add(0, 10);
    step.add(1, 4);
    step.add(2, 8);
    step.add(2, 6);        // from 8 to 14: overlaps the first
    step.add(1, 5, {3});   // from 14 to 19
    step.add(3, 5, {2});   // from 8
    step.schedule(1);
    const std::size_t few = step.runs[0].size();
    Step longer;
    longer.add(0, 10);
    longer.add(1, 4);
    longer.add(1, 9);       // from 4 to 13
    longer.add(2, 3, {0});  // from 10 to 13
    longer.add(0, 6, {3});  // from 13: overlaps the third only when that takes longer
    longer.schedule(3);
    CHECK(few >= 4);
    REQUIRE(longer.runs.size() == 1);
    CHECK(longer.rounds >= 1);
    CHECK(longer.runs[0].size() >= 4);
}

TEST_CASE("a kernel that waits for places starts later", "[together]") {
    Step step;
    step.add(0, 10);
    step.add(1, 4);
    const StepSchedule schedule = step.schedule(1, 3);
    CHECK(schedule.work[1].start_us == Approx(3));
    CHECK(schedule.work[1].end_us == Approx(7));
}

TEST_CASE("a step with one stream has no runs", "[together]") {
    Step step;
    step.add(0, 10);
    step.add(0, 10);
    const StepSchedule schedule = step.schedule(2);
    CHECK(step.rounds == 0);
    CHECK(schedule.division.total_us == Approx(20));
    REQUIRE(step.notes.size() == 1);
    CHECK_THAT(step.notes[0], Catch::Contains("no kernels overlap"));
}

TEST_CASE("a step of two streams is simulated on one clock", "[together]") {
    ::setenv("HEDDLE_CACHE", "off", 1);
    trace::Trace trace;
    const auto tensor = [&](std::vector<std::int64_t> shape) {
        trace::Tensor made;
        made.name = "t" + std::to_string(trace.tensors.size());
        made.shape = std::move(shape);
        return trace.add(made);
    };
    const auto add = [&](std::uint32_t stream) {
        trace::Op op;
        op.name = "scale";
        op.kind = trace::OpKind::elementwise;
        op.stream = stream;
        op.inputs = {tensor({1 << 20})};
        op.outputs = {tensor({1 << 20})};
        op.set(keys::elementwise.expression, "y0 = 0.5 * x0");
        trace.add(op);
    };
    add(0);
    add(1);
    const Hardware hardware = load_hardware("h100-sxm", {"host.dispatch=0 us", "host.launch=0 us", "sm.count=16", "sm.gpcs=2"});
    const auto run = [&](Streams streams, unsigned jobs) {
        SimulateOptions options;
        options.streams = streams;
        options.jobs = jobs;
        return simulate(trace, "test", hardware, options);
    };
    const RunResult shared = run(Streams::shared, 1), cycle = run(Streams::cycle, 1), again = run(Streams::cycle, 2);
    CHECK(cycle.step_time_us == again.step_time_us);
    REQUIRE(cycle.kernels.size() == 2);
    for (const KernelResult& kernel : cycle.kernels) {
        REQUIRE(kernel.alone_us.has_value());
        CHECK(*kernel.alone_us == shared.kernels[0].time_us);
        CHECK(kernel.together == 1);
    }
    // Both read and write 8 MiB through the same memory: together they take no less than it needs for both.
    const double alone = shared.kernels[0].time_us;
    CHECK(cycle.step_time_us > 1.1 * alone);
    CHECK(cycle.step_time_us < 2.1 * alone + 4);
    CHECK_THROWS_WITH(simulate(trace, "test", load_hardware("tpu-v5e", {}), [] {
                          SimulateOptions options;
                          options.streams = Streams::cycle;
                          return options;
                      }()),
                      Catch::Contains("only GPUs have streams"));
}
