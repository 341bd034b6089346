// Several threads of the host for one kernel: every figure of the result is that of one thread.
#include <catch2/catch.hpp>
#include <string>

#include "gpu_launches.h"
#include "library_runner.h"
#include "models/gpu/gpu.h"

using namespace heddle;
using namespace heddle::benchmarks;
using library_test::LibraryKernel;
using library_test::Runner;
using models::gpu::KernelResult;

namespace {

void require_equal(const KernelResult& a, const KernelResult& b) {
    CHECK(a.cycles == b.cycles);
    CHECK(a.warp_instructions == b.warp_instructions);
    CHECK(a.activations == b.activations);
    CHECK(a.pipeline_instructions == b.pipeline_instructions);
    CHECK(a.sub_core_cycles == b.sub_core_cycles);
    for (const auto level : {&KernelResult::l1, &KernelResult::l2, &KernelResult::dram}) {
        CHECK((a.*level).requests == (b.*level).requests);
        CHECK((a.*level).sectors == (b.*level).sectors);
        CHECK((a.*level).hit_sectors == (b.*level).hit_sectors);
    }
    CHECK(a.crossbar_sectors == b.crossbar_sectors);
    CHECK(a.shared_wavefronts == b.shared_wavefronts);
    CHECK(a.dram_read_bytes == b.dram_read_bytes);
    CHECK(a.dram_write_bytes == b.dram_write_bytes);
    CHECK(a.dram_row_hits == b.dram_row_hits);
    CHECK(a.achieved_occupancy == b.achieved_occupancy);
    CHECK(a.energy.total() == b.energy.total());
    CHECK(a.profile == b.profile);
}

}  // namespace

TEST_CASE("kernels that fill the GPU take the same cycles on any number of host threads") {
    models::gpu::Gpu gpu("gpu", models::gpu::GpuConfig{});
    const LibraryKernel cases[] = {
        copy(1u << 20),           softmax(1024, 1024),         gemm_simt(1536, 1408, 16),
        gemm_mma(1536, 1408, 64), gemm_wgmma(1024, 2048, 256), bulk_load(132, 2, false),
        ffma_loop(1056, 1)};
    for (const LibraryKernel& kernel : cases) {
        const PreparedLaunch launch(kernel, ptx::Mode::timing);
        models::gpu::RunOptions options;
        options.profile = true;
        const KernelResult one = gpu.run(launch.context(), options);
        for (const unsigned threads : {2u, 4u, 7u}) {
            options.threads = threads;
            CAPTURE(kernel.name, threads);
            const KernelResult several = gpu.run(launch.context(), options);
            CHECK(several.host_threads == threads);
            require_equal(several, one);
        }
    }
}

TEST_CASE("sampled kernels and series are the same on several host threads") {
    models::gpu::Gpu gpu("gpu", models::gpu::GpuConfig{});
    const PreparedLaunch launch(gemm_wgmma(2048, 4096, 512), ptx::Mode::timing);
    models::gpu::RunOptions options;
    options.sample = true;
    options.series.interval = 512;
    const KernelResult one = gpu.run(launch.context(), options);
    options.threads = 4;
    const KernelResult several = gpu.run(launch.context(), options);
    CHECK(several.host_threads == 4);
    CHECK(several.sampling.simulated == one.sampling.simulated);
    CHECK(several.sampling.error == one.sampling.error);
    require_equal(several, one);
    REQUIRE(several.series.points.size() == one.series.points.size());
    for (std::size_t i = 0; i < one.series.points.size(); ++i) {
        CHECK(several.series.points[i].end == one.series.points[i].end);
        CHECK(several.series.points[i].l2_sectors == one.series.points[i].l2_sectors);
        CHECK(several.series.points[i].dram_bytes == one.series.points[i].dram_bytes);
    }
}

TEST_CASE("the library's kernels are the same on several host threads, and with values take one") {
    Runner runner(models::gpu::GpuConfig{});
    std::size_t divided = 0, whole = 0;
    for (const LibraryKernel& sample : kernels::library_samples(90)) {
        CAPTURE(sample.name);
        models::gpu::RunOptions options;
        const KernelResult one = runner.run(sample, ptx::Mode::timing, options);
        options.threads = 3;
        const KernelResult several = runner.run(sample, ptx::Mode::timing, options);
        require_equal(several, one);
        ++(several.host_threads == 3 ? divided : whole);
    }
    CHECK(divided > 10 * whole);
    models::gpu::RunOptions options;
    options.threads = 3;
    CHECK(runner.run(kernels::library_samples(90).front(), ptx::Mode::functional, options).host_threads == 1);
}
