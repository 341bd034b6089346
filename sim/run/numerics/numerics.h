// Training with real values on a simulated device, compared with a double-precision reference.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/machine/hardware.h"
#include "sim/run/assemble/result.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// A device that holds the tensors of a trace and can run the trace's step on them. Values cross this
/// interface as doubles, in row-major order.
class TrainingDevice {
  public:
    virtual ~TrainingDevice() = default;
    /// Sets every element of a tensor; values are rounded to the tensor's element type.
    virtual void write(trace::TensorId id, const std::vector<double>& values) = 0;
    /// Returns every element of a tensor; each number format of a tensor converts to double exactly.
    virtual std::vector<double> read(trace::TensorId id) = 0;
    virtual void run_passes() = 0;  ///< forward and backward: everything but the optimizer's ops
    virtual void run_update() = 0;  ///< the optimizer's ops
    virtual void run_step() = 0;    ///< all ops in their order
    /// Returns the cycles that each program of the next step takes with the current values, in order. Changes
    /// no tensor.
    virtual std::vector<std::uint64_t> time_step() = 0;
    /// Unit roundoff of the operands of its matrix products, for inputs of the given type: 2^-8 for bf16.
    virtual double input_roundoff(trace::ElementType type) const = 0;
};

/// Makes the device of the hardware file for runs without timing. A process can have at most one, because
/// SystemC elaborates once; the trace must outlive it. Throws heddle::Error for ops without a kernel or
/// program.
std::unique_ptr<TrainingDevice> training_device(const trace::Trace& trace, const Hardware& hardware);

/// How long to train, on which data, and where the state is kept.
struct TrainingPlan {
    unsigned steps = 1;           ///< number of the last step; a resumed run's earlier steps count
    std::string data;             ///< argument of open_training_data(); empty: the same numbers in every step
    std::string checkpoint;       ///< file that is written at the end and about ten times before; empty: none
    bool resume = false;          ///< begin with the state in that file
    std::string device_identity;  ///< everything that values on the device depend on
};

/// What a training found.
struct TrainingReport {
    NumericsResult numerics;
    /// Cycles of the programs of the first step; empty when the run was resumed.
    std::vector<std::uint64_t> cycles;
};

/// Trains the device and the reference from the same initial values, or continues both from a checkpoint; the
/// result of a resumed training has the same bits as that of an uninterrupted one.
///
/// Both sequences of losses are kept. They drift apart, as those of any two trainings that round differently,
/// so bounds hold for single steps only: the reference repeats each step starting from the device's numbers.
/// The bounds are first-order. A matrix product whose operands have unit roundoff u and whose sum over k
/// truncates in fp32 has an error of at most 3 u + k 2^-23 relative to |A||B|. A loss or a gradient passes
/// through every product of the step at most once, so its relative error is at most d = products * (3 u + k
/// 2^-23), and twice that is allowed. For a parameter's gradient the error is taken relative to the whole
/// gradient, because the terms of a single parameter may cancel (such as those of the bias of keys, which a
/// softmax cancels). The reference's backward pass reads the device's activations where these are within the
/// bound, so that units at a threshold are on or off in both. The reference repeats the updates with the
/// device's gradients, and the results must agree to 2^-19 of |w| + |dw|, or to the roundoff of the
/// parameter's type.
TrainingReport train_beside_reference(const trace::Trace& trace, TrainingDevice& device,
                                      const TrainingPlan& plan);

/// Writes a report as JSON, with which a worker process returns it.
std::string to_text(const TrainingReport& report);
/// Reads what to_text() wrote. Throws std::exception for any other text.
TrainingReport training_report_from_text(const std::string& text);

}  // namespace heddle::sim
