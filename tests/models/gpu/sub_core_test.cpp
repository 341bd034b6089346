#include "models/gpu/sub_core.h"

#include <catch2/catch.hpp>
#include <numeric>

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

namespace {

constexpr Unit kFp32 = Unit::fma_heavy;
constexpr Unit kInteger = Unit::alu;

std::uint64_t cycles(const SubCore& core, CycleReason reason) {
    return core.cycles_by_reason()[static_cast<std::size_t>(reason)];
}

}  // namespace

TEST_CASE("the same warp goes on while it can, then the oldest, or the youngest") {
    for (const auto policy : {SchedulerPolicy::greedy_then_oldest, SchedulerPolicy::greedy_then_youngest}) {
        SubCore core;
        core.reset(policy, 4);
        for (const unsigned slot : {3u, 1u, 2u}) {  // in order of age
            core.add_warp(slot);
            core.set_next(slot, 0, kFp32, CycleReason::fixed_latency);
        }
        core.plan(10);
        const unsigned first = policy == SchedulerPolicy::greedy_then_oldest ? 3 : 2;
        REQUIRE(core.next_cycle() == 10);
        REQUIRE(core.next_slot() == first);
        core.issue(first, 10, kFp32, fine(1), 1);
        core.set_next(first, 0, kFp32, CycleReason::fixed_latency);
        core.plan(11);
        REQUIRE(core.next_slot() == first);  // greedy
        core.issue(first, 11, kFp32, fine(1), 1);
        core.set_next(first, fixed_stamp(20), kFp32, CycleReason::fixed_latency);
        core.plan(12);
        REQUIRE(core.next_cycle() == 12);
        REQUIRE(core.next_slot() == 1 + (policy == SchedulerPolicy::greedy_then_oldest ? 0u : 0u));
    }
}

TEST_CASE("round robin takes the next slot in turn") {
    SubCore core;
    core.reset(SchedulerPolicy::round_robin, 4);
    for (unsigned slot = 0; slot < 4; ++slot) {
        core.add_warp(slot);
        core.set_next(slot, 0, kFp32, CycleReason::fixed_latency);
    }
    for (Cycle now = 1; now < 20; ++now) {
        core.plan(now);
        REQUIRE(core.next_slot() == now % 4);
        core.issue(core.next_slot(), now, kFp32, fine(1), 1);
        core.set_next(core.next_slot(), 0, kFp32, CycleReason::fixed_latency);
    }
}

TEST_CASE("every cycle is attributed to one reason") {
    SubCore core;
    core.reset(SchedulerPolicy::greedy_then_oldest, 4);
    core.plan(0);
    core.account(5);  // 0..4: nothing launched yet
    core.add_warp(0);
    core.set_next(0, fixed_stamp(8), kInteger, CycleReason::fixed_latency);
    core.plan(5);
    REQUIRE(core.next_cycle() == 8);  // 5..7: fixed latency
    core.issue(0, 8, kInteger, fine(4), 1);
    core.set_next(0, memory_stamp(10), kInteger,
                  CycleReason::memory);  // 9: memory; 10..11: pipeline busy until 12
    core.plan(9);
    REQUIRE(core.next_cycle() == 12);
    core.issue(0, 12, kInteger, fine(4), 1);
    core.account(13);
    core.set_next(0, kPending, kInteger, CycleReason::barrier);
    core.plan(13);
    REQUIRE(core.next_cycle() == kNever);
    core.account(20);  // 13..19: barrier
    core.remove_warp(0);
    core.plan(20);
    core.account(23);  // 20..22: no warp left
    REQUIRE(cycles(core, CycleReason::not_launched) == 5);
    REQUIRE(cycles(core, CycleReason::no_warp) == 3);
    REQUIRE(cycles(core, CycleReason::fixed_latency) == 3);
    REQUIRE(cycles(core, CycleReason::issued) == 2);
    REQUIRE(cycles(core, CycleReason::memory) == 1);
    REQUIRE(cycles(core, CycleReason::pipeline_busy) == 2);
    REQUIRE(cycles(core, CycleReason::barrier) == 7);
}

TEST_CASE("intervals that are not whole cycles average out") {
    SubCore core;
    core.reset(SchedulerPolicy::greedy_then_oldest, 4);
    core.add_warp(0);
    core.set_next(0, 0, kFp32, CycleReason::fixed_latency);
    Cycle now = 0;
    for (int i = 0; i < 1000; ++i) {
        core.plan(now);
        now = core.next_cycle();
        core.issue(0, now, kFp32, fine(6.0625), 1);
        core.set_next(0, 0, kFp32, CycleReason::fixed_latency);
    }
    REQUIRE(static_cast<double>(now) == Approx(999 * 6.0625).margin(1));
}
