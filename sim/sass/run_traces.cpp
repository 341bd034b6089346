#include "sim/sass/run_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <variant>

#include "isa/common/error.h"
#include "models/gpu/gpu.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/run/workers/worker_pool.h"
#include "sim/sass/entry_text.h"
#include "sim/sass/trace_launch.h"
#include "sim/sass/trace_scan.h"
#include "workloads/sass_traces/kernel_list.h"

namespace heddle::sass {
namespace {

bool ends_with(const std::string& text, std::string_view end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Job {
    std::string path;
    std::vector<models::gpu::L2Residency> resident;
};

class ScanJobs : public sim::JobRunner {
  public:
    ScanJobs(const std::vector<Job>& jobs, const TraceRunOptions& options, std::uint64_t l2_bytes)
        : jobs_(jobs), options_(options), l2_bytes_(l2_bytes) {}
    std::string run(std::size_t job) override {
        TraceReader reader(jobs_[job].path);
        return to_text(scan(reader, options_.unknown_as, l2_bytes_));
    }

  private:
    const std::vector<Job>& jobs_;
    const TraceRunOptions& options_;
    std::uint64_t l2_bytes_;
};

void describe(const models::gpu::KernelResult& result, TraceEntry& entry) {
    entry.seconds = result.seconds;
    entry.cycles = result.cycles;
    entry.warp_instructions = result.warp_instructions;
    const std::uint64_t running = result.cycles - result.launch_cycles;
    entry.ipc =
        running == 0 ? 0 : static_cast<double>(result.warp_instructions) / static_cast<double>(running);
    entry.registers_per_thread = result.registers_per_thread;
    entry.ctas_per_sm = result.ctas_per_sm;
    entry.bound_by = result.bound_by;
    entry.l1 = {result.l1.sectors, result.l1.hit_sectors, static_cast<double>(result.l1.bytes)};
    entry.l2 = {result.l2.sectors, result.l2.hit_sectors, static_cast<double>(result.l2.bytes)};
    entry.dram_read_bytes = static_cast<double>(result.dram_read_bytes);
    entry.dram_write_bytes = static_cast<double>(result.dram_write_bytes);
    entry.shared_accesses = result.shared_accesses;
    entry.shared_wavefronts = result.shared_wavefronts;
    entry.atomic_sectors = result.atomic_sectors;
    double total = 0;
    for (const std::uint64_t cycles : result.sub_core_cycles) total += static_cast<double>(cycles);
    for (std::size_t i = 0; i < result.sub_core_cycles.size() && total > 0; ++i)
        entry.time_by_reason[models::gpu::name_of(static_cast<models::gpu::CycleReason>(i))] =
            static_cast<double>(result.sub_core_cycles[i]) / total;
    for (const auto& [resource, fraction] : result.utilisation) entry.utilisation[resource] = fraction;
    for (const auto& [part, joules] : result.energy.parts()) entry.energy[part] = joules;
    for (const models::gpu::Throughput& one : result.throughputs)
        entry.throughputs[one.name] = {one.unit, one.amount, one.ceiling};
}

TraceEntry run_kernel(models::gpu::Gpu& gpu, const Job& job, const TraceRunOptions& options,
                      unsigned threads) {
    const auto start = std::chrono::steady_clock::now();
    TraceLaunch launch(TraceReader(job.path), job.path, options.unknown_as);
    // Reading twice costs less than it brings.
    if (threads > 1) {
        TraceReader ahead(job.path);
        while (ahead.next()) {
        }
        launch.know(ahead);
    }
    models::gpu::RunOptions run;
    run.threads = threads;
    run.tick_every_cycle = options.tick_every_cycle;
    run.series = options.series;
    run.resident = job.resident;
    models::gpu::KernelResult result = gpu.run(launch, run);
    launch.finish();
    TraceEntry entry;
    const KernelHeader& header = launch.header();
    entry.name = header.name;
    entry.file = job.path;
    entry.id = header.id;
    const auto put = [](std::uint32_t(&to)[3], const Dimensions& d) {
        to[0] = d.x;
        to[1] = d.y;
        to[2] = d.z;
    };
    put(entry.grid, header.grid);
    put(entry.block, header.block);
    entry.shared_bytes = header.shared_bytes;
    describe(result, entry);
    if (!result.series.points.empty())
        entry.series = std::make_shared<const models::gpu::Series>(std::move(result.series));
    entry.forced_releases = launch.forced_releases;
    entry.undescribed_copies = launch.undescribed_copies;
    entry.guessed_textures = launch.guessed_textures;
    entry.read_and_run_seconds = seconds_since(start);
    return entry;
}

class RunJobs : public sim::JobRunner {
  public:
    RunJobs(const std::vector<Job>& jobs, const TraceRunOptions& options,
            const models::gpu::GpuConfig& config, unsigned threads)
        : jobs_(jobs), options_(options), threads_(threads), gpu_("gpu", config) {}
    std::string run(std::size_t job) override {
        return to_text(run_kernel(gpu_, jobs_[job], options_, threads_));
    }

  private:
    const std::vector<Job>& jobs_;
    const TraceRunOptions& options_;
    const unsigned threads_;
    models::gpu::Gpu gpu_;
};

/// What copies and kernels leave in L2 for those after them, and all that scanning finds wrong.
void prepare(const std::vector<TracedEvent>& events, const models::gpu::GpuConfig& config,
             const TraceRunOptions& options, unsigned workers, std::vector<Job>& jobs, TraceRun& run) {
    const std::uint64_t capacity = config.l2.bytes / config.l2.partitions;
    std::vector<TraceScan> scans(jobs.size());
    std::size_t done = 0;
    sim::run_jobs(
        jobs.size(), workers, [&] { return std::make_unique<ScanJobs>(jobs, options, capacity); },
        [&](std::size_t job, const std::string& text) {
            scans[job] = scan_from_text(text);
            if (options.progress)
                options.progress(0.2 * static_cast<double>(++done) / static_cast<double>(jobs.size()),
                                 "reading");
        });
    UnknownOpcodes unknown;
    for (const TraceScan& one : scans) {
        run.text_bytes += one.text_bytes;
        for (const auto& [opcode, count] : one.unknown) unknown[opcode] += count;
    }
    report_unknown(unknown, run.list);
    RecentPages pages(capacity);
    std::size_t job = 0;
    for (const TracedEvent& event : events) {
        if (const auto* const copy = std::get_if<HostToDeviceCopy>(&event)) {
            pages.touch_range(copy->address, copy->bytes);
            continue;
        }
        jobs[job].resident = pages.resident();
        for (const std::uint64_t page : scans[job].pages) pages.touch(page);
        ++job;
    }
}

void add_notes(const models::gpu::GpuConfig& config, TraceRun& run) {
    std::uint64_t forced = 0, copies = 0, textures = 0;
    bool copied = false;
    for (const TraceEntry& entry : run.entries) {
        forced += entry.forced_releases;
        copies += entry.undescribed_copies;
        textures += entry.guessed_textures;
        copied = copied || entry.kind == TraceEntry::Kind::host_to_device;
    }
    if (copied)
        run.notes.push_back(
            fmt::format("copies from the host are estimated: {:.1f} us and {:.1f} GB/s (host.latency, "
                        "host.bandwidth); what they "
                        "wrote is taken to lie in L2",
                        config.host.latency * 1e6, config.host.bandwidth / 1e9));
    if (forced != 0)
        run.notes.push_back(
            fmt::format("{} times a warp was let go from a barrier to which the others could not come: the "
                        "trace does not say how "
                        "many warps a barrier is for",
                        forced));
    if (textures != 0)
        run.notes.push_back(fmt::format(
            "{} texture and surface instructions are taken to hit L1: the trace does not say what they read",
            textures));
    if (copies != 0)
        run.notes.push_back(fmt::format(
            "{} bulk copies moved nothing: the trace does not say what they move (docs/sass-traces.md)",
            copies));
}

}  // namespace

bool names_traces(const std::string& path) {
    return ends_with(path, ".g") || ends_with(path, ".traceg") || ends_with(path, ".traceg.xz") ||
           ends_with(path, ".tracez");
}

TraceRun run_traces(const std::string& path, const sim::Hardware& hardware, const TraceRunOptions& options) {
    if (sim::gpu_machine(hardware) == nullptr)
        throw Error("recorded machine code runs on a GPU, and " + hardware.name + " is none",
                    {"--hardware", 0, ""}, "choose a GPU: heddle hardware lists them");
    const auto start = std::chrono::steady_clock::now();
    const models::gpu::GpuConfig& config = sim::gpu_config(hardware);
    const std::vector<TracedEvent> events =
        ends_with(path, ".g") ? read_kernel_list(path) : std::vector<TracedEvent>{TracedKernel{path}};
    TraceRun run;
    run.list = path;
    run.hardware = hardware.name;
    run.workers = options.jobs != 0 ? options.jobs : sim::available_cores();
    std::vector<Job> jobs;
    for (const TracedEvent& event : events)
        if (const auto* const kernel = std::get_if<TracedKernel>(&event)) jobs.push_back({kernel->path, {}});
    if (events.size() > 1) prepare(events, config, options, run.workers, jobs, run);

    std::vector<TraceEntry> kernels(jobs.size());
    std::size_t done = 0;
    sim::run_jobs(
        jobs.size(), run.workers,
        [&] {
            return std::make_unique<RunJobs>(jobs, options, config,
                                             sim::threads_per_worker(jobs.size(), run.workers));
        },
        [&](std::size_t job, const std::string& text) {
            kernels[job] = entry_from_text(text);
            if (options.progress)
                options.progress(0.2 + 0.8 * static_cast<double>(++done) / static_cast<double>(jobs.size()),
                                 kernels[job].name);
        });
    std::size_t next = 0;
    for (const TracedEvent& event : events) {
        if (const auto* const copy = std::get_if<HostToDeviceCopy>(&event)) {
            TraceEntry entry;
            entry.kind = TraceEntry::Kind::host_to_device;
            entry.name = "copy from host";
            entry.address = copy->address;
            entry.copied_bytes = copy->bytes;
            entry.seconds = config.host.latency + static_cast<double>(copy->bytes) / config.host.bandwidth;
            run.entries.push_back(std::move(entry));
        } else {
            run.entries.push_back(std::move(kernels[next++]));
        }
        run.seconds += run.entries.back().seconds;
    }
    add_notes(config, run);
    run.wall_seconds = seconds_since(start);
    return run;
}

}  // namespace heddle::sass
