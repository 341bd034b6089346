// What a run found: the one structure that reports, scripts and comparisons read.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/gpu/kernel_result.h"
#include "sim/run/assemble/memory_report.h"
#include "sim/run/schedule/streams.h"

namespace heddle::sim {

/// How a time was found.
enum class Fidelity : std::uint8_t {
    cycle,      ///< a program was executed by the device model, cycle by cycle
    estimated,  ///< a declared formula: see KernelResult::bound_by and the docs
    unknown,    ///< not understood; the recorded time stands in when there is one
};
std::string name_of(Fidelity fidelity);

/// One axis of the roofline: what was done of a kind, and what the device could do per second.
struct Throughput {
    std::string unit;    ///< "FLOP" or "B"
    double amount = 0;   ///< of a kernel, or of the step
    double ceiling = 0;  ///< per second
};

/// Of a kernel that was simulated in part (SimulateOptions::sample).
struct SampledKernel {
    double simulated = 1;  ///< part of its cycles; the rest was extrapolated
    double error = 0;      ///< its time may be wrong by this part
    std::string note;      ///< what was left out, or why nothing was
};

/// Ops of the same name, kind and phase, added up.
struct OpSummary {
    std::string name;   ///< what it computes, with shapes: "matmul 2048x3072x768 bf16"
    std::string kind;   ///< name_of(trace::OpKind)
    std::string phase;  ///< name_of(trace::Phase)
    std::uint64_t count = 0;
    double time_us = 0;  ///< simulated, all occurrences together
    std::optional<double>
        measured_us;       ///< recorded, all occurrences together; only when each one was recorded
    double flops = 0;      ///< useful floating-point operations, all occurrences together
    double bytes = 0;      ///< bytes of the distinct operands, all occurrences together
    std::string bound_by;  ///< what limits it: "tensor", "dram bandwidth", "latency", ...
    Fidelity fidelity = Fidelity::cycle;
    double deviation_us = 0;  ///< |simulated - recorded|, added up over the occurrences that were recorded
};

/// One kernel (or TPU program) in the order of the step.
struct KernelResult {
    std::string name;      ///< entry of the program, or the op's name when estimated
    std::uint32_t op = 0;  ///< of the trace: its place in it
    std::string op_name;
    std::string kind, phase;
    std::string recorded_kernel;  ///< name in the recording, empty when there is none
    /// time_us: alone on the device. It ends later than that when other work ran beside it.
    double start_us = 0, time_us = 0, end_us = 0;
    double gap_us = 0;       ///< before start_us: launch overhead that a profiler does not count
    double launched_us = 0;  ///< when the host had handed it out
    std::uint32_t stream = 0;
    /// In loops of which one turn is held (workloads/trace/turns.h): for how many launches it stands, one in
    /// each turn. Times, counts, bytes, operations and energy are those of all of them.
    double turns = 1;
    double waves = 1;        ///< GPU: thread blocks for each that the device has room for; StreamWork::waves
    std::optional<double> measured_us;  ///< of the op; on its first kernel only when the op became several
    std::uint64_t cycles = 0;           ///< 0 when estimated
    std::uint64_t overlap_cycles = 0;  ///< of them, while the launch before was still running; not in time_us
    std::uint64_t dependency_release = 0;  ///< cycle in which that one had ended, after launch.before
    std::uint64_t warp_instructions = 0;   ///< GPU
    std::uint32_t grid[3] = {0, 0, 0}, block[3] = {0, 0, 0};
    std::uint32_t registers_per_thread = 0, shared_bytes = 0, ctas_per_sm = 0;
    double dram_bytes = 0, l2_bytes = 0;
    std::optional<double> l2_hit_rate;  ///< GPU: of the sectors that were loaded; none: nothing was
    double flops = 0, bytes = 0;
    std::string bound_by;
    Fidelity fidelity = Fidelity::cycle;
    /// Fractions of unit-cycles by reason, adding up to 1: "issued", "memory", ... Empty when estimated.
    std::map<std::string, double> time_by_reason;
    /// TPU: the same for each kind of unit; "matrix units" is time_by_reason.
    std::map<std::string, std::map<std::string, double>> time_by_unit;
    /// Of each resource over the kernel's time, 0..1. Empty when estimated.
    std::map<std::string, double> utilisation;
    /// Joules by where they went. Empty when estimated, and on devices whose power is not modelled.
    std::map<std::string, double> energy;
    std::map<std::string, Throughput> throughputs;  ///< GPU: "tensor", "fp32", "dram", "l2", "l1 and shared"
    std::optional<SampledKernel> sampled;
    /// GPU, of SimulateOptions::series; the same for all launches of the same program.
    std::shared_ptr<const models::gpu::Series> series;
};

/// Fractions of non-communication time (measured where known, else simulated). They add up to 1.
struct Coverage {
    double cycle = 0, estimated = 0, unknown = 0;
};

/// Training with real values beside a double-precision reference.
struct NumericsResult {
    std::vector<double> device_loss;  ///< per step, from the first, of the run that was resumed too
    std::vector<double> reference_loss;
    /// Each step is also compared on its own: the reference begins it with the device's numbers. Worst of all
    /// steps, and what the number formats allow (sim/run/numerics/numerics.h).
    double loss_error = 0, loss_error_bound = 0;  ///< of a loss, relative
    double gradient_error = 0,
           gradient_error_bound = 0;  ///< |g - g_reference| of a parameter / |whole g|
    std::string worst_gradient;
    double weight_error = 0,
           weight_error_bound = 0;  ///< of an update with the device's gradients, |dw| / |w|
    std::string worst_parameter;
    /// |w - w_reference| / |w_reference| of all parameters together, after all steps: two trainings that
    /// round differently drift apart, the faster the nearer they learn to where they would diverge. No bound.
    double drift = 0;
    unsigned resumed_at = 0;  ///< steps that an earlier run had done
    std::string data;         ///< "two spirals, fresh points in every step"; empty: one batch for all steps
    std::string weights;      ///< hash of all parameters' bits on the device, at the end
};

struct RunResult {
    std::string workload, hardware;
    std::string hardware_description;  ///< one line for people: "132 SMs at 1755 MHz, ..."
    double step_time_us = 0;  ///< from the host's first work to the end of the last: division.total_us
    double device_busy_us =
        0;                     ///< sum of kernels and copies without communication, as a profiler counts them
    double launch_gap_us = 0;  ///< nothing runs and a kernel is being started
    double communication_us = 0;  ///< sum of collectives: recorded time, or 0 on a single device
    StepDivision division;        ///< of the step time
    bool graph = false;           ///< launched as one CUDA graph
    bool recorded_host = false;   ///< the host's times are those of the recording
    std::optional<MemoryReport> memory;
    std::vector<OpSummary> ops;  ///< by falling time
    std::vector<KernelResult> kernels;
    Coverage coverage;
    std::optional<double> measured_total_us;    ///< recorded kernels without communication
    std::map<std::string, double> utilisation;  ///< of the whole step: "tensor", "dram", ... 0..1
    /// Joules of the simulated kernels, by where they went; empty where power is not modelled.
    std::map<std::string, double> energy;
    double energy_time_us = 0;  ///< time of the kernels that `energy` counts
    /// Of the simulated kernels of the whole step; `ceiling`: mean over what was done.
    std::map<std::string, Throughput> throughputs;
    /// With SimulateOptions::sample: microseconds by which device_busy_us may be wrong, and the part of the
    /// kernels' time that was simulated.
    std::optional<double> sampling_error_us;
    double simulated_fraction = 1;
    double clock_hz = 0;  ///< GPU: the clock of the run, settled by the governor; 0: TPU
    double power_limit = 0;  ///< GPU: watts that the board may draw; 0: power is not modelled
    std::optional<NumericsResult> numerics;
    std::vector<std::string> signals;   ///< files of signals that were written, a sentence each
    std::vector<std::string> notes;  ///< what the user must know to read the figures

    /// The only part that differs between two runs of the same thing.
    struct Simulation {
        double wall_s = 0;
        double processor_s = 0;  ///< of the workers
        std::uint64_t warp_instructions = 0;
        std::uint64_t tpu_cycles = 0;
        std::uint64_t tilings_searched = 0;  ///< the others were known from earlier runs
        unsigned workers = 1;
        bool scheduled = true;  ///< a GPU's kernels went through the pass that stands in for ptxas
        std::uint64_t kernels_simulated = 0;  ///< distinct programs run
    } simulation;
};

}  // namespace heddle::sim
