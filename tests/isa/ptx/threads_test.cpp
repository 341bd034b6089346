// Launches that several threads of the host share: the same values, the same count, the same error.
#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "launch.h"

using namespace heddle;
using namespace heddle::ptx;
using namespace heddle::ptx::test;

namespace {

/// out[i] = number of steps of Collatz's sequence from i: uneven work for thread blocks. A value in `traps` ends the kernel.
const char* const kUnevenBody = R"(
    .reg .u64 %out, %at; .reg .u32 %i, %n, %steps, %odd, %trap; .reg .pred %done, %is_odd, %hit;
    ld.param.u64 %out, [out]; ld.param.u32 %trap, [trap];
    mov.u32 %i, %ctaid.x; mov.u32 %n, %ntid.x; mul.lo.u32 %i, %i, %n; mov.u32 %n, %tid.x; add.u32 %i, %i, %n;
    setp.ge.u32 %hit, %i, %trap; @%hit trap;
    add.u32 %n, %i, 1; mov.u32 %steps, 0;
LOOP:
    setp.eq.u32 %done, %n, 1; @%done bra END;
    and.b32 %odd, %n, 1; setp.ne.u32 %is_odd, %odd, 0;
    @!%is_odd shr.u32 %n, %n, 1;
    @%is_odd mad.lo.u32 %n, %n, 3, 1;
    add.u32 %steps, %steps, 1; bra LOOP;
END:
    mul.wide.u32 %at, %i, 4; add.u64 %at, %at, %out; st.global.u32 [%at], %steps;
    ret;
)";

constexpr std::uint32_t kBlocks = 200, kThreadsOfBlock = 64, kNoTrap = 0xffffffffu;

struct Outcome {
    std::vector<std::uint32_t> values;
    std::uint64_t instructions = 0;
    std::string error;
};

Outcome run_with(unsigned threads, std::uint32_t trap) {
    const Program program(module_text(".param .u64 out, .param .u32 trap", kUnevenBody), "test");
    Device device;
    const std::uint64_t out = device.upload("out", std::vector<std::uint32_t>(kBlocks * kThreadsOfBlock));
    LaunchContext launch = program.launch(device, {kBlocks, 1, 1}, {kThreadsOfBlock, 1, 1}, {argument(out), argument(trap)});
    launch.threads = threads;
    Outcome outcome;
    try {
        outcome.instructions = run_functionally(launch);
    } catch (const Error& error) {
        outcome.error = error.what();
    }
    outcome.values = device.download<std::uint32_t>(out, kBlocks * kThreadsOfBlock);
    return outcome;
}

bool is_independent(const std::string& body) {
    const Program program(module_text(".param .u64 out", ".reg .u64 %out; .reg .u32 %x; ld.param.u64 %out, [out];\n" + body + "\nret;"), "test");
    Device device;
    const std::uint64_t out = device.upload("out", std::vector<std::uint32_t>(1));
    return program.launch(device, {1, 1, 1}, {1, 1, 1}, {argument(out)}).kernel->blocks_are_independent();
}

}  // namespace

TEST_CASE("a launch gives the same with any number of threads") {
    const Outcome one = run_with(1, kNoTrap);
    REQUIRE(one.error.empty());
    CHECK(one.values[26] == 111);  // 27 takes 111 steps (OEIS A006577)
    for (const unsigned threads : {2u, 5u}) {
        const Outcome several = run_with(threads, kNoTrap);
        CHECK(several.values == one.values);
        CHECK(several.instructions == one.instructions);
    }
}

TEST_CASE("the error of a launch is that of its first thread block with one, however many threads there are") {
    const Outcome one = run_with(1, 150 * kThreadsOfBlock + 3);
    CHECK(one.error.find("CTA (150, 0, 0), warp 0, lane 3") != std::string::npos);
    for (int repetition = 0; repetition < 5; ++repetition) CHECK(run_with(4, 150 * kThreadsOfBlock + 3).error == one.error);
}

TEST_CASE("thread blocks that tell each other something are not independent") {
    CHECK(is_independent("st.global.u32 [%out], 1;"));
    CHECK(is_independent("ld.global.u32 %x, [%out]; bar.sync 0; membar.gl;"));
    CHECK(is_independent(".shared .u32 s; atom.shared.add.u32 %x, [s], 1;"));
    CHECK_FALSE(is_independent("atom.global.add.u32 %x, [%out], 1;"));
    CHECK_FALSE(is_independent("atom.add.u32 %x, [%out], 1;"));
    CHECK_FALSE(is_independent("red.global.add.u32 [%out], 1;"));
    CHECK_FALSE(is_independent("ld.volatile.global.u32 %x, [%out];"));
    CHECK_FALSE(is_independent("ld.acquire.gpu.global.u32 %x, [%out];"));
    CHECK_FALSE(is_independent("st.release.gpu.u32 [%out], 1;"));
    CHECK_FALSE(is_independent("mov.u32 %x, %clock;"));
}
