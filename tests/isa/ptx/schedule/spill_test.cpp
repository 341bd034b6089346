// Kernels that may have fewer registers than they need: local memory holds the rest, and every bit is as
// before.
#include <catch2/catch.hpp>

#include "../launch.h"
#include "isa/ptx/machine/machine.h"
#include "random_program.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

/// The module with a directive at its only kernel.
std::string with_directive(std::string text, const std::string& directive) {
    text.insert(text.find("\n{") + 1, directive + "\n");
    return text;
}

/// `values` loads, all alive until the products at the end, in a loop of eight turns.
std::string many_values(unsigned values) {
    std::string body =
        "ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
        "add.u64 %rd1, %rd1, %rd2;\nmov.u32 %r2, 8;\nloop:\n";
    const auto f = [](unsigned n) { return "%f" + std::to_string(n); };
    for (unsigned v = 0; v < values; ++v)
        body += "ld.global.f32 " + f(v) + ", [%rd1+" + std::to_string(256 * v) + "];\n";
    body += "mov.f32 %f200, 0f3F800000;\n";
    for (unsigned round = 0; round < 2; ++round)
        for (unsigned v = 0; v < values; ++v)
            body += "fma.rn.f32 %f200, %f200, " + f((v * 7 + round) % values) + ", " + f(v) + ";\n";
    body += "st.global.f32 [%rd1], %f200;\nadd.s32 %r2, %r2, -1;\nsetp.ne.s32 %p1, %r2, 0;\n@%p1 bra loop;\n";
    return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry test(.param .u64 p)\n{\n"
           ".reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .f32 %f<201>;\n.reg .b64 %rd<4>;\n" +
           body + "ret;\n}\n";
}

LoadedKernel load(const std::string& text, unsigned capability = 80) {
    return LoadedKernel(parse_shared(text, "spill.ptx"), "test", capability, Assembly::scheduled);
}

}  // namespace

TEST_CASE("spills: random programs compute the same bits with sixteen registers", "[schedule]") {
    unsigned spilled = 0, fits = 0;
    for (std::uint32_t seed = 1; seed <= 300; ++seed) {
        const std::string text = random_module(seed);
        const LoadedKernel free = load(text, 90), tight = load(with_directive(text, ".maxnreg 16"), 90);
        CAPTURE(seed);
        REQUIRE(free.spills().stack_bytes == 0);
        if (free.register_count() <= 16) {
            REQUIRE(tight.spills().stack_bytes == 0);
            continue;
        }
        REQUIRE(tight.spills().stack_bytes > 0);
        REQUIRE(tight.spills().store_bytes >= tight.spills().stack_bytes);
        ++spilled;
        fits += tight.register_count() <= 16 ? 1 : 0;
        const RandomRun expected = run_random(free, seed), outcome = run_random(tight, seed);
        REQUIRE(outcome.results == expected.results);
        REQUIRE(outcome.data == expected.data);
    }
    CHECK(spilled > 200);
    CHECK(fits > 0.95 * spilled);
}

TEST_CASE("spills: none where the values fit, one slot for each that does not", "[schedule]") {
    const std::string text = many_values(40);
    const LoadedKernel free = load(text);
    REQUIRE(free.register_count() > 44);  // 40 values, the sum, an address, a counter
    CHECK(load(with_directive(text, ".maxnreg 56")).spills().stack_bytes == 0);
    for (const unsigned limit : {24u, 32u, 40u}) {
        const LoadedKernel tight = load(with_directive(text, ".maxnreg " + std::to_string(limit)));
        CAPTURE(limit);
        CHECK(tight.register_count() <= limit);
        CHECK(tight.registers_per_thread() <= limit);
        // As many values at least as there are too few registers; each is written and read once or more.
        const unsigned too_few = free.register_count() - limit;
        CHECK(tight.spills().stack_bytes >= 4 * too_few);
        CHECK(tight.spills().stack_bytes <= 4 * (too_few + 6));
        CHECK(tight.spills().load_bytes >= tight.spills().stack_bytes);
    }
    // 1024 threads in two blocks leave 32 registers.
    CHECK(load(with_directive(text, ".maxntid 1024, 1, 1\n.minnctapersm 2")).register_count() <= 32);
}

TEST_CASE("spills: pointers and loop counters in local memory still steer, and data still do not",
          "[schedule]") {
    const LoadedKernel free = load(many_values(40)),
                       tight = load(with_directive(many_values(40), ".maxnreg 16"));
    REQUIRE(tight.spills().stack_bytes > 0);
    CHECK(tight.steering_reads().empty());
    CHECK(std::vector(tight.skipped_writes().begin(), tight.skipped_writes().end()) ==
          std::vector(free.skipped_writes().begin(), free.skipped_writes().end()));
    std::size_t stores = 0;
    for (const InstructionInfo& info : tight.instructions())
        if (info.spill) stores += info.writes_memory ? 1 : 0;
    CHECK(tight.steering_instructions() <= free.steering_instructions() + 8);
    CHECK(stores > 20);
}
