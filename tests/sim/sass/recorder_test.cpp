// What a launch of PTX did, written as a trace, and run again from there.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "gpu_launches.h"
#include "isa/common/error.h"
#include "models/gpu/gpu.h"
#include "models/gpu/ptx_source.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
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
    models::gpu::Gpu gpu("gpu", sim::gpu_config(hardware));
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
    models::gpu::Gpu gpu("gpu", sim::gpu_config(hardware));
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
    models::gpu::Gpu gpu("gpu", sim::gpu_config(hardware));
    const Twice runs = record_and_run(gpu, benchmarks::gemm_wgmma(512, 512, 512));
    INFO(runs.recorded.cycles << " cycles, from the trace " << runs.again.cycles);
    CHECK(runs.again.tensor_macs == runs.recorded.tensor_macs);
    CHECK(runs.again.l2.sectors == runs.recorded.l2.sectors);
    CHECK(runs.forced == 0);
    CHECK(runs.undescribed == 0);
    CHECK(std::abs(difference(runs)) < 0.05);
}

namespace {

/// Accesses of every kind by threads 0 to 39 of 128: some lanes of the second warp, none of the others; and a
/// copy of which the other lanes only fill with zeros.
kernels::LibraryKernel masked_accesses() {
    kernels::LibraryKernel sample;
    sample.name = "masked accesses";
    sample.kernel.entry = "masked";
    sample.kernel.block = {128, 1, 1};
    sample.kernel.parameters = {{"there", 8, true}};
    sample.buffers = {{"there", 4096}};
    sample.arguments = {kernels::pointer_argument("there", 0)};
    sample.kernel.text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry masked(.param .u64 there)\n{\n"
        ".reg .b32 %r<16>; .reg .b64 %rd<8>; .reg .pred %p<4>; .reg .f32 %f<8>;\n"
        ".shared .align 16 .b8 here[4096]; .local .align 16 .b8 own[64];\n"
        "mov.u32 %r0, %tid.x; setp.lt.u32 %p0, %r0, 40; shl.b32 %r2, %r0, 4; mov.u32 %r3, here;\n"
        "add.u32 %r3, %r3, %r2; ld.param.u64 %rd0, [there]; mad.wide.u32 %rd1, %r0, 16, %rd0;\n"
        "@%p0 ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd1]; @%p0 ld.global.u8 %r5, [%rd1+3];\n"
        "@%p0 st.shared.v2.f32 [%r3], {%f0, %f1}; @%p0 ld.shared.b32 %r6, [%r3];\n"
        "@%p0 st.local.b32 [own], %r6; @%p0 ld.local.b32 %r6, [own];\n"
        "@%p0 ld.b32 %r7, [%rd1]; @%p0 st.b32 [%rd1], %r7;\n"
        "@%p0 atom.global.add.u32 %r8, [%rd1], %r6; @%p0 red.global.add.u32 [%rd1], %r8;\n"
        "@%p0 atom.shared.add.u32 %r9, [%r3], %r5; @%p0 cp.async.cg.shared.global [%r3], [%rd1], 16;\n"
        "selp.u32 %r4, 16, 0, %p0; cp.async.cg.shared.global [%r3], [%rd1], 16, %r4;\n"
        "cp.async.commit_group; cp.async.wait_group 0; add.u32 %r9, %r9, %r8;\n"
        "@%p0 st.global.u32 [%rd1], %r9;\nret;\n}\n";
    return sample;
}

}  // namespace

TEST_CASE("A kernel that reads a texture is not recorded, and the error says why") {
    const Folder folder;
    for (const char* const instruction : {"tex.1d.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd0, {%r0}];",
                                          "suld.b.1d.b32.trap %r1, [%rd0, {%r0}];"}) {
        kernels::LibraryKernel sample = masked_accesses();
        sample.kernel.text =
            ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry masked(.param .u64 there)\n{\n"
            ".reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .f32 %f<8>; ld.param.u64 %rd0, [there]; mov.u32 %r0, "
            "%tid.x;\n" +
            std::string(instruction) + "\nret;\n}\n";
        const benchmarks::PreparedLaunch prepared(sample, ptx::Mode::timing);
        models::gpu::PtxSource source(prepared.context());
        CHECK_THROWS_WITH(RecordingSource(source, (folder / "kernel-1.traceg").string(), 1),
                          Catch::Contains("traces have no addresses for textures and surfaces"));
    }
}

TEST_CASE("Accesses of no lane keep their width and one address of 0, as tracers write them") {
    // A line of a trace of an A100: "0250 00000000 1 R8 LDG.E 1 R16 4 1 0x0 0 0". Accel-Sim ends at a load or
    // store of width 0.
    const Folder folder;
    const sim::Hardware hardware = sim::load_hardware("a100-sxm", {"constant_cache.enabled=false"});
    models::gpu::Gpu gpu("gpu", sim::gpu_config(hardware));
    const benchmarks::PreparedLaunch prepared(masked_accesses(), ptx::Mode::timing);
    models::gpu::PtxSource source(prepared.context());
    const std::string path = (folder / "kernel-1.traceg").string();
    RecordingSource recording(source, path, 1);
    const models::gpu::KernelResult recorded = gpu.run(recording, {});
    recording.finish();
    std::map<std::string, std::set<unsigned>> widths, widths_of_none;  // by mnemonic
    std::istringstream text(heddle::tests::text_of(path));
    for (std::string line; std::getline(text, line);) {
        std::istringstream words(line);
        std::string address, mask, word, opcode, rest;
        unsigned destinations = 0, sources = 0, width = 0;
        if (!(words >> address >> mask >> destinations) || mask.size() != 8 || line.front() == '-') continue;
        for (unsigned i = 0; i < destinations; ++i) words >> word;
        words >> opcode >> sources;
        for (unsigned i = 0; i < sources; ++i) words >> word;
        words >> width;
        std::getline(words, rest);
        const std::string name = opcode.substr(0, opcode.find('.'));
        if (width == 0 && mask != "00000000") continue;
        INFO(line);
        (mask == "00000000" ? widths_of_none : widths)[name].insert(width);
        if (mask == "00000000") CHECK(rest == " 1 0x0 0 0");
    }
    CHECK(widths["LDG"] == std::set<unsigned>{1, 16});
    for (const char* name :
         {"LDG", "STG", "LDS", "STS", "LDL", "STL", "LD", "ST", "ATOMG", "ATOMS", "RED", "LDGSTS"}) {
        INFO(name);
        CHECK(!widths[name].empty());
        CHECK(widths_of_none[name] == widths[name]);
    }
    TraceLaunch launch(TraceReader(path), path);
    const models::gpu::KernelResult again = gpu.run(launch, {});
    launch.finish();
    CHECK(again.l1.sectors == recorded.l1.sectors);
    CHECK(again.shared_accesses == recorded.shared_accesses);
    CHECK(again.atomic_sectors == recorded.atomic_sectors);
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
