// Eviction policies and translation, by what reaches memory and how long a chase takes.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"

using namespace heddle;
using namespace heddle::models;
using namespace heddle::models::gpu;

namespace {

constexpr std::uint64_t kWorkingSet = 1 << 20, kStream = 16 << 20;

/// One block of 1,024 threads reads a working set of 1 MiB (p0), a stream of 16 MiB (p1) and the working set
/// again.
std::string reuse_around_stream(const std::string& set_load, const std::string& stream_load,
                                const std::string& before = "") {
    const auto loop = [](const std::string& name, const std::string& base, unsigned turns,
                         const std::string& load) {
        return "    mov.u64 %rd3, " + base + ";\n    mov.u32 %r1, " + std::to_string(turns) + ";\n" + name +
               ":\n    " + load +
               ";\n    add.u64 %rd3, %rd3, 16384;\n    add.s32 %r1, %r1, -1;\n"
               "    setp.ne.s32 %p1, %r1, 0;\n    @%p1 bra " +
               name + ";\n    bar.sync 0;\n";
    };
    const auto v4 = [](const std::string& operation) {
        const bool hint = operation.find("cache_hint") != std::string::npos;
        return operation + ".v4.f32 {%f0, %f1, %f2, %f3}, [%rd3]" + (hint ? ", %rd9" : "");
    };
    return kernel_text(
        "    ld.param.u64 %rd1, [p0];\n    ld.param.u64 %rd2, [p1];\n    mov.u32 %r2, %tid.x;\n"
        "    mul.wide.u32 %rd4, %r2, 16;\n    add.u64 %rd1, %rd1, %rd4;\n"
        "    add.u64 %rd2, %rd2, %rd4;\n" +
            before + loop("first", "%rd1", kWorkingSet / 16384, v4(set_load)) +
            loop("stream", "%rd2", kStream / 16384, v4(stream_load)) +
            loop("again", "%rd1", kWorkingSet / 16384, v4(set_load)),
        2);
}

}  // namespace

TEST_CASE("a stream that is to go first, or a set that is to go last, leaves the set in L2") {
    GpuConfig config;
    config.l2.bytes = 4 << 20;  // 2 MiB to each partition
    GpuTestBench bench(config);
    const std::uint64_t set = bench.memory.allocate("set", kWorkingSet, false),
                        stream = bench.memory.allocate("stream", kStream, false);
    const auto read = [&](const std::string& text, const ptx::AccessPolicyWindow& window = {}) {
        TestLaunch launch = bench.launch(text, 1, 1024, {set, stream}, ptx::Mode::timing);
        launch.context.access_policy_window = window;
        return bench.gpu.run(launch.context).dram_read_bytes;
    };
    const std::string plain = "ld.global.cg";
    CHECK(read(reuse_around_stream(plain, plain)) == 2 * kWorkingSet + kStream);
    CHECK(read(reuse_around_stream(plain, "ld.global.cs")) == kWorkingSet + kStream);
    const std::string hinted = "ld.global.cg.L2::cache_hint";
    const auto policy = [](const std::string& kind) {
        return "    createpolicy.fractional.L2::" + kind + ".b64 %rd9, 1.0;\n";
    };
    CHECK(read(reuse_around_stream(hinted, plain, policy("evict_last"))) == kWorkingSet + kStream);
    CHECK(read(reuse_around_stream(plain, hinted, policy("evict_first"))) == kWorkingSet + kStream);
    CHECK(read(reuse_around_stream(plain, hinted, policy("evict_normal"))) == 2 * kWorkingSet + kStream);

    ptx::AccessPolicyWindow window{set, kWorkingSet, 1, ptx::CachePriority::last};
    CHECK(read(reuse_around_stream(plain, plain), window) == kWorkingSet + kStream);
    window.hit_ratio = 0.5;  // half of its lines stay
    CHECK(static_cast<double>(read(reuse_around_stream(plain, plain), window)) ==
          Approx(1.5 * kWorkingSet + kStream).epsilon(0.005));
    window = {stream, kStream, 1, ptx::CachePriority::first};
    CHECK(read(reuse_around_stream(plain, plain), window) == kWorkingSet + kStream);
}

TEST_CASE("pages that an SM, or its GPC, does not know make a chase longer") {
    GpuConfig config;
    config.translation.page_bytes = 65536;
    config.translation.gpc_entries = 256;
    GpuTestBench bench(config);
    const std::uint64_t out = bench.memory.allocate("out", 8, true);
    // One line of each page; the line's place differs, so that they do not meet in one set of L2.
    const auto chase = [&](std::uint64_t pages) {
        const std::uint64_t ring = bench.pointer_ring(pages, 65536 + 128);
        const auto laps = static_cast<unsigned>(pages);
        return bench.cycles_per_turn([](unsigned turns) { return pointer_chase(turns, "cg"); }, 1, 1,
                                     {ring, out}, 4 * laps, 8 * laps);
    };
    const double near = chase(12);  // of 16 that the SM knows
    CHECK(near == Approx(264.4).epsilon(0.03));
    CHECK(chase(64) - near == Approx(config.translation.sm_miss_latency).margin(2));
    // Four times what the GPC knows, in a circle: every page has gone when it comes again.
    CHECK(chase(1024) - near ==
          Approx(config.translation.sm_miss_latency + config.translation.walk_latency).epsilon(0.03));
}
