// Loops of which one turn is scheduled, against the same work written out turn by turn.
#include <catch2/catch.hpp>
#include <random>

#include "sim/run/assemble/assemble.h"
#include "sim/run/schedule/streams.h"
#include "workloads/trace/turns.h"

using namespace heddle;
using namespace heddle::sim;

namespace {

StreamWork kernel(double host_us, double gap_us, double time_us) {
    StreamWork work;
    work.host_us = host_us;
    work.gap_us = gap_us;
    work.time_us = time_us;
    return work;
}

/// The same work twice: written out, and with a turn that stands for all but the first two and the last.
struct Both {
    std::vector<StreamWork> whole, held;
    std::vector<RepeatedWork> repeated;

    void add(const StreamWork& work) {
        whole.push_back(work);
        held.push_back(work);
    }
    void loop(const std::vector<StreamWork>& turn, int turns) {
        for (int i = 0; i < turns; ++i) whole.insert(whole.end(), turn.begin(), turn.end());
        for (int i = 0; i < 4; ++i) {
            if (i == 2) repeated.push_back({held.size(), held.size() + turn.size(), turns - 3.0});
            held.insert(held.end(), turn.begin(), turn.end());
        }
    }
    void check(double tolerance) const {
        const StepDivision a = schedule_streams(whole, 3).division,
                           b = schedule_streams(held, 3, repeated).division;
        const double margin = tolerance * a.total_us + 1e-9;
        CHECK(b.total_us == Approx(a.total_us).margin(margin));
        CHECK(b.kernels_us == Approx(a.kernels_us).margin(margin));
        CHECK(b.gaps_us == Approx(a.gaps_us).margin(margin));
        CHECK(b.host_us == Approx(a.host_us).margin(margin));
        CHECK(b.kernels_us + b.gaps_us + b.host_us == Approx(b.total_us));
    }
};

}  // namespace

TEST_CASE("a turn that stands for many takes as long as all of them") {
    std::mt19937 random(7);
    const auto number = [&](double most) { return std::uniform_real_distribution<double>(0, most)(random); };
    for (int trial = 0; trial < 200; ++trial) {
        INFO("trial " << trial);
        // The device is late, as on a TPU or in a graph; or the host is.
        const bool by_host = trial % 2 != 0;
        Both both;
        for (int part = 0; part < 3; ++part) {
            both.add(kernel(by_host ? 5 : 0, number(1), number(20)));
            std::vector<StreamWork> turn;
            for (int i = 0; i < 1 + trial % 4; ++i)
                turn.push_back(kernel(by_host ? 25 + number(10) : 0, number(1), number(20)));
            both.loop(turn, 5 + static_cast<int>(number(60)));
        }
        both.check(by_host ? 0.01 : 1e-12);
    }
}

TEST_CASE("a host that is slower than the device sets the pace when its lead is used up") {
    // A kernel of 1000 us gives the host a lead, which a loop of 10 us of host and 6 us of device uses up.
    for (const int turns : {10, 60, 500}) {
        INFO(turns << " turns");
        Both both;
        both.add(kernel(1, 1, 1000));
        both.loop({kernel(10, 1, 5)}, turns);
        both.add(kernel(1, 1, 5));
        both.check(0.02);
    }
}

TEST_CASE("loops within loops are stretched by both") {
    const StreamWork a = kernel(0, 1, 4), b = kernel(0, 1, 2);
    // a (a b^10)^100 a: the turn of the outer loop holds the turn of the inner one.
    const std::vector<StreamWork> work{a, a, b, a};
    const StreamSchedule schedule = schedule_streams(work, 0, {{1, 3, 100}, {2, 3, 10}});
    CHECK(schedule.division.total_us == Approx(5 + 100 * (5 + 10 * 3) + 5));
    CHECK(schedule.division.kernels_us == Approx(4 + 100 * (4 + 10 * 2) + 4));
    CHECK(schedule.division.gaps_us == Approx(1 + 100 * (1 + 10) + 1));
    CHECK(schedule.work[3].start_us == Approx(5 + 100 * 35 + 1));
    CHECK(schedule.work[1].end_us == Approx(5 + 100 * 5));
    // Without loops nothing changes, to the last bit.
    const StreamSchedule plain = schedule_streams(work, 0), once = schedule_streams(work, 0, {{1, 3, 1}});
    CHECK(plain.division.total_us == once.division.total_us);
    CHECK(plain.work[3].start_us == once.work[3].start_us);
}

TEST_CASE("amounts, counts and coverage of a step count every turn") {
    trace::Trace trace;
    for (const std::vector<std::int64_t>& turns :
         {std::vector<std::int64_t>{}, {1, 1'000'000}, {1, 1'000'000, 2, 3}, {}}) {
        const auto tensor = [&](std::vector<std::int64_t> shape) {
            trace::Tensor t;
            t.shape = std::move(shape);
            return trace.add(t);
        };
        trace::Op op;
        op.kind = trace::OpKind::matmul;
        op.inputs = {tensor({8, 8}), tensor({8, 8})};
        op.outputs = {tensor({8, 8})};
        if (!turns.empty()) op.set(keys::any.turns, turns);
        trace.add(op);
    }
    trace.check();
    OpOutcome outcome;
    KernelResult one;
    one.time_us = 2;
    one.gap_us = 1;
    one.cycles = 3000;
    one.warp_instructions = 70;
    one.dram_bytes = 512;
    one.energy = {{"tensor", 0.5}};
    one.throughputs["tensor"] = {"FLOP", 1024, 1e15};
    one.bound_by = "x";
    outcome.kernels.push_back(one);
    RunResult result;
    const std::vector<OpOutcome> outcomes(4, outcome);
    assemble_step(trace, outcomes, schedule_step(trace, outcomes), result);
    const double launches = 2 + 1e6 + 3e6;
    CHECK(result.step_time_us == Approx(3 * launches));
    CHECK(result.device_busy_us == Approx(2 * launches));
    CHECK(result.launch_gap_us == Approx(launches));
    REQUIRE(result.ops.size() == 1);
    CHECK(result.ops[0].count == 4'000'002);
    CHECK(result.ops[0].flops == 2.0 * 8 * 8 * 8 * launches);
    CHECK(result.ops[0].time_us == Approx(2 * launches));
    CHECK(result.energy.at("tensor") == Approx(0.5 * launches));
    CHECK(result.throughputs.at("tensor").amount == Approx(1024 * launches));
    CHECK(result.kernels[2].turns == 3e6);
    CHECK(result.kernels[2].cycles == 9'000'000'000u);
    CHECK(result.kernels[2].warp_instructions == 210'000'000u);
    CHECK(result.kernels[2].dram_bytes == 512 * 3e6);
    CHECK(result.kernels[3].turns == 1);
    CHECK(result.kernels[3].end_us == Approx(result.step_time_us));
}

TEST_CASE("what is not understood and was not recorded is unknown, and told by its name") {
    trace::Trace trace;
    trace::Tensor tensor;
    tensor.shape = {8};
    trace::Op op;
    op.name = "while w: its turns from 5 on are missing";
    op.outputs = {trace.add(tensor)};
    CHECK(describe_op(trace, op) == "unknown while w: its turns from 5 on are missing");
    op.measured_us = 5;
    CHECK(describe_op(trace, op) == "unknown 8 f32");
}
