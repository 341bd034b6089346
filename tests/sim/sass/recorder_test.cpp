// What a launch of PTX did, written as a trace, and run again from there.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "gpu_launches.h"
#include "isa/common/error.h"
#include "models/gpu/gpu.h"
#include "models/gpu/ptx_source.h"
#include "sim/config/hardware.h"
#include "sim/sass/copy_text.h"
#include "sim/sass/trace_launch.h"
#include "sim/sass/trace_recorder.h"
#include "support/folder.h"

using namespace heddle;
using namespace heddle::sass;

using heddle::tests::Folder;

namespace {

struct Twice {
    models::gpu::KernelResult recorded, again;
    std::uint64_t written = 0, forced = 0, undescribed = 0;
};

/// One thread of the host or several, and whether the code is known before the run: the same figures.
void check_threads(models::gpu::Gpu& gpu, const std::string& path,
                   const models::gpu::KernelResult& streamed) {
    TraceReader ahead(path);
    while (ahead.next()) {
    }
    for (const unsigned threads : {1u, 3u}) {
        TraceLaunch launch(TraceReader(path), path);
        launch.know(ahead);
        models::gpu::RunOptions options;
        options.threads = threads;
        const models::gpu::KernelResult result = gpu.run(launch, options);
        launch.finish();
        CHECK(result.host_threads == threads);
        CHECK(result.cycles == streamed.cycles);
        CHECK(result.sub_core_cycles == streamed.sub_core_cycles);
        CHECK(result.l2.hit_sectors == streamed.l2.hit_sectors);
        CHECK(result.dram_read_bytes == streamed.dram_read_bytes);
    }
}

Twice record_and_run(models::gpu::Gpu& gpu, const kernels::LibraryKernel& kernel) {
    const Folder folder;
    const benchmarks::PreparedLaunch prepared(kernel, ptx::Mode::timing);
    models::gpu::PtxSource source(prepared.context());
    Twice result;
    TraceFolder traces((folder / "traces").string());
    const std::string path = traces.begin_kernel();
    {
        RecordingSource recording(source, path, traces.kernels());
        result.recorded = gpu.run(recording, {});
        recording.finish();
        result.written = recording.instructions();
    }
    traces.finish();
    CHECK(result.recorded.cycles == gpu.run(prepared.context(), {}).cycles);  // recording changes nothing
    CHECK_FALSE(std::filesystem::exists(path + ".body"));
    CHECK(std::filesystem::exists(folder / "traces/kernelslist.g"));
    CHECK_THROWS_AS(TraceFolder((folder / "traces").string()), Error);
    TraceLaunch launch(TraceReader(path), path);
    result.again = gpu.run(launch, {});
    launch.finish();
    result.forced = launch.forced_releases;
    result.undescribed = launch.undescribed_copies;
    check_threads(gpu, path, result.again);
    return result;
}

/// A chain of additions and products of pairs (.f32x2), and one of single numbers beside it.
kernels::LibraryKernel pairs_of_floats() {
    kernels::LibraryKernel sample;
    sample.name = "pairs of floats";
    sample.kernel.entry = "pairs";
    sample.kernel.block = {128, 1, 1};
    sample.grid = {64, 1, 1};
    std::string& text = sample.kernel.text;
    text =
        ".version 8.6\n.target sm_100\n.address_size 64\n.visible .entry pairs()\n{\n"
        ".reg .b64 %d<4>;\n.reg .f32 %f<4>;\nmov.b64 %d0, 0;\nmov.b64 %d1, 0;\nmov.f32 %f0, 0f3F800000;\n";
    for (unsigned i = 0; i < 64; ++i)
        text +=
            "add.rn.f32x2 %d0, %d0, %d1;\nfma.rn.f32x2 %d0, %d0, %d1, %d0;\nmul.rn.f32x2 %d1, %d1, %d1;\n"
            "fma.rn.f32 %f0, %f0, %f0, %f0;\n";
    text += "ret;\n}\n";
    return sample;
}

double difference(const Twice& runs) {
    const auto running = [](const models::gpu::KernelResult& r) {
        return static_cast<double>(r.cycles - r.launch_cycles);
    };
    return running(runs.again) / running(runs.recorded) - 1;
}

void check_same_traffic(const Twice& runs) {
    CHECK(runs.again.warp_instructions == runs.written);
    CHECK(runs.again.ctas == runs.recorded.ctas);
    CHECK(runs.again.l1.sectors == runs.recorded.l1.sectors);
    CHECK(runs.again.l1_store_sectors == runs.recorded.l1_store_sectors);
    CHECK(runs.again.shared_accesses == runs.recorded.shared_accesses);
    CHECK(runs.again.tensor_macs == runs.recorded.tensor_macs);
    CHECK(runs.forced == 0);
    CHECK(runs.undescribed == 0);
}

}  // namespace

TEST_CASE("Recorded kernels of an A100 take the same time when they are run from their traces") {
    const sim::Hardware hardware = sim::load_hardware("a100-sxm", {"constant_cache.enabled=false"});
    models::gpu::Gpu gpu("gpu", hardware.gpu());
    for (const kernels::LibraryKernel& kernel :
         {benchmarks::copy(1 << 18), benchmarks::softmax(512, 1024), benchmarks::gemm_simt(256, 256, 128),
          benchmarks::gemm_mma(256, 256, 256)}) {
        const Twice runs = record_and_run(gpu, kernel);
        INFO(kernel.name << ": " << runs.recorded.cycles << " cycles, from the trace " << runs.again.cycles);
        check_same_traffic(runs);
        CHECK(std::abs(difference(runs)) < 0.03);
    }
}

TEST_CASE("Pairs of floats are as many operations in machine code as in PTX, and take as long") {
    const sim::Hardware hardware = sim::load_hardware("h100-sxm", {"constant_cache.enabled=false"});
    models::gpu::Gpu gpu("gpu", hardware.gpu());
    const Twice runs = record_and_run(gpu, pairs_of_floats());
    INFO(runs.recorded.cycles << " cycles, from the trace " << runs.again.cycles);
    const auto fp32 = static_cast<std::size_t>(ptx::Pipeline::fp32);
    constexpr std::uint64_t kWarps = 64 * 4;
    CHECK(runs.recorded.pipeline_instructions[fp32] == 64 * (3 * 2 + 1) * kWarps);
    CHECK(runs.again.pipeline_instructions[fp32] == runs.recorded.pipeline_instructions[fp32]);
    CHECK(runs.again.machine_instructions == runs.recorded.machine_instructions);
    CHECK(runs.again.warp_instructions == runs.recorded.warp_instructions);
    CHECK(std::abs(difference(runs)) < 0.01);
}

TEST_CASE("Products of warpgroups, tensor copies and mbarriers of a Hopper kernel run from its trace") {
    const sim::Hardware hardware = sim::load_hardware("h100-sxm", {"constant_cache.enabled=false"});
    models::gpu::Gpu gpu("gpu", hardware.gpu());
    const Twice runs = record_and_run(gpu, benchmarks::gemm_wgmma(512, 512, 512));
    INFO(runs.recorded.cycles << " cycles, from the trace " << runs.again.cycles);
    CHECK(runs.again.tensor_macs == runs.recorded.tensor_macs);
    CHECK(runs.again.l2.sectors == runs.recorded.l2.sectors);
    CHECK(runs.forced == 0);
    CHECK(runs.undescribed == 0);
    CHECK(std::abs(difference(runs)) < 0.05);
}

TEST_CASE("Descriptions of copies come back as they were written") {
    using Operation = ptx::AsyncOperation;
    Operation tile;
    tile.kind = Operation::Kind::bulk_load;
    tile.bytes = 64 * 128;
    tile.destinations = 3;
    tile.shared_address = 1024;
    for (unsigned row = 0; row < 64; ++row) tile.pieces.push_back({0x7f0000001000 + row * 8192ull, 128});
    tile.pieces.push_back({0x7f0000000000, 64});
    tile.signals.push_back({1, 64, 1, 8192});
    Operation store;
    store.kind = Operation::Kind::bulk_store;
    store.in_bulk_group = store.reduces = true;
    store.pieces.push_back({0x7f0000002000, 16});
    const std::vector<Operation> both{tile, store};
    const std::uint64_t base = base_of(both);
    const std::vector<Operation> back = operations_from_text(to_text(both, base));
    REQUIRE(back.size() == 2);
    REQUIRE(back[0].pieces.size() == 65);
    for (std::size_t i = 0; i < 65; ++i) {
        CHECK(back[0].pieces[i].address + base == tile.pieces[i].address);
        CHECK(back[0].pieces[i].bytes == tile.pieces[i].bytes);
    }
    CHECK(back[0].signals[0].transaction_bytes == 8192);
    CHECK(back[0].destinations == 3);
    CHECK(back[1].reduces);
    CHECK(back[1].in_bulk_group);
    CHECK_THROWS_AS(operations_from_text("1 2 3"), Error);
    CHECK_THROWS_AS(operations_from_text(""), Error);
}
