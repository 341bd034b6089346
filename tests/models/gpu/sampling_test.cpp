// Sampled runs against full ones: the same kernel, every cycle simulated.
#include <catch2/catch.hpp>
#include <cmath>
#include <deque>

#include "gpu_launches.h"
#include "gpu_test_bench.h"
#include "isa/common/error.h"
#include "models/gpu/gpu.h"
#include "sampling_random.h"
#include "support/pipelined_copies.h"

namespace heddle::models::gpu {
namespace {

/// An eighth of an H100, so that full runs are quick.
GpuConfig eighth() {
    GpuConfig config;
    config.sm.count = 16;
    config.sm.gpcs = 1;
    config.l2.slices = 10;
    config.l2.partitions = 1;
    config.l2.bytes = 6'400 * 1024;
    config.hbm.channels = config.hbm.channels / 8;
    config.hbm.bandwidth /= 8;
    return config;
}

struct Pair {
    KernelResult full, sampled;
    double difference() const {
        return static_cast<double>(sampled.cycles) / static_cast<double>(full.cycles) - 1;
    }
};

/// `l2_error`, `dram_error`: by which part what is asked of L2, and of memory, may differ.
Pair run_both(const kernels::LibraryKernel& kernel, double l2_error = 0.05, bool cautiously = false,
              double dram_error = 0.05) {
    Gpu gpu("gpu", eighth());
    const benchmarks::PreparedLaunch launch(kernel, ptx::Mode::timing);
    Pair pair;
    pair.full = gpu.run(launch.context());
    RunOptions options;
    options.sample = true;
    options.sample_cautiously = cautiously;
    pair.sampled = gpu.run(launch.context(), options);
    INFO(pair.sampled.sampling.note);
    CAPTURE(pair.full.cycles, pair.sampled.cycles, pair.sampled.sampling.simulated,
            pair.sampled.sampling.error);
    CHECK(!pair.full.sampling.asked);
    CHECK(pair.sampled.sampling.asked);
    CHECK(std::abs(pair.difference()) <= 0.02);
    CHECK(std::abs(pair.difference()) <= pair.sampled.sampling.error);
    // What was left out is counted: instructions exactly, but for waits that come again, which happen a
    // little more or less often; memory's traffic as L2 saw it; L2's in proportion.
    const auto close = [](std::uint64_t a, std::uint64_t b, double part) {
        CHECK(static_cast<double>(a) == Approx(static_cast<double>(b)).epsilon(part));
    };
    close(pair.sampled.warp_instructions, pair.full.warp_instructions, 0.002);
    close(pair.sampled.machine_instructions, pair.full.machine_instructions, 0.002);
    CHECK(pair.sampled.tensor_macs == pair.full.tensor_macs);
    CHECK(pair.sampled.ctas == pair.full.ctas);
    close(pair.sampled.l2.bytes, pair.full.l2.bytes, l2_error);
    close(pair.sampled.dram.bytes, pair.full.dram.bytes, dram_error);
    std::uint64_t cycles = 0;
    for (const std::uint64_t part : pair.sampled.sub_core_cycles) cycles += part;
    close(cycles, pair.sampled.cycles * 16 * kSubCores, 0.001);
    return pair;
}

}  // namespace

TEST_CASE("sampling a product of which thread blocks drift apart", "[models_gpu_sampling]") {
    run_both(benchmarks::gemm_mma(512, 512, 8192));
}

TEST_CASE("sampling a product on CUDA cores of which thread blocks drift apart", "[models_gpu_sampling]") {
    // Without barriers between them the blocks ask for the same lines together or one after another as it
    // happens: that changes the traffic by two thirds and the time by less than a hundredth.
    run_both(benchmarks::gemm_simt(512, 512, 2048), 0.4);
}

TEST_CASE("sampling a product that keeps shared memory busy",
          "[models_gpu_sampling]") {
    // Its thread blocks drift apart. That changes nothing of the time, so leaps need not be short; and
    // something of the traffic, as they find less and less of each other's lines.
    const Pair pair = run_both(benchmarks::gemm_mma_by_elements(512, 512, 8192), 0.1, false, 0.1);
    CHECK(pair.full.bound_by == "shared memory");
    CHECK(pair.sampled.sampling.simulated < 0.35);
}

TEST_CASE("sampling leaves out turns of a loop", "[models_gpu_sampling]") {
    const Pair pair = run_both(benchmarks::ffma_loop(16, 4000));
    CHECK(pair.sampled.sampling.simulated < 0.3);
}

TEST_CASE("sampling with short leaps, the second try, leaves out less and knows it better",
          "[models_gpu_sampling]") {
    // The same loop as above, of which less than 0.3 is simulated otherwise.
    const Pair cautious = run_both(benchmarks::ffma_loop(16, 4000), 0.05, true);
    CHECK(cautious.sampled.sampling.simulated > 0.3);
    CHECK(cautious.sampled.sampling.simulated < 0.7);
    CHECK(cautious.sampled.sampling.error < 0.0145);  // 0.7 % and 0.8 % of 0.7, and what scatters
}

TEST_CASE("sampling leaves out tiles of a persistent product with TMA and wgmma", "[models_gpu_sampling]") {
    // How many loads join those of other SMs changes from tile to tile (docs/sampling.md).
    const Pair pair = run_both(benchmarks::gemm_wgmma(2048, 2048, 4096, 16), 0.1);
    CHECK(pair.sampled.sampling.simulated < 0.5);
    CHECK(pair.sampled.tensor_macs == std::uint64_t{2048} * 2048 * 4096);
}

TEST_CASE("sampling leaves out waves of thread blocks", "[models_gpu_sampling]") {
    const Pair pair = run_both(benchmarks::ffma_loop(16 * 8 * 16, 16));
    CHECK(pair.sampled.sampling.simulated < 0.9);
}

TEST_CASE("sampling leaves out waves of a copy when L2 has begun to write back", "[models_gpu_sampling]") {
    const Pair pair = run_both(benchmarks::copy(12u << 20));
    CHECK(pair.sampled.sampling.simulated < 0.9);
}

namespace {

/// As an optimizer does: each thread reads 16 bytes of each of four arrays, and writes back three of them.
const char* const kOptimizer =
    "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r0, %r0, 128, %r1; "
    "ld.param.u64 %rd0, [p0]; mad.wide.u32 %rd0, %r0, 16, %rd0; ld.param.u64 %rd1, [p1]; "
    "mad.wide.u32 %rd1, %r0, 16, %rd1; ld.param.u64 %rd2, [p2]; mad.wide.u32 %rd2, %r0, 16, %rd2; "
    "ld.param.u64 %rd3, [p3]; mad.wide.u32 %rd3, %r0, 16, %rd3; "
    "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd0]; ld.global.v4.f32 {%f4, %f5, %f6, %f7}, [%rd1]; "
    "ld.global.v4.f32 {%f8, %f9, %f10, %f11}, [%rd2]; ld.global.v4.f32 {%f12, %f13, %f14, %f15}, [%rd3]; "
    "fma.rn.f32 %f4, %f0, %f12, %f4; fma.rn.f32 %f8, %f1, %f13, %f8; fma.rn.f32 %f12, %f2, %f14, %f12; "
    "st.global.v4.f32 [%rd1], {%f4, %f5, %f6, %f7}; st.global.v4.f32 [%rd2], {%f8, %f9, %f10, %f11}; "
    "st.global.v4.f32 [%rd3], {%f12, %f13, %f14, %f15}; ret;";

}  // namespace

TEST_CASE("sampling leaves out waves of an optimizer, which end in bursts", "[models_gpu_sampling]") {
    GpuTestBench bench(eighth());
    constexpr std::uint32_t kBlocks = 6144, kBytes = kBlocks * 128 * 16;
    std::vector<std::uint64_t> arrays;
    for (const char* name : {"gradient", "mean", "variance", "weight"})
        arrays.push_back(bench.memory.allocate(name, kBytes, false));
    const std::string text = kernel_text(kOptimizer, 4);
    const KernelResult full = bench.run(text, kBlocks, 128, arrays, {}, ptx::Mode::timing);
    RunOptions options;
    options.sample = true;
    const KernelResult sampled = bench.run(text, kBlocks, 128, arrays, options, ptx::Mode::timing);
    CAPTURE(full.cycles, sampled.cycles, sampled.sampling.error, sampled.sampling.note);
    CHECK(sampled.sampling.simulated < 0.5);
    CHECK(std::abs(static_cast<double>(sampled.cycles) / static_cast<double>(full.cycles) - 1) <=
          sampled.sampling.error);
    CHECK(static_cast<double>(sampled.warp_instructions) ==
          Approx(static_cast<double>(full.warp_instructions)).epsilon(0.002));
    CHECK(static_cast<double>(sampled.dram_read_bytes) ==
          Approx(static_cast<double>(full.dram_read_bytes)).epsilon(0.002));
    CHECK(static_cast<double>(sampled.dram_write_bytes) ==
          Approx(static_cast<double>(full.dram_write_bytes)).epsilon(0.03));
}

TEST_CASE("thread blocks of a stream move lines that can be counted", "[models_gpu_sampling]") {
    const std::vector<std::uint64_t> blocks = {3, 4, 700, 701};
    const benchmarks::PreparedLaunch copy(benchmarks::copy(4u << 20), ptx::Mode::timing);
    const std::optional<StreamTraffic> of_copy = stream_traffic(copy.context(), blocks);
    REQUIRE(of_copy);
    const double lines = (4u << 20) * sizeof(float) / 128.0;
    CHECK(of_copy->read * static_cast<double>(copy.context().grid.count()) == Approx(lines));
    CHECK(of_copy->written == of_copy->read);
    // Operands that thread blocks share, and sums that they add to atomically, are no streams.
    const benchmarks::PreparedLaunch product(benchmarks::gemm_mma(2048, 2048, 128), ptx::Mode::timing);
    CHECK_FALSE(stream_traffic(product.context(), {3, 4, 70, 71}));

    GpuTestBench bench(eighth());
    const std::uint64_t base = bench.memory.allocate("values", 1 << 24, false);
    const auto traffic_of = [&](const std::string& body) {
        const TestLaunch launch = bench.launch(kernel_text(body, 1), 1024, 128, {base}, ptx::Mode::timing);
        return stream_traffic(launch.context, blocks);
    };
    const std::string index =
        "mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r0, %r0, 128, %r1; "
        "ld.param.u64 %rd0, [p0]; ";
    const auto plain = traffic_of(index + "mad.wide.u32 %rd1, %r0, 4, %rd0; st.global.u32 [%rd1], %r1; ret;");
    REQUIRE(plain);
    CHECK(plain->read == 0);
    CHECK(plain->written == 4);
    // A part of each line.
    CHECK_FALSE(traffic_of(index + "mad.wide.u32 %rd1, %r0, 64, %rd0; st.global.u32 [%rd1], %r1; ret;"));
    CHECK_FALSE(
        traffic_of(index + "mad.wide.u32 %rd1, %r0, 4, %rd0; atom.global.add.u32 %r2, [%rd1], 1; ret;"));
}

TEST_CASE("sampling a softmax", "[models_gpu_sampling]") {
    run_both(benchmarks::softmax(8192, 1024));
}

TEST_CASE("sampling leaves out no waves of thread blocks that differ", "[models_gpu_sampling]") {
    // Thread block i goes round i + 10 times: no two waves are alike, though all go round loops at the end.
    GpuTestBench bench(eighth());
    const std::string text = kernel_text(
        "mov.u32 %r0, %ctaid.x; add.u32 %r0, %r0, 10; mov.f32 %f0, 0f3f800000; loop: fma.rn.f32 %f0, %f0, "
        "%f0, %f0; sub.u32 %r0, %r0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra loop; ld.param.u64 %rd0, [p0]; "
        "st.global.f32 [%rd0], %f0; ret;",
        1);
    const std::uint64_t out = bench.memory.allocate("out", 4, false);
    const KernelResult full = bench.run(text, 1536, 128, {out}, {}, ptx::Mode::timing);
    RunOptions options;
    options.sample = true;
    const KernelResult sampled = bench.run(text, 1536, 128, {out}, options, ptx::Mode::timing);
    CHECK(std::abs(static_cast<double>(sampled.cycles) / static_cast<double>(full.cycles) - 1) < 0.002);
    CHECK(sampled.sampling.simulated > 0.9);
    CHECK(sampled.sampling.note.find("waves") == std::string::npos);
}

TEST_CASE("sampling leaves out waves of blocks that are alike before others at the end",
          "[models_gpu_sampling]") {
    // Each thirtieth thread block does a tenth more, the last eighth of all a quarter of the work.
    GpuTestBench bench(eighth());
    const std::string text = kernel_text(
        "mov.u32 %r0, %ctaid.x; rem.u32 %r1, %r0, 30; setp.eq.u32 %p1, %r1, 0; selp.u32 %r1, 220, 200, %p1; "
        "setp.ge.u32 %p0, %r0, 3584; selp.u32 %r0, 50, %r1, %p0; mov.f32 %f0, 0f3f800000; "
        "loop: fma.rn.f32 %f0, %f0, %f0, %f0; sub.u32 %r0, %r0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra loop; "
        "ld.param.u64 %rd0, [p0]; st.global.f32 [%rd0], %f0; ret;",
        1);
    const std::uint64_t out = bench.memory.allocate("out", 4, false);
    const KernelResult full = bench.run(text, 4096, 128, {out}, {}, ptx::Mode::timing);
    RunOptions options;
    options.sample = true;
    const KernelResult sampled = bench.run(text, 4096, 128, {out}, options, ptx::Mode::timing);
    CAPTURE(full.cycles, sampled.cycles, sampled.sampling.error, sampled.sampling.note);
    CHECK(sampled.sampling.simulated < 0.8);
    CHECK(sampled.sampling.note.find("waves") != std::string::npos);
    CHECK(std::abs(static_cast<double>(sampled.cycles) / static_cast<double>(full.cycles) - 1) <=
          sampled.sampling.error);
    CHECK(static_cast<double>(sampled.warp_instructions) ==
          Approx(static_cast<double>(full.warp_instructions)).epsilon(0.002));
    CHECK(sampled.ctas == full.ctas);
}

TEST_CASE("error bars cover the error of kernels drawn at random", "[models_gpu_sampling]") {
    // benchmark_sampling --random runs hundreds of them, on GPUs of each generation.
    GpuConfig config = benchmarks::an_eighth(GpuConfig{});
    Gpu gpu("gpu", config);
    unsigned left_out = 0;
    for (const std::uint64_t seed : {7, 10, 28, 39, 47, 50, 103, 166}) {
        const benchmarks::SamplingCase one = benchmarks::random_case(seed, config);
        INFO(seed << " " << one.name);
        const benchmarks::PreparedLaunch launch(one.make(), ptx::Mode::timing);
        RunOptions options;
        options.sample = true;
        const KernelResult sampled = gpu.run(launch.context(), options), full = gpu.run(launch.context());
        const double difference = static_cast<double>(sampled.cycles) / static_cast<double>(full.cycles) - 1;
        CAPTURE(full.cycles, sampled.cycles, sampled.sampling.error, sampled.sampling.note);
        CHECK(std::abs(difference) <= sampled.sampling.error);
        CHECK(sampled.sampling.error <= 0.02);
        CHECK(static_cast<double>(sampled.dram.bytes) ==
              Approx(static_cast<double>(full.dram.bytes)).epsilon(0.05));
        // SMs that ask for the same lines at the same time cost L2 one request; how far they drift apart, a
        // sample sees a part of.
        CHECK(static_cast<double>(sampled.l2.bytes) ==
              Approx(static_cast<double>(full.l2.bytes)).epsilon(0.15));
        CHECK(gpu.run(launch.context(), options).cycles == sampled.cycles);
        left_out += sampled.sampling.simulated < 1 ? 1 : 0;
    }
    CHECK(left_out >= 4);
}

TEST_CASE("a ring between warps is left out at its own rate", "[models_gpu_sampling]") {
    // Three stages: producers go round three times while consumers do once. Memory is busy, so that one batch
    // alone may look like four; ping-pong consumers would wait for ever.
    GpuConfig config = benchmarks::an_eighth(GpuConfig{});
    Gpu gpu("gpu", config);
    const benchmarks::SamplingCase one = benchmarks::random_case(169, config);
    REQUIRE(one.name == "wgmma_192x1408x44352_tile64x192_3stages_2apart_raster2");
    const benchmarks::PreparedLaunch launch(one.make(), ptx::Mode::timing);
    RunOptions options;
    options.sample = true;
    const KernelResult sampled = gpu.run(launch.context(), options);
    CHECK(static_cast<double>(sampled.cycles) == Approx(1591642).epsilon(0.03));  // in full, when written
}

TEST_CASE("sampling keeps the phases and states that warps of a ring of copies wait for",
          "[models_gpu_sampling]") {
    using Copies = heddle::tests::PipelinedCopies;
    GpuConfig config = eighth();
    config.sm.count = 2;
    GpuTestBench bench(config);
    unsigned left_out = 0;
    for (const Copies::Waits waits : {Copies::Waits::parity, Copies::Waits::states,
                                      Copies::Waits::states_handed_on, Copies::Waits::states_selected}) {
        for (unsigned stages = 1; stages <= 8; ++stages) {
            Copies copies;
            copies.waits = waits;
            copies.stages = stages;
            copies.turns = 840 / stages * stages;
            copies.work = 40;
            const std::uint64_t in =
                bench.memory.allocate("in", Copies::kBytes * (copies.turns + stages + 1), false);
            const TestLaunch launch =
                bench.launch(copies.text(64), 2, 64, {in}, ptx::Mode::timing, 0, ptx::Assembly::scheduled);
            const KernelResult full = bench.gpu.run(launch.context);
            RunOptions options;
            options.sample = true;
            const KernelResult sampled = bench.gpu.run(launch.context, options);
            INFO(static_cast<int>(waits) << " " << stages << " stages: " << sampled.sampling.note);
            CAPTURE(full.cycles, sampled.cycles, sampled.sampling.simulated);
            CHECK(std::abs(static_cast<double>(sampled.cycles) / static_cast<double>(full.cycles) - 1) <=
                  0.02);
            CHECK(static_cast<double>(sampled.warp_instructions) ==
                  Approx(static_cast<double>(full.warp_instructions)).epsilon(0.005));
            CHECK(static_cast<double>(sampled.bulk_lines) ==
                  Approx(static_cast<double>(full.bulk_lines)).epsilon(0.05));
            left_out += sampled.sampling.simulated < 1 ? 1 : 0;
        }
    }
    CHECK(left_out >= 28);  // of 32: where the bar would be too wide a kernel is simulated in full
}

TEST_CASE("what is left out of short turns late in a run is counted by reason as in full",
          "[models_gpu_sampling]") {
    // Before them, turns that are never alike and more loads than L2 holds: what is remembered of the run lies
    // further apart than the short turns are long. Each length of it remembers other moments.
    GpuConfig config = eighth();
    config.sm.count = 2;
    config.l2.bytes = 640 * 1024;
    GpuTestBench bench(config);
    const std::uint64_t in = bench.memory.allocate("in", 16 << 20, false);
    unsigned left_out = 0;
    for (unsigned before = 60; before < 84; ++before) {
        const std::string text = kernel_text(
            "ld.param.u64 %rd0, [p0]; mov.f32 %f0, 0f3f800000; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x;\n"
            "mad.lo.u32 %r0, %r0, 128, %r1; mad.wide.u32 %rd1, %r0, 16, %rd0; mov.u32 %r2, 12345;\n"
            "mov.u32 %r3, 0;\nbefore: ld.global.v4.f32 {%f4, %f5, %f6, %f7}, [%rd1];\n"
            "ld.global.v4.f32 {%f4, %f5, %f6, %f7}, [%rd1+4096];\n"
            "ld.global.v4.f32 {%f4, %f5, %f6, %f7}, [%rd1+8192]; add.s64 %rd1, %rd1, 12288;\n"
            "mad.lo.u32 %r2, %r2, 1664525, 1013904223; shr.u32 %r4, %r2, 24;\n"
            "uneven: fma.rn.f32 %f0, %f0, %f0, %f0; sub.u32 %r4, %r4, 1; setp.gt.s32 %p0, %r4, 0;\n"
            "@%p0 bra uneven; add.u32 %r3, %r3, 1; setp.lt.u32 %p0, %r3, " +
                std::to_string(before) +
                "; @%p0 bra before;\nmov.u32 %r5, 0;\nturn: mov.u32 %r6, 0;\n"
                "inner: fma.rn.f32 %f0, %f0, %f0, %f0; add.u32 %r6, %r6, 1; setp.lt.u32 %p0, %r6, 4;\n"
                "@%p0 bra inner; fma.rn.f32 %f0, %f0, %f0, %f0; add.u32 %r5, %r5, 1;\n"
                "setp.lt.u32 %p0, %r5, 4000; @%p0 bra turn; st.global.f32 [%rd0], %f0;\n",
            1);
        RunOptions options;
        const TestLaunch launch = bench.launch(text, 2, 128, {in}, ptx::Mode::timing);
        const KernelResult full = bench.gpu.run(launch.context, options);
        options.sample = true;
        const KernelResult sampled = bench.gpu.run(launch.context, options);
        left_out += sampled.sampling.simulated < 1 ? 1 : 0;
        CAPTURE(before, full.cycles, sampled.cycles, sampled.sampling.simulated, sampled.sampling.note);
        const auto part = [](const KernelResult& result, std::size_t reason) {
            return static_cast<double>(result.sub_core_cycles[reason]) /
                   static_cast<double>(result.cycles * 2 * kSubCores);
        };
        for (std::size_t reason = 0; reason < kCycleReasonCount; ++reason) {
            INFO(name_of(static_cast<CycleReason>(reason)));
            CHECK(part(sampled, reason) == Approx(part(full, reason)).margin(0.02));
        }
    }
    CHECK(left_out >= 6);
}

TEST_CASE("a sampled run is the same when every cycle is looked at, and after other kernels",
          "[models_gpu_sampling]") {
    // Workers run kernels one after another, in an order that depends on their number.
    Gpu gpu("gpu", eighth());
    std::deque<benchmarks::PreparedLaunch> launches;
    launches.emplace_back(benchmarks::ffma_loop(16, 1500), ptx::Mode::timing);
    launches.emplace_back(benchmarks::gemm_wgmma(1024, 1024, 12288, 16), ptx::Mode::timing);
    launches.emplace_back(benchmarks::ffma_loop(16 * 8 * 16, 4), ptx::Mode::timing);
    RunOptions options;
    options.sample = true;
    std::vector<KernelResult> forwards, backwards, looking;
    for (const benchmarks::PreparedLaunch& launch : launches)
        forwards.push_back(gpu.run(launch.context(), options));
    for (std::size_t i = launches.size(); i-- != 0;)
        backwards.insert(backwards.begin(), gpu.run(launches[i].context(), options));
    options.tick_every_cycle = true;
    for (const benchmarks::PreparedLaunch& launch : launches)
        looking.push_back(gpu.run(launch.context(), options));
    CHECK(forwards[0].sampling.simulated < 1);
    CHECK(forwards[1].sampling.simulated < 1);
    for (std::size_t i = 0; i < launches.size(); ++i) {
        CAPTURE(i, forwards[i].sampling.note);
        for (const KernelResult& other : {backwards[i], looking[i]}) {
            CHECK(other.cycles == forwards[i].cycles);
            CHECK(other.sampling.simulated == forwards[i].sampling.simulated);
            CHECK(other.sampling.error == forwards[i].sampling.error);
            CHECK(other.sub_core_cycles == forwards[i].sub_core_cycles);
            CHECK(other.l2.sectors == forwards[i].l2.sectors);
            CHECK(other.dram.bytes == forwards[i].dram.bytes);
        }
    }
}

TEST_CASE("a run with values cannot be sampled", "[models_gpu_sampling]") {
    GpuTestBench bench(eighth());
    RunOptions options;
    options.sample = true;
    CHECK_THROWS_AS(bench.run(kernel_text("ret;", 0), 1, 32, {}, options), heddle::Error);
}

}  // namespace heddle::models::gpu
