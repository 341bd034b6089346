// Runs the launches of a launch file on one device, in order, in one memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/common/signal_trace.h"
#include "models/gpu/gpu_config.h"
#include "models/gpu/kernel_result.h"
#include "sim/kernel/buffers.h"
#include "sim/kernel/compare.h"
#include "sim/kernel/launch_file.h"
#include "sim/kernel/line_profile.h"
#include "sim/gpu/settle/power_limit.h"

namespace heddle::kernel {

enum class RunMode : std::uint8_t {
    timing,      ///< cycles; values only where they steer
    numerics,    ///< values and cycles; both modes must take the same number of cycles
    functional,  ///< values, no time
};

struct RunOptions {
    RunMode mode = RunMode::timing;
    /// The device. In functional mode only its compute capability counts; 0: that of the module.
    models::gpu::GpuConfig device;
    bool tick_every_cycle = false;
    /// Functional mode runs kernels as written, whatever this says.
    ptx::Assembly assembly = ptx::Assembly::scheduled;
    unsigned threads = 1;                ///< of the host, for one kernel: models::gpu::RunOptions::threads
    bool registers_of_ptxas = false;     ///< registers per thread: what ptxas counts, not the own allocation
    models::gpu::SeriesSettings series;  ///< what is recorded over time
    models::SignalTrace* signals = nullptr;  ///< what all blocks do in each cycle; nullptr: nobody watches
    bool sample = false;                 ///< leave out what repeats; timing mode only
    /// Where the output of the kernels' printf goes; none: standard output.
    std::function<void(std::string_view)> print;
    /// Called before each run of a kernel with the part of the runs that are done, 0..1, and the kernel's name.
    std::function<void(double fraction, const std::string& what)> progress;
    std::string record_trace;  ///< folder for a trace of each launch (sim/sass/trace_recorder.h); "": none
    bool lines = false;        ///< count the cycles of every line; needs time
    bool check = false;        ///< look for uninitialised reads, races and wrong barriers; needs values
};

/// One launch; repetitions are launches of their own.
struct LaunchReport {
    std::string kernel;
    ptx::Dim3 grid, block;
    std::uint64_t warp_instructions = 0;
    std::uint32_t registers_per_thread = 0, shared_bytes = 0;
    models::gpu::KernelResult timing;  ///< empty in functional mode
    sim::PowerDraw power;              ///< likewise; at the device's clock, which no governor lowers here
    LineProfile lines;                 ///< of RunOptions::lines
    /// Of a programmatic launch: cycles in which the launch before it was still running.
    std::uint64_t overlap_cycles = 0;
    /// numerics: cycles of the functional run; must equal timing.cycles
    std::uint64_t functional_cycles = 0;
};

struct KernelRun {
    RunMode mode = RunMode::timing;
    ptx::Assembly assembly = ptx::Assembly::scheduled;
    bool registers_of_ptxas = false;
    std::vector<LaunchReport> launches;
    std::vector<Buffer> buffers;  ///< after the last launch; in timing mode their values mean nothing
    std::vector<CompareOutcome> comparisons;
    std::vector<ptx::CheckFinding> findings;  ///< of RunOptions::check
    std::vector<std::string> notes;

    bool has_values() const { return mode != RunMode::timing; }
    bool passed() const;
};

/// At most once per process when there is a device to elaborate. Throws heddle::Error with the place in the
/// launch file for what does not fit a kernel (number and sizes of arguments, ...), and what isa/ptx and the
/// device model find. Comparisons are made when there are values; else a note says what they need.
KernelRun run(const LaunchFile& file, const RunOptions& options);

}  // namespace heddle::kernel
