// A GPU that has run a kernel is as good as new: after a reset the next one is as on a GPU that never ran any.
#include <catch2/catch.hpp>

#include "library_runner.h"

using namespace heddle;
using library_test::LibraryKernel;
using library_test::Runner;

namespace {

models::gpu::GpuConfig small() {
    models::gpu::GpuConfig config;
    config.sm.count = 16;
    config.sm.gpcs = 2;
    config.l2.slices = 16;
    config.hbm.channels = 8;
    config.l2.bytes = 2 << 20;
    return config;
}

void check_same(const models::gpu::KernelResult& result, const models::gpu::KernelResult& fresh) {
    CHECK(result.cycles == fresh.cycles);
    CHECK(result.activations == fresh.activations);
    CHECK(result.sub_core_cycles == fresh.sub_core_cycles);
    CHECK(result.pipeline_instructions == fresh.pipeline_instructions);
    CHECK(result.l1.hit_sectors == fresh.l1.hit_sectors);
    CHECK(result.l2.hit_sectors == fresh.l2.hit_sectors);
    CHECK(result.dram_row_hits == fresh.dram_row_hits);
    CHECK(result.shared_wavefronts == fresh.shared_wavefronts);
    CHECK(result.achieved_occupancy == fresh.achieved_occupancy);
    CHECK(result.energy.total() == fresh.energy.total());
}

}  // namespace

TEST_CASE("each kernel after each other is as on a GPU of its own") {
    constexpr std::size_t kKernels = 9;
    const std::vector<LibraryKernel> all = kernels::library_samples(90);
    std::vector<const LibraryKernel*> some;
    for (std::size_t i = 0; i < kKernels; ++i) some.push_back(&all[i * (all.size() - 1) / (kKernels - 1)]);
    // SystemC elaborates once: all GPUs before the first run.
    Runner used(small());
    std::vector<std::unique_ptr<Runner>> runners;
    for (std::size_t i = 0; i < kKernels; ++i)
        runners.push_back(std::make_unique<Runner>(small(), ("fresh_" + std::to_string(i)).c_str()));
    std::vector<models::gpu::KernelResult> fresh;
    for (std::size_t i = 0; i < kKernels; ++i) fresh.push_back(runners[i]->run(*some[i], ptx::Mode::timing));
    for (std::size_t before = 0; before < kKernels; ++before) {
        for (std::size_t i = 0; i < kKernels; ++i) {
            INFO(some[i]->name << " after " << some[before]->name);
            used.run(*some[before], ptx::Mode::timing);
            check_same(used.run(*some[i], ptx::Mode::timing), fresh[i]);
        }
    }
}
