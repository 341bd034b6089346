// Schedules worked out by hand, and what must hold of any.
#include "sim/run/schedule/streams.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <random>

using namespace heddle::sim;

namespace {

StreamWork kernel(std::uint32_t stream, double time, double places,
                  std::map<std::string, double> demand = {}) {
    StreamWork work;
    work.stream = stream;
    work.time_us = time;
    work.waves = places;
    work.demand = std::move(demand);
    return work;
}

double sum_of(const StepDivision& d) {
    return d.kernels_us + d.communication_us + d.copies_us + d.gaps_us + d.host_us;
}

}  // namespace

TEST_CASE("small kernels of two streams run side by side, full ones one after the other") {
    // Half of the places each: no one waits.
    CHECK(schedule_streams({kernel(0, 10, 0.5), kernel(1, 10, 0.5)}, 0).division.total_us == Approx(10));
    // The second finds no place until the first has ended.
    CHECK(schedule_streams({kernel(0, 10, 1), kernel(1, 10, 1)}, 0).division.total_us == Approx(20));
    // The second gets 0.4 of the 0.8 places that it wants: half of its work in 10 us, the rest alone in 5.
    const StreamSchedule partly = schedule_streams({kernel(0, 10, 0.6), kernel(1, 10, 0.8)}, 0);
    CHECK(partly.work[0].end_us == Approx(10));
    CHECK(partly.work[1].end_us == Approx(15));
    CHECK(partly.division.overlapped_us == Approx(10));
}

TEST_CASE("kernels that want the same resource slow each other down, others do not") {
    // 0.8 + 0.7 of the memory's bandwidth: both run at 1 / 1.5. After 15 us both have done 10.
    const StreamSchedule same =
        schedule_streams({kernel(0, 10, 0.5, {{"dram", 0.8}}), kernel(1, 10, 0.5, {{"dram", 0.7}})}, 0);
    CHECK(same.division.total_us == Approx(15));
    const StreamSchedule different =
        schedule_streams({kernel(0, 10, 0.5, {{"dram", 0.8}}), kernel(1, 10, 0.5, {{"tensor", 0.7}})}, 0);
    CHECK(different.division.total_us == Approx(10));
    // A collective that takes a quarter of the bandwidth stretches a kernel that takes all of it by a
    // quarter.
    StreamWork collective = kernel(1, 100, 1, {{"dram", 0.25}});
    collective.engine = Engine::network;
    const StreamSchedule beside = schedule_streams({kernel(0, 10, 1, {{"dram", 1}}), collective}, 0);
    CHECK(beside.work[0].end_us == Approx(12.5));
    CHECK(beside.work[1].end_us == Approx(102.5));
}

TEST_CASE("a collective keeps SMs: a kernel that needs them all takes longer, others do not") {
    StreamWork collective = kernel(1, 100, 1);
    collective.engine = Engine::network;
    collective.holds = 0.25;
    const auto end_beside = [&](double places, std::map<std::string, double> demand) {
        return schedule_streams({collective, kernel(0, 12, places, std::move(demand))}, 0).work[1].end_us;
    };
    CHECK(end_beside(9, {{"tensor", 1}}) == Approx(16));          // three quarters of the SMs: twelve waves
    CHECK(end_beside(8, {{"tensor", 1}}) == Approx(16.5));        // eleven
    CHECK(end_beside(1, {{"tensor", 1}}) == Approx(24));          // two
    CHECK(end_beside(1, {}) == Approx(24));                       // waits for latencies
    CHECK(end_beside(1, {{"dram bandwidth", 1}}) == Approx(12));  // memory gives no more to more SMs
    CHECK(end_beside(0.75, {{"tensor", 0.75}}) == Approx(12));    // the SMs left are enough
    // Memory for 0.4 of its time: the other 0.6 need SMs, 0.75 of which are there.
    CHECK(end_beside(9, {{"dram bandwidth", 0.4}}) == Approx(12));
    CHECK(end_beside(9, {{"dram bandwidth", 0.1}}) == Approx(12 * 0.9 / 0.75));
}

TEST_CASE("a kernel's end waits for what a collective beside it writes to other devices") {
    StreamWork collective = kernel(1, 50, 1);
    collective.engine = Engine::network;
    collective.flush_us = 4;
    const std::vector<StreamWork> work{collective, kernel(0, 10, 1), kernel(0, 35, 1), kernel(0, 10, 1)};
    const StreamSchedule schedule = schedule_streams(work, 0);
    CHECK(schedule.work[1].end_us == Approx(14));
    // The next begins after that, and ends beside the collective too; the last ends alone.
    CHECK(schedule.work[2].start_us == Approx(14));
    CHECK(schedule.work[2].end_us == Approx(53));
    CHECK(schedule.work[3].end_us == Approx(63));
    CHECK(schedule.work[0].end_us == Approx(50));
    // Not before it writes, and not after.
    std::vector<StreamWork> later = work, earlier = work;
    later[0].writes_from = 0.5;
    CHECK(schedule_streams(later, 0).work[1].end_us == Approx(10));
    CHECK(schedule_streams(later, 0).work[2].end_us == Approx(49));
    earlier[0].writes_until = 0.5;
    CHECK(schedule_streams(earlier, 0).work[1].end_us == Approx(14));
    CHECK(schedule_streams(earlier, 0).work[2].end_us == Approx(49));
}

TEST_CASE("a kernel's end waits for a copy beside it, and twice where a collective writes too") {
    StreamWork copy = kernel(1, 100, 1), collective = kernel(2, 30, 1);
    copy.engine = Engine::copy;
    copy.flush_us = 3;
    collective.engine = Engine::network;
    collective.flush_us = 5;
    const StreamSchedule alone = schedule_streams({copy, kernel(0, 10, 1)}, 0);
    CHECK(alone.work[1].end_us == Approx(13));
    const StreamSchedule both = schedule_streams({copy, collective, kernel(0, 10, 1), kernel(0, 10, 1)}, 0);
    CHECK(both.work[2].end_us == Approx(10 + 5 + 2 * 3));
    CHECK(both.work[3].end_us == Approx(21 + 10 + 3));
}

TEST_CASE("copies share one engine and wait for each other, in whatever stream") {
    StreamWork first = kernel(1, 10, 1), second = kernel(2, 10, 1);
    first.engine = second.engine = Engine::copy;
    const StreamSchedule schedule = schedule_streams({first, second, kernel(0, 15, 1)}, 0);
    CHECK(schedule.division.total_us == Approx(20));
    CHECK(schedule.division.copies_us == Approx(5));
    CHECK(schedule.division.kernels_us == Approx(15));
}

TEST_CASE("the host waits for a copy that it needs, and everything after it starts late") {
    StreamWork copy = kernel(0, 10, 1), after = kernel(0, 10, 1);
    copy.engine = Engine::copy;
    copy.host_us = after.host_us = 3;
    copy.blocks_host = true;
    const StreamSchedule schedule = schedule_streams({copy, after}, 0);
    CHECK(schedule.work[0].end_us == Approx(13));
    CHECK(schedule.work[1].start_us == Approx(16));
    CHECK(schedule.division.host_us == Approx(6));
}

TEST_CASE("any schedule keeps order and dependencies, never asks too much of the device, and adds up") {
    std::mt19937 random(7);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    for (int round = 0; round < 200; ++round) {
        std::vector<StreamWork> work;
        double sum = 0, host = 0;
        for (std::size_t i = 0; i < 40; ++i) {
            StreamWork one =
                kernel(below(4), 1 + below(20), 0.1 + 0.1 * below(10), {{"dram", 0.1 * below(11)}});
            one.engine = static_cast<Engine>(below(8) < 6 ? 0 : 1 + below(2));
            one.gap_us = 0.5 * below(3);
            one.host_us = 0.5 * below(6);
            one.blocks_host = below(12) == 0;
            if (i > 0 && below(3) == 0) one.after.push_back(below(static_cast<unsigned>(i)));
            sum += one.time_us + one.gap_us;
            host += one.host_us;
            work.push_back(one);
        }
        const StreamSchedule schedule = schedule_streams(work, 1);
        const StepDivision& d = schedule.division;
        CHECK(sum_of(d) == Approx(d.total_us));
        CHECK(d.total_us <= Approx(sum + host + 40));  // no worse than one after the other
        double kernels_alone = 0;
        std::map<std::uint32_t, double> stream_end;
        for (std::size_t i = 0; i < work.size(); ++i) {
            const WorkTimes& times = schedule.work[i];
            CHECK(times.end_us - times.start_us >= work[i].time_us * (1 - 1e-9));
            CHECK(times.start_us >= times.launched_us);
            CHECK(times.start_us + 1e-9 >= stream_end[work[i].stream] + work[i].gap_us);
            for (const std::size_t before : work[i].after)
                CHECK(times.start_us + 1e-9 >= schedule.work[before].end_us);
            stream_end[work[i].stream] = times.end_us;
            if (work[i].engine == Engine::kernels) kernels_alone += work[i].time_us * work[i].waves;
        }
        // Places times time is a quantity that no schedule can save.
        CHECK(d.total_us >= kernels_alone * (1 - 1e-9));
    }
}
