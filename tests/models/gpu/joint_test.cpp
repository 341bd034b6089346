// Several launches in one run: who gets which places, what they cost one another, and who waits for whom.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"
#include "models/gpu/ptx_source.h"

namespace heddle::models::gpu {
namespace {

/// A loop of `turns` turns, about 20 cycles each.
std::string spin(unsigned turns, const std::string& before = "") {
    return kernel_text(before + "mov.u32 %r0, 0; again: add.u32 %r0, %r0, 1; setp.lt.u32 %p0, %r0, " + std::to_string(turns) +
                           "; @%p0 bra again; ret;",
                       1);
}

/// Launches with their sources, which a run names.
class Together {
  public:
    explicit Together(GpuTestBench& bench) : bench_(bench) {}
    void add(const std::string& text, unsigned grid, unsigned block, LaunchOrder order = {},
             std::vector<std::uint64_t> arguments = {0}, unsigned dynamic_shared = 0) {
        launches_.push_back(std::make_unique<TestLaunch>(
            bench_.launch(text, grid, block, arguments, ptx::Mode::functional, dynamic_shared)));
        sources_.push_back(std::make_unique<PtxSource>(launches_.back()->context));
        joint_.push_back({sources_.back().get(), std::move(order)});
    }
    JointResult run(const RunOptions& options = {}) const { return bench_.gpu.run_together(joint_, options); }

  private:
    GpuTestBench& bench_;
    std::vector<std::unique_ptr<TestLaunch>> launches_;
    std::vector<std::unique_ptr<PtxSource>> sources_;
    std::vector<JointLaunch> joint_;
};

LaunchOrder after(std::vector<std::uint32_t> launches, Cycle gap = 0) {
    LaunchOrder order;
    order.after = std::move(launches);
    order.gap = gap;
    return order;
}

RunOptions audited() {
    RunOptions options;
    options.audit = true;
    return options;
}

}  // namespace

TEST_CASE("a launch that runs together with none takes the cycles that it takes alone", "[models_gpu]") {
    GpuTestBench bench;
    const std::string text = loop_of("fma.rn.f32 %f1, %f2, %f3, %f1;", 50);
    const KernelResult alone = bench.run(text, 700, 96, {});
    Together together(bench);
    together.add(text, 700, 96, {}, {});
    const JointResult result = together.run();
    CHECK(result.all.cycles == alone.cycles);
    CHECK(result.all.warp_instructions == alone.warp_instructions);
    REQUIRE(result.launches.size() == 1);
    CHECK(result.launches[0].ctas == 700);
    CHECK(result.launches[0].begin == 1);
    CHECK(result.launches[0].end + result.all.launch_cycles == alone.cycles);
}

TEST_CASE("two small launches run side by side", "[models_gpu]") {
    GpuTestBench bench;
    const Cycle alone = bench.run(spin(500), 60, 128, {0}).cycles;
    Together together(bench);
    together.add(spin(500), 60, 128);
    together.add(spin(500), 60, 128);
    const JointResult result = together.run(audited());
    // 120 thread blocks on 132 SMs: none has to wait, but for its turn to be handed out.
    CHECK(result.all.cycles < alone + 200);
    CHECK(result.launches[1].begin < result.launches[0].end / 10);
    CHECK(result.all.ctas == 120);
}

TEST_CASE("the second launch gets what the first leaves over", "[models_gpu]") {
    GpuTestBench bench;
    const unsigned sms = bench.gpu.config().sm.count;
    // Two thread blocks of 1,024 threads fill an SM: the first launch takes two and a half waves.
    Together together(bench);
    together.add(spin(300), 5 * sms, 1024);
    together.add(spin(300), sms, 1024);
    const JointResult result = together.run(audited());
    const LaunchSpan &first = result.launches[0], &second = result.launches[1];
    CHECK(second.begin > first.end / 2);   // not before the last of the first has been handed out
    CHECK(second.begin < first.end);       // but before it has ended
    // Three full waves together, as if they were one launch.
    const KernelResult one = bench.run(spin(300), 6 * sms, 1024, {0});
    CHECK(static_cast<double>(result.all.cycles) == Approx(static_cast<double>(one.cycles)).epsilon(0.02));
}

TEST_CASE("thread blocks of a launch with precedence take the places that become free", "[models_gpu]") {
    GpuTestBench bench;
    const unsigned sms = bench.gpu.config().sm.count;
    const auto end_of_second = [&](int priority) {
        Together together(bench);
        together.add(spin(80), 12 * sms, 1024);
        LaunchOrder order;
        order.priority = priority;
        order.earliest = 100;
        together.add(spin(80), sms, 1024, order);
        const JointResult result = together.run(audited());
        CHECK(result.launches[1].begin >= 100);
        return result.launches[1].end;
    };
    const KernelResult one_wave = bench.run(spin(80), 2 * sms, 1024, {0});
    const Cycle wave = one_wave.cycles - one_wave.launch_cycles;
    CHECK(end_of_second(0) > 5 * wave);      // behind the whole of the first
    CHECK(end_of_second(-1) < 5 * wave / 2);  // behind its first wave
    CHECK(end_of_second(1) > 5 * wave);
}

TEST_CASE("a launch keeps to the SMs that it may use", "[models_gpu]") {
    GpuTestBench bench;
    const unsigned sms = bench.gpu.config().sm.count;
    LaunchOrder half;
    for (std::uint32_t sm = 0; sm < sms / 2; ++sm) half.sms.push_back(sm);
    Together together(bench);
    together.add(spin(300), 2 * sms, 1024, half);
    const JointResult result = together.run(audited());
    for (std::uint32_t sm = 0; sm < sms; ++sm) CHECK((bench.gpu.sms[sm].statistics().ctas != 0) == (sm < sms / 2));
    const KernelResult whole = bench.run(spin(300), 2 * sms, 1024, {0});
    CHECK(static_cast<double>(result.launches[0].end) > 1.8 * static_cast<double>(whole.cycles - whole.launch_cycles));
}

TEST_CASE("launches on SMs of their own do not wait for one another", "[models_gpu]") {
    GpuTestBench bench;
    const unsigned sms = bench.gpu.config().sm.count;
    const auto part = [](std::uint32_t first, std::uint32_t end) {
        LaunchOrder order;
        for (std::uint32_t sm = first; sm < end; ++sm) order.sms.push_back(sm);
        return order;
    };
    Together alone(bench);
    alone.add(spin(80), 2 * sms, 1024, part(0, sms / 2));
    const Cycle end = alone.run(audited()).launches[0].end;
    Together together(bench);
    together.add(spin(80), 2 * sms, 1024, part(0, sms / 2));
    together.add(spin(80), 2 * sms, 1024, part(sms / 2, sms));
    together.add(spin(80), 2, 1024);  // may run anywhere: shares places with both
    const JointResult result = together.run(audited());
    CHECK(result.launches[1].begin < end / 10);  // the thread blocks of the first are handed out before
    CHECK(static_cast<double>(result.launches[0].end) == Approx(static_cast<double>(end)).epsilon(0.02));
    CHECK(static_cast<double>(result.launches[1].end) == Approx(static_cast<double>(end)).epsilon(0.02));
    CHECK(result.all.ctas == 4 * sms + 2);
}

TEST_CASE("launches wait for those that they come after", "[models_gpu]") {
    GpuTestBench bench;
    Together together(bench);
    together.add(spin(100), 132, 64);
    together.add(spin(400), 132, 64);
    together.add(spin(100), 132, 64, after({0}, 500));
    together.add(spin(100), 132, 64, after({1, 2}, 300));
    const JointResult result = together.run(audited());
    const auto& spans = result.launches;
    const Cycle drain = result.all.cycles - result.all.launch_cycles - std::max(spans[3].end, spans[1].end);
    CHECK(drain == 0);
    CHECK(spans[2].begin >= spans[0].end - 50 + 500);
    CHECK(spans[2].begin <= spans[0].end + 500);
    CHECK(spans[3].begin >= spans[1].end - 50 + 300);
    CHECK(spans[3].begin <= spans[1].end + 300);
}

TEST_CASE("a programmatic dependent begins when it is allowed to, and waits for the end", "[models_gpu]") {
    GpuTestBench bench;
    const auto run = [&](const std::string& trigger) {
        Together together(bench);
        together.add(spin(400, trigger), 132, 64);
        LaunchOrder order = after({0}, 10);
        order.programmatic = true;
        order.flush_gap = 100;
        together.add(spin(10, "griddepcontrol.wait;"), 132, 64, order);
        return together.run(audited());
    };
    const JointResult early = run("griddepcontrol.launch_dependents;"), late = run("");
    CHECK(early.launches[1].begin < early.launches[0].end / 10);
    CHECK(early.launches[1].end > early.launches[0].end + 100);
    CHECK(late.launches[1].begin >= late.launches[0].end - 50);
    CHECK(late.all.cycles > early.all.cycles);
}

TEST_CASE("two streams of memory share its bandwidth, and a product beside one keeps most of its speed", "[models_gpu]") {
    GpuTestBench bench;
    constexpr unsigned kGrid = 66, kBlock = 512, kChunks = 64;
    constexpr std::uint64_t kThreads = std::uint64_t{kGrid} * kBlock, kBytes = kThreads * kChunks * 16;
    const std::uint64_t a = bench.memory.allocate("a", kBytes, true), b = bench.memory.allocate("b", kBytes, true);
    const std::string text = streaming_read(kChunks, kThreads, "ca");
    RunOptions options;
    const Cycle alone = bench.run(text, kGrid, kBlock, {a}, options).cycles;
    Together together(bench);
    together.add(text, kGrid, kBlock, {}, {a});
    together.add(text, kGrid, kBlock, {}, {b});
    const JointResult both = together.run();
    CHECK(both.all.dram_read_bytes >= 2 * kBytes);
    // Never faster than memory allows, and not slower than one after the other.
    const GpuConfig& config = bench.gpu.config();
    const double seconds = static_cast<double>(both.all.cycles - both.all.launch_cycles) / config.clock;
    CHECK(2.0 * kBytes / seconds < config.hbm.bandwidth);
    CHECK(both.all.cycles < 2 * alone);
    CHECK(both.all.cycles > alone);

    Together product(bench);
    const std::string compute = loop_of("fma.rn.f32 %f1, %f2, %f3, %f1; fma.rn.f32 %f4, %f2, %f3, %f4;", 400);
    const KernelResult fma = bench.run(compute, 66, 256, {});
    product.add(compute, 66, 256, {}, {});
    product.add(text, kGrid, kBlock, {}, {a});
    const JointResult beside = product.run();
    CHECK(beside.launches[0].end < 1.2 * static_cast<double>(fma.cycles));
}

TEST_CASE("every way to run launches together gives the same cycles", "[models_gpu]") {
    GpuTestBench bench;
    const std::uint64_t data = bench.memory.allocate("data", std::uint64_t{132} * 256 * 8 * 16, true);
    const auto spans = [&](const RunOptions& options) {
        Together together(bench);
        together.add(streaming_read(8, 132 * 256, "ca"), 132, 256, {}, {data});
        together.add(spin(60), 200, 192);
        together.add(spin(20), 40, 64, after({0}, 77));
        std::vector<Cycle> cycles;
        for (const LaunchSpan& span : together.run(options).launches) {
            cycles.push_back(span.begin);
            cycles.push_back(span.end);
            cycles.push_back(span.cta_cycles);
        }
        return cycles;
    };
    const std::vector<Cycle> plain = spans({});
    RunOptions options;
    options.tick_every_cycle = true;
    CHECK(spans(options) == plain);
    options = {};
    options.window = 1;
    CHECK(spans(options) == plain);
    options = {};
    options.audit = true;
    CHECK(spans(options) == plain);
}

TEST_CASE("what cannot run together is refused", "[models_gpu]") {
    GpuTestBench bench;
    Together together(bench);
    together.add(spin(10), 1, 32);
    RunOptions options;
    options.sample = true;
    CHECK_THROWS_WITH(together.run(options), Catch::Contains("cannot be sampled"));
    TestLaunch windowed = bench.launch(spin(10), 1, 32, {0});
    windowed.context.access_policy_window.bytes = 4096;
    PtxSource one(windowed.context), other(windowed.context);
    CHECK_THROWS_WITH(bench.gpu.run_together({{&one, {}}, {&other, {}}}), Catch::Contains("access policy window"));
    Together waiting(bench);
    waiting.add(spin(10), 1, 32, after({0}));
    CHECK_THROWS_WITH(waiting.run(), Catch::Contains("waits for a later one"));
}

}  // namespace heddle::models::gpu
