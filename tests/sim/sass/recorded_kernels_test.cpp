// Kernels that Accel-Sim's tracer recorded on an A100, run to their end; left out where they are absent.
#include <catch2/catch.hpp>
#include <filesystem>

#include "models/gpu/gpu.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "sim/sass/run_traces.h"
#include "sim/sass/trace_launch.h"
#include "workloads/sass_traces/line_source.h"

using namespace heddle;
using namespace heddle::sass;

namespace {

std::string recorded(const std::string& name) {
    return std::string(HEDDLE_SOURCE_DIR) + "/../shared/data/traces/accelsim/" + name;
}

bool is_there(const std::string& path) {
    if (std::filesystem::exists(path)) return true;
    WARN("skipped: no recorded traces beside the checkout");
    return false;
}

/// Counted without the reader: lines that begin with a program counter and a mask, and the lanes of those
/// whose width is not 0 and that are no loads of constants.
struct PlainCount {
    std::uint64_t instructions = 0, memory_lanes = 0;
};

PlainCount count_lines(const std::string& path) {
    LineSource lines(open_bytes(path), path);
    PlainCount count;
    for (std::string_view line; lines.next(line);) {
        if (line.size() < 14 || line[4] != ' ' || line[13] != ' ' ||
            line.find_first_not_of("0123456789abcdef") != 4)
            continue;
        ++count.instructions;
    }
    return count;
}

}  // namespace

TEST_CASE("All kernels of a recorded training step run to the end, and every instruction is performed once") {
    const std::string folder = recorded("nn_onestep/traces");
    if (!is_there(folder)) return;
    const sim::Hardware hardware = sim::load_hardware("a100-sxm");
    models::gpu::Gpu gpu("gpu", sim::gpu_config(hardware));
    unsigned kernels = 0;
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".xz") paths.push_back(entry.path());
    paths.push_back(recorded("vectoradd_sm80/kernel-1.traceg.xz"));
    for (const std::string& path : paths) {
        INFO(path);
        TraceLaunch launch(TraceReader(path), path);
        models::gpu::RunOptions options;
        options.audit = true;
        // Conservation is checked at the end of the run: what was asked for was served, once.
        const models::gpu::KernelResult result = gpu.run(launch, options);
        launch.finish();
        CHECK(result.warp_instructions == count_lines(path).instructions);
        CHECK(result.ctas == launch.header().grid.count());
        CHECK(launch.forced_releases == 0);
        CHECK(result.cycles > result.launch_cycles);
        ++kernels;
        if (kernels % 20 != 0) continue;
        options.tick_every_cycle = true;
        TraceLaunch again(TraceReader(path), path);
        CHECK(gpu.run(again, options).cycles == result.cycles);
    }
    CHECK(kernels == 119);
}

TEST_CASE("A recorded vector addition moves what its code says") {
    const std::string path = recorded("vectoradd_sm80/kernel-1.traceg.xz");
    if (!is_there(path)) return;
    const sim::Hardware hardware = sim::load_hardware("a100-sxm");
    models::gpu::Gpu gpu("gpu", sim::gpu_config(hardware));
    TraceLaunch launch{TraceReader(path), path};
    const models::gpu::KernelResult result = gpu.run(launch, {});
    // 50,000 elements of 4 bytes: two arrays are read and one is written, 8 elements to a sector.
    CHECK(result.l1.sectors - result.l1_store_sectors == 2 * 6250);
    CHECK(result.l1_store_sectors == 6250);
    CHECK(result.dram_read_bytes == 2 * 200000);
}

TEST_CASE("Lists run on workers, with copies in between, and workers change nothing") {
    const std::string list = recorded("nn_onestep/traces/kernelslist.g");
    const std::string with_copies = recorded("vectoradd_sm80/kernelslist.g");
    if (!is_there(list)) return;
    const sim::Hardware hardware = sim::load_hardware("a100-sxm");
    TraceRunOptions options;
    options.jobs = 1;
    const TraceRun one = run_traces(list, hardware, options);
    options.jobs = 3;
    const TraceRun three = run_traces(list, hardware, options);
    REQUIRE(one.entries.size() == 114);
    for (std::size_t i = 0; i < one.entries.size(); ++i)
        CHECK(one.entries[i].cycles == three.entries[i].cycles);

    const TraceRun copies = run_traces(with_copies, hardware, options);
    REQUIRE(copies.entries.size() == 3);
    CHECK(copies.entries[0].kind == TraceEntry::Kind::host_to_device);
    CHECK(copies.entries[0].copied_bytes == 200000);
    CHECK(copies.entries[0].seconds ==
          Approx(sim::gpu_config(hardware).host.latency + 200000 / sim::gpu_config(hardware).host.bandwidth));
    // The copies left the kernel's input in L2.
    CHECK(copies.entries[2].dram_read_bytes == 0);
    const TraceRun alone = run_traces(recorded("vectoradd_sm80/kernel-1.traceg.xz"), hardware, options);
    CHECK(alone.entries[0].dram_read_bytes == 400000);
    CHECK(alone.entries[0].cycles > copies.entries[2].cycles);
}
