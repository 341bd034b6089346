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

/// What a run computes.
enum class RunMode : std::uint8_t {
    timing,      ///< cycles; only values that affect addresses, branches and synchronisation
    numerics,    ///< values and cycles; both modes must take the same number of cycles
    functional,  ///< values, no time
};

/// The device and what is observed.
struct RunOptions {
    RunMode mode = RunMode::timing;
    /// The device. Functional mode uses only its compute capability; 0: that of the module.
    models::gpu::GpuConfig device;
    bool tick_every_cycle = false;
    /// Functional mode runs kernels as written, whatever this says.
    ptx::Assembly assembly = ptx::Assembly::scheduled;
    unsigned threads = 1;                ///< of the host, for one kernel: models::gpu::RunOptions::threads
    bool registers_of_ptxas = false;     ///< use the register counts of ptxas instead of Heddle's own
    bool through_ptxas = false;          ///< run the machine code that ptxas makes instead of PTX
    models::gpu::SeriesSettings series;  ///< counters to record over time
    models::SignalTrace* signals = nullptr;  ///< receives the signals of all blocks; nullptr: none
    bool sample = false;                 ///< extrapolate what repeats; timing mode only
    /// Receives the output of the kernels' printf; none: standard output.
    std::function<void(std::string_view)> print;
    /// Called before each run of a kernel with the fraction of the runs that are done, 0..1, and the kernel's
    /// name.
    std::function<void(double fraction, const std::string& what)> progress;
    std::string record_trace;  ///< folder for a trace of each launch (sim/sass/trace_recorder.h); "": none
    bool lines = false;        ///< count the cycles of every line; needs time
    bool check = false;        ///< look for uninitialised reads, races and wrong barriers; needs values
};

/// The result of one launch; each repetition is a launch.
struct LaunchReport {
    std::string kernel;
    ptx::Dim3 grid, block;
    std::uint64_t warp_instructions = 0;
    std::uint32_t registers_per_thread = 0, shared_bytes = 0;
    models::gpu::KernelResult timing;  ///< empty in functional mode
    sim::PowerDraw power;  ///< empty in functional mode; at the device's clock, which no governor lowers here
    LineProfile lines;                 ///< with RunOptions::lines
    /// For a programmatic launch: cycles in which the previous launch was still running.
    std::uint64_t overlap_cycles = 0;
    /// numerics: cycles of the functional run; must equal timing.cycles
    std::uint64_t functional_cycles = 0;
};

/// What became of a launch that ran together with others. Times count from the first launch's.
struct TogetherReport {
    std::size_t launch = 0;  ///< in KernelRun::launches
    std::uint32_t stream = 0;
    double queued_us = 0;  ///< from the moment in which nothing but places was missing to its first thread block
    double start_us = 0, end_us = 0;  ///< from the call of the driver, or the end of the launch before it in its stream, to its end
    double sms = 0;                   ///< SMs that its thread blocks had, in the mean from its first to its last
};

/// The result of a launch file.
struct KernelRun {
    RunMode mode = RunMode::timing;
    ptx::Assembly assembly = ptx::Assembly::scheduled;
    bool registers_of_ptxas = false;
    std::vector<LaunchReport> launches;
    std::vector<TogetherReport> together;  ///< of a file with streams: all launches once more, on one clock
    double together_us = 0;                ///< from the first to the end of the last, with the overhead of a launch
    std::vector<Buffer> buffers;  ///< after the last launch; meaningless in timing mode
    std::vector<CompareOutcome> comparisons;
    std::vector<ptx::CheckFinding> findings;  ///< with RunOptions::check
    std::vector<std::string> notes;

    bool has_values() const { return mode != RunMode::timing; }
    /// Whether all comparisons passed. Findings of checks do not count.
    bool passed() const;
};

/// Runs a launch file. With a device, a process can call it only once, because SystemC elaborates once.
/// Throws heddle::Error with the place in the launch file for arguments that do not fit a kernel (number,
/// sizes), and for what isa/ptx and the device model find. Comparisons are made when there are values;
/// otherwise a note says which mode they need.
KernelRun run(const LaunchFile& file, const RunOptions& options);

}  // namespace heddle::kernel
