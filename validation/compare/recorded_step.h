// The kernels of a recorded training step beside the model's, one by one.
#pragma once

#include <string>
#include <vector>

#include "sim/machine/hardware.h"
#include "sim/run/assemble/result.h"
#include "sim/run/simulate.h"
#include "workloads/trace/trace.h"

namespace heddle::validation {

/// Times of a group of recorded ops; microseconds.
struct StepTimes {
    std::uint64_t count = 0;
    double recorded_us = 0, simulated_us = 0;
    double deviation_us = 0;  ///< |simulated - recorded| of each op, added up

    void add(const StepTimes& other);
    double bias() const;   ///< of the sum, as a fraction
    double error() const;  ///< mean error of an op, weighted with its recorded time, as a fraction
};

/// Ops that are alike: the same work in the same phase, done by the same recorded kernel.
struct StepKernel {
    std::string op;      ///< "matmul 2048x3072x768 bf16 tn"
    std::string kernel;  ///< recorded, without its arguments
    std::string kind, phase;
    sim::Fidelity fidelity = sim::Fidelity::cycle;
    std::string bound_by;  ///< of its longest kernel in the model
    StepTimes times;
};

struct RecordedStep {
    std::string trace, hardware;
    double clock_hz = 0;
    StepTimes cycle;  ///< everything that the model ran cycle by cycle, beside what ran beside it
    /// Of `cycle`: ops that ran beside a collective when they were recorded, and the simulated time of these
    /// alone on the device.
    StepTimes beside;
    double beside_alone_us = 0;
    /// Recorded time of the rest: estimated by a formula, not understood; and apart from all of these
    /// collectives, and copies between host and device.
    double estimated_us = 0, unknown_us = 0, communication_us = 0, copies_us = 0;
    std::vector<StepKernel> kernels;  ///< by falling deviation
    std::vector<std::string> notes;   ///< of the run

    /// Part of the recorded kernel time that was run cycle by cycle.
    double coverage() const;
};

/// Runs every kernel of the step alone, each with what the kernels before it left in L2, and takes its time
/// to what it is beside the collectives that ran beside it (sim::RecordedNeighbours). Throws heddle::Error
/// when the step has no recorded times.
RecordedStep compare_recorded_step(const trace::Trace& trace, const std::string& name,
                                   const sim::Hardware& hardware, const sim::SimulateOptions& options);

/// By kind, by falling recorded time.
std::vector<std::pair<std::string, StepTimes>> times_by_kind(const RecordedStep& step);

std::string format_recorded_step(const RecordedStep& step, std::size_t worst);
/// Totals, "kinds" and "kernels"; errors as fractions.
std::string recorded_step_json(const RecordedStep& step);

}  // namespace heddle::validation
