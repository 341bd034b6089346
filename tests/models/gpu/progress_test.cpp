// Kernels that would go round in loops for ever end with a clear error; those that only take long do not.
#include <catch2/catch.hpp>
#include <cstring>

#include "gpu_test_bench.h"
#include "isa/common/error.h"
#include "models/gpu/progress_watch.h"

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

namespace {

GpuConfig small_gpu() {
    GpuConfig config;
    config.sm.count = 6;
    config.l2.slices = 8;
    config.l2.bytes = 1 << 20;
    config.hbm.channels = 4;
    config.hbm.bandwidth = 3.35e11;
    return config;
}

/// Waits for the word at p0 to become 1.
const char* const kWaitsForFlag = R"(
    ld.param.u64 %rd1, [p0];
spin:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.ne.u32 %p1, %r1, 1;
    @%p1 bra spin;
)";

/// Block 0 waits for the word at p0; block 1 counts for `turns` turns and then sets it.
std::string slow_setter(unsigned turns) {
    return R"(
    ld.param.u64 %rd1, [p0];
    mov.u32 %r2, %ctaid.x;
    setp.eq.u32 %p2, %r2, 1;
    @%p2 bra count;
spin:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.ne.u32 %p1, %r1, 1;
    @%p1 bra spin;
    bra end;
count:
    mov.u32 %r3, )" +
           std::to_string(turns) + R"(;
turn:
    sub.u32 %r3, %r3, 1;
    setp.ne.u32 %p3, %r3, 0;
    @%p3 bra turn;
    mov.u32 %r4, 1;
    st.volatile.global.u32 [%rd1], %r4;
end:
)";
}

struct Flag {
    GpuTestBench bench{small_gpu()};
    std::uint64_t address = bench.memory.allocate("flag", 64, true);

    std::string error_of(const std::string& body, unsigned grid, unsigned block,
                         ptx::Mode mode = ptx::Mode::timing) {
        const std::uint32_t zero = 0;
        bench.memory.write(address, std::as_bytes(std::span(&zero, 1)));
        RunOptions options;
        options.limit = 100'000'000;
        try {
            bench.run(kernel_text(body, 1), grid, block, {address}, options, mode);
        } catch (const Error& error) {
            return error.what();
        }
        return "";
    }
};

}  // namespace

TEST_CASE("a kernel that waits for ever in a loop ends with an error that says where") {
    Flag flag;
    for (const ptx::Mode mode : {ptx::Mode::timing, ptx::Mode::functional}) {
        const std::string error = flag.error_of(kWaitsForFlag, 3, 64, mode);
        CHECK_THAT(error, Catch::Contains("kernel hangs") && Catch::Contains("go round in loops") &&
                              Catch::Contains("is at line") && Catch::Contains("a flag that nobody sets"));
    }
    // One instruction that jumps to itself; a lock that somebody else holds, with lanes that compete.
    CHECK_THAT(flag.error_of("spin:\n    bra spin;\n", 1, 32), Catch::Contains("go round in loops"));
    CHECK_THAT(flag.error_of(R"(
    ld.param.u64 %rd1, [p0];
    mov.u32 %r2, 1;
    st.global.u32 [%rd1], %r2;
    membar.gl;
spin:
    atom.global.cas.b32 %r1, [%rd1], 0, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra spin;
)",
                             6, 128),
               Catch::Contains("go round in loops"));
    // Some wait in a loop, others at a barrier.
    CHECK_THAT(flag.error_of(R"(
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p2, %r2, 32;
    @%p2 bra barrier;
)" + std::string(kWaitsForFlag) + "barrier:\n    bar.sync 0;\n",
                             1, 64),
               Catch::Contains("go round in loops") && Catch::Contains("barrier 0"));
    // And the machine can be used again.
    CHECK(flag.error_of("    mov.u32 %r1, 1;\n", 4, 32).empty());
}

TEST_CASE("a kernel that only takes long is no endless loop") {
    Flag flag;
    // Longer than the watch is patient; nothing happens meanwhile but a counter in a register.
    const unsigned turns = 3 * ProgressWatch::kQuiet / 20;
    CHECK(flag.error_of(slow_setter(turns), 2, 32).empty());
    CHECK(flag.error_of(slow_setter(turns), 2, 32, ptx::Mode::functional).empty());
    // A wait of a stated time.
    CHECK(flag.error_of(R"(
    mov.u64 %rd1, %clock64;
    add.u64 %rd1, %rd1, 3000000;
spin:
    mov.u64 %rd2, %clock64;
    setp.lt.u64 %p1, %rd2, %rd1;
    @%p1 bra spin;
)",
                        1, 32)
              .empty());
}

TEST_CASE("looking for progress changes no cycle") {
    GpuTestBench bench(small_gpu());
    const std::uint64_t flag = bench.memory.allocate("flag", 64, true);
    const std::string text = kernel_text(slow_setter(ProgressWatch::kQuiet / 8), 1);
    const auto cycles = [&](bool every_cycle) {
        const std::uint32_t zero = 0;
        bench.memory.write(flag, std::as_bytes(std::span(&zero, 1)));
        RunOptions options;
        options.tick_every_cycle = every_cycle;
        return bench.run(text, 2, 32, {flag}, options, ptx::Mode::timing).cycles;
    };
    const Cycle skipping = cycles(false);
    CHECK(skipping > ProgressWatch::kQuiet);
    CHECK(cycles(true) == skipping);
}
