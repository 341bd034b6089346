// The result of a run: the one structure from which reports, scripts and comparisons are made.
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

/// How the time of an op or a kernel was determined.
enum class Fidelity : std::uint8_t {
    cycle,      ///< a program was executed by the device model, cycle by cycle
    estimated,  ///< a declared formula: see KernelResult::bound_by and the docs
    unknown,    ///< not understood; the recorded time stands in when there is one
};

/// Returns the enumerator's name as the result files write it: "cycle", "estimated" or "unknown".
std::string name_of(Fidelity fidelity);

/// One axis of the roofline: how much work of one kind was done, and the device's peak rate for it.
struct Throughput {
    std::string unit;    ///< "FLOP" or "B"
    double amount = 0;   ///< in `unit`, of a kernel or of the step
    double ceiling = 0;  ///< the device's peak, in `unit` per second
};

/// How a kernel was sampled, where only a part of it was simulated (SimulateOptions::sample).
struct SampledKernel {
    double simulated = 1;  ///< fraction of its cycles that was simulated; the rest was extrapolated
    double error = 0;      ///< bound on the relative error of its time
    std::string note;      ///< what was extrapolated, or why everything was simulated
};

/// The sum over all ops of the same name, kind and phase.
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
    std::uint32_t op = 0;  ///< index of the op in the trace
    std::string op_name;
    std::string kind, phase;
    std::string recorded_kernel;  ///< name in the recording, empty when there is none
    std::string module;           ///< of the model (trace::module_of), empty when not known
    /// `time_us` is the kernel's time when it runs alone, or, with `alone_us`, beside kernels of other streams. `end_us` lies later than `start_us + time_us` when
    /// other work ran beside it.
    double start_us = 0, time_us = 0, end_us = 0;
    /// Simulated together with others: `time_us` beside them, and here the time alone. Nothing: `time_us` is the time alone.
    std::optional<double> alone_us;
    double queued_us = 0;  ///< then, before start_us: it waited for places that thread blocks of the others had
    std::uint32_t together = 0;  ///< number, from 1, of the run of several kernels in which it was simulated; 0: none
    double gap_us = 0;       ///< before start_us: launch overhead, which a profiler does not count
    double launched_us = 0;  ///< when the host had launched it
    std::uint32_t stream = 0;
    /// How many launches this entry stands for, where the trace holds one iteration of a loop
    /// (workloads/trace/turns.h). Times, counts, bytes, operations and energy are totals over all of them.
    double turns = 1;
    /// GPU: thread blocks divided by how many the device holds at a time; StreamWork::waves.
    double waves = 1;
    /// Time of the whole op; set on its first kernel only when the op became several.
    std::optional<double> measured_us;
    std::uint64_t cycles = 0;  ///< 0 when estimated
    /// Part of `cycles` in which the previous launch still ran; not in time_us.
    std::uint64_t overlap_cycles = 0;
    std::uint64_t dependency_release = 0;  ///< cycle after this launch began in which the previous one ended
    std::uint64_t warp_instructions = 0;   ///< GPU
    std::uint32_t grid[3] = {0, 0, 0}, block[3] = {0, 0, 0};
    std::uint32_t registers_per_thread = 0, shared_bytes = 0, ctas_per_sm = 0;
    double dram_bytes = 0, l2_bytes = 0;
    /// GPU: share of the loaded sectors that hit; nothing when no sector was loaded.
    std::optional<double> l2_hit_rate;
    double flops = 0, bytes = 0;
    std::string bound_by;
    Fidelity fidelity = Fidelity::cycle;
    /// Fractions of unit-cycles by reason, which add up to 1: "issued", "memory", ... Empty when estimated.
    std::map<std::string, double> time_by_reason;
    /// TPU: the same fractions for each kind of unit; those of "matrix units" are in time_by_reason.
    std::map<std::string, std::map<std::string, double>> time_by_unit;
    /// Mean utilisation of each resource over the kernel's time, 0..1. Empty when estimated.
    std::map<std::string, double> utilisation;
    /// Joules by consumer. Empty when estimated, and on devices whose power is not modelled.
    std::map<std::string, double> energy;
    std::map<std::string, Throughput> throughputs;  ///< GPU: "tensor", "fp32", "dram", "l2", "l1 and shared"
    std::optional<SampledKernel> sampled;
    /// GPU: counters over the time within the kernel, when SimulateOptions::series asks for them. All
    /// launches of the same program share one series.
    std::shared_ptr<const models::gpu::Series> series;
};

/// How much of a step's time was found with which fidelity: fractions of the time outside communication,
/// which add up to 1. An op counts with its recorded time where there is one, else with its simulated time.
struct Coverage {
    double cycle = 0, estimated = 0, unknown = 0;
};

/// The result of training with real values, compared with a double-precision reference.
struct NumericsResult {
    /// One loss for each step, from the very first even when the run was resumed.
    std::vector<double> device_loss;
    std::vector<double> reference_loss;
    /// Each step is also compared on its own: the reference begins it with the device's numbers. The errors
    /// below are the largest over all steps; the bounds are what the number formats allow
    /// (sim/run/numerics/numerics.h).
    double loss_error = 0, loss_error_bound = 0;  ///< relative error of a loss
    double gradient_error = 0,
           gradient_error_bound = 0;  ///< |g - g_reference| of a parameter / |whole g|
    std::string worst_gradient;
    double weight_error = 0,
           weight_error_bound = 0;  ///< of an update with the device's gradients, |dw| / |w|
    std::string worst_parameter;
    /// W - w_reference| / |w_reference| of all parameters together, after all steps. Two trainings that round
    /// differently drift apart, and more quickly the closer the training is to divergence; there is no bound.
    double drift = 0;
    unsigned resumed_at = 0;  ///< number of steps that earlier runs had done
    std::string data;         ///< "two spirals, fresh points in every step"; empty: one batch for all steps
    std::string weights;      ///< hash of all parameters' bits on the device, at the end
};

/// Everything that a run found. Times are microseconds on the simulated device unless a name says otherwise.
struct RunResult {
    std::string workload, hardware;
    std::string hardware_description;  ///< one line for people: "132 SMs at 1755 MHz, ..."
    /// From the host's first work to the end of the last work; equals division.total_us.
    double step_time_us = 0;
    double device_busy_us =
        0;  ///< sum of kernels and copies without communication, as a profiler counts them
    double launch_gap_us = 0;  ///< time in which nothing runs and a kernel is being launched
    double communication_us = 0;  ///< sum over collectives of their recorded time; 0 on a single device
    StepDivision division;        ///< how the step time divides
    bool graph = false;           ///< launched as one CUDA graph
    bool recorded_host = false;  ///< whether the host's times are those of the recording
    std::optional<MemoryReport> memory;
    std::vector<OpSummary> ops;         ///< the longest time first
    std::vector<KernelResult> kernels;  ///< in the order of the step
    Coverage coverage;
    std::optional<double> measured_total_us;    ///< recorded kernels without communication
    std::map<std::string, double> utilisation;  ///< mean over the whole step: "tensor", "dram", ... 0..1
    /// Joules of the simulated kernels by consumer; empty where power is not modelled.
    std::map<std::string, double> energy;
    double energy_time_us = 0;  ///< time of the kernels that `energy` counts
    /// Throughputs of the simulated kernels of the whole step. `ceiling` is the mean of the kernels'
    /// ceilings, weighted with the work that each kernel did.
    std::map<std::string, Throughput> throughputs;
    /// With SimulateOptions::sample: the bound on the error of device_busy_us in microseconds, and the
    /// fraction of the kernels' time that was simulated.
    std::optional<double> sampling_error_us;
    double simulated_fraction = 1;
    double clock_hz = 0;     ///< GPU: the clock on which the board settles; 0 for a TPU
    double power_limit = 0;  ///< GPU: watts that the board may draw; 0: power is not modelled
    std::optional<NumericsResult> numerics;
    std::vector<std::string> signals;  ///< one sentence for each signal file that was written
    std::vector<std::string> notes;    ///< what a user must know to interpret the figures

    /// Costs of the simulation itself. This is the only part that differs between two runs of the same input.
    struct Simulation {
        double wall_s = 0;
        double processor_s = 0;  ///< processor time of all workers
        std::uint64_t warp_instructions = 0;
        std::uint64_t tpu_cycles = 0;
        std::uint64_t tilings_searched = 0;  ///< tilings that no earlier run had stored
        unsigned workers = 1;
        bool scheduled = true;  ///< a GPU's kernels went through the pass that stands in for ptxas
        std::uint64_t kernels_simulated = 0;  ///< distinct programs run
    } simulation;
};

}  // namespace heddle::sim
