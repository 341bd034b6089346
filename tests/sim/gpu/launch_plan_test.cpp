#include "sim/gpu/plan/launch_plan.h"

#include <catch2/catch.hpp>
#include <cstring>

using namespace heddle;
using namespace heddle::sim;

namespace {

program::GpuProgram program_of(const std::vector<std::vector<program::Argument>>& launches,
                               std::uint64_t bytes) {
    program::GpuProgram program;
    for (int i = 0; i < 4; ++i) program.buffers.push_back({"b" + std::to_string(i), bytes, std::nullopt});
    const auto text = std::make_shared<const program::KernelText>(program::KernelText{"text", "entry"});
    for (const auto& arguments : launches) {
        program::KernelLaunch launch;
        launch.kernel = text;
        launch.arguments = arguments;
        program.launches.push_back(launch);
    }
    return program;
}

program::Argument pointer(program::BufferId buffer, std::uint64_t offset = 0) {
    return program::BufferArgument{buffer, offset};
}

}  // namespace

TEST_CASE("equal kernels on other buffers are the same kernel") {
    // 4 MB of cache for buffers of 8 MB: each launch finds its operands cold but for the tail of the last one
    // used.
    const program::GpuProgram program = program_of({{pointer(0), pointer(1), program::scalar_u32(7)},
                                                    {pointer(2), pointer(3), program::scalar_u32(7)},
                                                    {pointer(0), pointer(1), program::scalar_u32(8)},
                                                    {pointer(2), pointer(2), program::scalar_u32(7)},
                                                    {pointer(0), pointer(1, 256), program::scalar_u32(7)}},
                                                   8 << 20);
    const std::vector<PlannedLaunch> plan = plan_launches(program, 4 << 20);
    REQUIRE(plan.size() == 5);
    CHECK(plan[0].key == plan[1].key);  // the layout is canonical
    CHECK(plan[0].key != plan[2].key);  // another scalar
    CHECK(plan[0].key != plan[3].key);  // operands that alias
    CHECK(plan[0].key != plan[4].key);  // another offset
    CHECK(plan[3].buffers.size() == 1);
}

TEST_CASE("what L2 holds is part of the key") {
    const program::GpuProgram program = program_of({{pointer(0)}, {pointer(0)}, {pointer(0)}}, 1 << 20);
    const std::vector<PlannedLaunch> plan = plan_launches(program, 4 << 20);
    CHECK(plan[0].buffers[0].resident_bytes == 0);
    CHECK(plan[1].buffers[0].resident_bytes == 1 << 20);
    CHECK(plan[0].key != plan[1].key);
    CHECK(plan[1].key == plan[2].key);
}

TEST_CASE("in the midst of a step as many lines wait to be written as a launch makes dirty") {
    // Buffers of 8 MB; two partitions of 4 MB.
    const program::GpuProgram program =
        program_of({{pointer(0), pointer(1)}, {pointer(2)}, {pointer(1)}, {pointer(1), pointer(3)}}, 8 << 20);
    const L2InUse l2{4 << 20, 2, {{{0}, {1}}, {{}, {2}}, {{1}, {1}}, {{1}, {3}}}};
    const std::vector<PlannedLaunch> plan = plan_launches(program, l2);
    // A copy replaces two lines for each that it reads, and one for each that it writes.
    CHECK(plan[0].others_dirty == Approx(1.0 / 3));
    CHECK(plan[1].others_dirty == Approx(1));
    // The fill pushed out what the copy had left; read and written in place.
    CHECK(plan[2].buffers[0].resident_bytes == 0);
    CHECK(plan[2].others_dirty == Approx(0.5));
    // What was changed in place lies in its home alone, half of it in each partition: all is there.
    CHECK(plan[3].buffers[0].resident_bytes == 8 << 20);
    CHECK(plan[3].buffers[0].dirty);
    CHECK(plan[3].others_dirty == Approx(1));
    CHECK(plan[0].key != plan_launches(program, 4 << 20)[0].key);
}

TEST_CASE("launches that replace few lines of L2 find it as it was") {
    const program::GpuProgram program = program_of({{pointer(0), pointer(1)}}, 64 << 10);
    CHECK_FALSE(plan_launches(program, L2InUse{4 << 20, 2, {{{0}, {1}}}})[0].others_dirty.has_value());
}

TEST_CASE("steering values are integers in their range, and always the same") {
    program::SteeringFill fill;
    fill.kind = program::SteeringFill::Kind::uniform_integers;
    fill.element_bytes = 8;
    fill.low = 10;
    fill.high = 17;
    const std::vector<std::byte> a = steering_values(fill, 8 * 1000);
    std::vector<int> seen(17, 0);
    for (int i = 0; i < 1000; ++i) {
        std::int64_t value;
        std::memcpy(&value, &a[8 * static_cast<std::size_t>(i)], 8);
        REQUIRE((value >= 10 && value < 17));
        ++seen[static_cast<std::size_t>(value)];
    }
    // 1000 / 7 = 143 each; five standard deviations are 55.
    for (int value = 10; value < 17; ++value)
        CHECK(std::abs(seen[static_cast<std::size_t>(value)] - 143) < 55);
    CHECK(a == steering_values(fill, 8 * 1000));
    fill.seed = 2;
    CHECK(a != steering_values(fill, 8 * 1000));
}

TEST_CASE("counting steering values repeat as told") {
    program::SteeringFill fill;
    fill.kind = program::SteeringFill::Kind::iota;
    fill.every = 3;
    fill.modulo = 2;
    const std::vector<std::byte> bytes = steering_values(fill, 4 * 8);
    std::vector<std::uint32_t> values(8);
    std::memcpy(values.data(), bytes.data(), bytes.size());
    CHECK(values == std::vector<std::uint32_t>{0, 0, 0, 1, 1, 1, 0, 0});
}
