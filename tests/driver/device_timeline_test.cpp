#include "driver/server/device_timeline.h"

#include <catch2/catch.hpp>

#include "sim/hardware/load_hardware.h"

using namespace heddle;
using namespace heddle::driver;

namespace {

/// A kernel that leaves room for others.
sim::KernelResult kernel(double time_us) {
    sim::KernelResult result;
    result.name = result.op_name = "k";
    result.time_us = time_us;
    result.gap_us = 1;
    result.waves = 0.1;
    return result;
}

struct Fixture {
    sim::Hardware hardware = sim::load_hardware("h100-sxm");
    DeviceTimeline timeline{*sim::gpu_machine(hardware)};
    double step() { return timeline.result("x", hardware).step_time_us; }
};

}  // namespace

TEST_CASE("kernels of two streams run side by side, those of one stream and of the default stream do not") {
    Fixture apart, together, by_default, beside_default;
    for (const std::uint32_t stream : {2u, 2u}) apart.timeline.add_kernel(stream, kernel(100));
    for (const std::uint32_t stream : {2u, 3u}) together.timeline.add_kernel(stream, kernel(100));
    for (const std::uint32_t stream : {2u, 0u}) by_default.timeline.add_kernel(stream, kernel(100));
    beside_default.timeline.set_non_blocking(2);
    for (const std::uint32_t stream : {2u, 0u}) beside_default.timeline.add_kernel(stream, kernel(100));
    const double two = apart.step(), one = together.step();
    CHECK(two > 200);
    CHECK(one > 100);
    CHECK(one < 110);
    CHECK(by_default.step() == Approx(two));
    CHECK(beside_default.step() == Approx(one));
}

TEST_CASE("an event orders streams, and the time between two is that of the work between them") {
    Fixture f;
    f.timeline.record(1, 2);
    f.timeline.add_kernel(2, kernel(100));
    f.timeline.record(2, 2);
    f.timeline.wait(3, 2);
    f.timeline.add_kernel(3, kernel(50));
    f.timeline.record(3, 3);
    CHECK(f.timeline.elapsed(2, 3) * 1000 == Approx(51));
    CHECK(f.timeline.elapsed(1, 3) * 1000 > 151);
    // The same when everything is over, and later work is not in it.
    f.timeline.synchronise_all();
    f.timeline.add_kernel(2, kernel(1000));
    CHECK(f.timeline.elapsed(2, 3) * 1000 == Approx(51));
}

TEST_CASE("a copy runs beside a kernel of another stream, and the host that waits for it does nothing else") {
    Fixture beside, waiting;
    for (Fixture* f : {&beside, &waiting}) {
        f->timeline.add_copy(2, "copy from host", 5.5e6, 100e-6, true, f == &waiting);
        f->timeline.add_kernel(3, kernel(100));
    }
    CHECK(beside.step() < 115);
    CHECK(waiting.step() > 200);
}

TEST_CASE("a host that waits for one stream has handed out the work of others before", "[driver]") {
    const sim::Hardware hardware = sim::load_hardware("h100-sxm");
    DeviceTimeline timeline(*sim::gpu_machine(hardware));
    timeline.add_kernel(1, kernel(100));
    timeline.add_kernel(2, kernel(100));
    timeline.record(7, 1);
    timeline.synchronise_event(7);
    timeline.synchronise(2);
    timeline.synchronise_all();
    CHECK(timeline.now_us() > 100);
    CHECK(timeline.now_us() < 150);
    // The host goes on when the first has ended: what it hands out then comes later.
    timeline.add_kernel(1, kernel(10));
    timeline.synchronise(1);
    timeline.add_kernel(2, kernel(100));
    timeline.synchronise_all();
    const sim::RunResult result = timeline.result("w", hardware);
    REQUIRE(result.kernels.size() == 4);
    CHECK(result.kernels[3].launched_us > result.kernels[2].end_us);
}

TEST_CASE("an event follows what its stream waits for", "[driver]") {
    const sim::Hardware hardware = sim::load_hardware("h100-sxm");
    DeviceTimeline timeline(*sim::gpu_machine(hardware));
    timeline.record(1, 1);
    timeline.add_kernel(2, kernel(100));
    timeline.record(2, 2);
    timeline.wait(1, 2);
    timeline.record(3, 1);
    CHECK(timeline.elapsed(1, 3) > 0.1);
}

TEST_CASE("of two kernels that fill the device that with the higher priority ends first") {
    const auto ends = [](int first, int second) {
        Fixture f;
        f.timeline.record(1, 2);
        for (const std::uint32_t stream : {2u, 3u}) {
            sim::KernelResult full = kernel(100);
            full.waves = 4;
            f.timeline.add_kernel(stream, full, stream == 2 ? first : second);
            f.timeline.record(stream, stream);
        }
        return std::pair(f.timeline.elapsed(1, 2), f.timeline.elapsed(1, 3));
    };
    const auto equal = ends(0, 0), second_first = ends(0, -5);
    CHECK(equal.first < equal.second);
    CHECK(second_first.second < second_first.first);
    CHECK(second_first.first == Approx(equal.second).epsilon(0.05));
}

TEST_CASE("what the host works before it asks is waited for, once") {
    Fixture idle, working;
    for (Fixture* const f : {&idle, &working}) {
        f->timeline.set_non_blocking(2);
        f->timeline.add_kernel(2, kernel(10));
        f->timeline.record(1, 2);
        if (f == &working) f->timeline.host_works(500);
        f->timeline.add_kernel(2, kernel(10));
        f->timeline.record(2, 2);
        f->timeline.add_kernel(2, kernel(10));
        f->timeline.record(3, 2);
    }
    CHECK(idle.timeline.elapsed(1, 2) * 1000 < 20);
    CHECK(working.timeline.elapsed(1, 2) * 1000 > 490);
    CHECK(working.timeline.elapsed(2, 3) == Approx(idle.timeline.elapsed(2, 3)));
    CHECK(working.step() > 500);
    // Also where nothing comes behind it.
    Fixture alone;
    alone.timeline.host_works(300);
    CHECK(alone.step() == Approx(300));
}

TEST_CASE("where a launch would lie is told, and changes nothing") {
    Fixture f, untouched;
    for (Fixture* const one : {&f, &untouched}) one->timeline.add_kernel(2, kernel(100));
    const DeviceTimeline::Place behind = f.timeline.next(2), beside = f.timeline.next(3);
    CHECK(behind.start_us > 100);
    CHECK(beside.start_us < 50);
    CHECK(behind.launched_us == Approx(beside.launched_us));
    CHECK(f.step() == Approx(untouched.step()));
}
