// Bulk copies in time: what they ask of L2, and what several receivers share.
#include <catch2/catch.hpp>

#include "gpu_test_bench.h"

namespace heddle::models::gpu {
namespace {

// Every CTA of a cluster of `ctas` expects `bytes`; the first one copies them `times` times to all of `mask`.
std::string copy_text(unsigned bytes, unsigned offset, unsigned mask, unsigned times) {
    const std::string size = std::to_string(bytes);
    std::string text =
        "ld.param.u64 %rd0, [p0]; add.u64 %rd0, %rd0, " + std::to_string(offset) +
        "; mov.u32 %r0, smem; mov.u32 %r1, %cluster_ctarank; setp.ne.u32 %p0, %r1, 0;\n"
        "mbarrier.init.shared.b64 [%r0], 1; mbarrier.arrive.expect_tx.shared.b64 %rd1, [%r0], " +
        std::to_string(bytes * times) +
        ";\nbarrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\nadd.u32 %r2, %r0, 128; mov.b16 "
        "%h0, " +
        std::to_string(mask) + ";\n@%p0 bra wait;\n";
    for (unsigned i = 0; i < times; ++i) {
        text +=
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r2], "
            "[%rd0], " +
            size + ", [%r0], %h0; add.u64 %rd0, %rd0, " + size + ";\n";
    }
    return text +
           "wait: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r0], 0; @!%p1 bra wait;\n"
           "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret;";
}

KernelResult run(GpuTestBench& bench, const std::string& body, unsigned ctas, std::uint64_t buffer,
                 const RunOptions& options = {}) {
    std::string text = kernel_text(body, 1, 8320);
    text.insert(text.find('{') + 1, "\n.reg .b16 %h<2>;\n");
    TestLaunch launch = bench.launch(text, ctas, 1, {buffer});
    launch.context.cluster = {ctas};
    return bench.gpu.run(launch.context, options);
}

}  // namespace

TEST_CASE("a multicast line is read from L2 once, however many receive it", "[models_gpu]") {
    GpuTestBench bench;
    const std::uint64_t buffer = bench.memory.allocate("buffer", 1 << 20, true);
    const KernelResult one = run(bench, copy_text(8192, 0, 0x1, 16), 1, buffer);
    const KernelResult four = run(bench, copy_text(8192, 0, 0xF, 16), 4, buffer);
    CHECK(one.l2.sectors == 16 * 8192 / 32);
    CHECK(four.l2.sectors == one.l2.sectors);
    CHECK(four.dram_read_bytes == one.dram_read_bytes);
    RunOptions every_cycle;
    every_cycle.tick_every_cycle = true;
    CHECK(run(bench, copy_text(8192, 0, 0xF, 16), 4, buffer, every_cycle).cycles == four.cycles);
}

TEST_CASE("a copy asks L2 for whole sectors", "[models_gpu]") {
    GpuTestBench bench;
    const std::uint64_t buffer = bench.memory.allocate("buffer", 1 << 20, true);
    // 48 bytes from byte 16 on lie in two sectors, from byte 112 on in two sectors of two lines.
    CHECK(run(bench, copy_text(48, 16, 0x1, 1), 1, buffer).l2.sectors == 2);
    const KernelResult across = run(bench, copy_text(48, 112, 0x1, 1), 1, buffer);
    CHECK(across.l2.sectors == 2);
    CHECK(across.l2.requests == 2);
    CHECK(run(bench, copy_text(48, 16, 0x1, 1), 1, buffer).l2.requests == 1);
}

TEST_CASE("a prefetch brings lines to L2 and no further", "[models_gpu]") {
    GpuTestBench bench;
    const std::uint64_t buffer = bench.memory.allocate("buffer", 1 << 20, true);
    const KernelResult result = run(
        bench, "ld.param.u64 %rd0, [p0]; cp.async.bulk.prefetch.L2.global [%rd0], 65536; ret;", 1, buffer);
    CHECK(result.dram_read_bytes == 65536);
    CHECK(result.l2.sectors == 65536 / 32);
}

TEST_CASE("a copy of many lines passes an SM's port at its width", "[models_gpu]") {
    GpuTestBench bench;
    const std::uint64_t buffer = bench.memory.allocate("buffer", 1 << 20, true);
    RunOptions warm;
    warm.resident.push_back({buffer, 1 << 20, false});
    const auto few = run(bench, copy_text(8192, 0, 0x1, 16), 1, buffer, warm).cycles;
    const auto many = run(bench, copy_text(8192, 0, 0x1, 80), 1, buffer, warm).cycles;
    // What shared memory takes (128 bytes per cycle) bounds it, not L1's return path (64).
    const double rate = 64. * 8192 / static_cast<double>(many - few);
    CHECK(rate <= bench.gpu.config().load_store.wavefront_bytes);
    CHECK(rate > 0.9 * bench.gpu.config().load_store.wavefront_bytes);
}

}  // namespace heddle::models::gpu
