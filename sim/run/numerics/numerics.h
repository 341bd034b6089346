// Training with real values on a simulated device, beside the double-precision reference.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/machine/hardware.h"
#include "sim/run/assemble/result.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// A device that holds the tensors of a trace and can run its step on them.
class TrainingDevice {
  public:
    virtual ~TrainingDevice() = default;
    virtual void write(trace::TensorId id, const std::vector<double>& values) = 0;
    virtual std::vector<double> read(trace::TensorId id) = 0;
    virtual void run_passes() = 0;  ///< forward and backward: everything but the optimizer's ops
    virtual void run_update() = 0;  ///< the optimizer's ops
    virtual void run_step() = 0;    ///< all ops in their order
    /// The cycles that each program of the next step takes with the values at hand, in order. Changes no
    /// tensor.
    virtual std::vector<std::uint64_t> time_step() = 0;
    /// Unit roundoff of what its matrix products read, for inputs of the given type: 2^-8 for bf16.
    virtual double input_roundoff(trace::ElementType type) const = 0;
};

/// The device of the hardware file, without time. At most one in a process (SystemC elaborates once); the
/// trace must outlive it. Throws heddle::Error for ops without a kernel or program.
std::unique_ptr<TrainingDevice> training_device(const trace::Trace& trace, const Hardware& hardware);

struct TrainingPlan {
    unsigned steps = 1;           ///< at the end, those of a resumed run included
    std::string data;             ///< of open_training_data(); empty: the same numbers in every step
    std::string checkpoint;       ///< file that is written at the end, and ten times on the way; empty: none
    bool resume = false;          ///< begin with that file
    std::string device_identity;  ///< everything that values on the device depend on
};

struct TrainingReport {
    NumericsResult numerics;
    std::vector<std::uint64_t> cycles;  ///< of the programs of the first step; empty when a run was resumed
};

/// Trains both from the same initial values, or on from a checkpoint: then every bit is as if the training
/// had never been interrupted.
///
/// Both losses are kept. They drift apart as any two trainings do that round differently, so the bounds are
/// those of single steps, which the reference does once more, beginning with the device's numbers. They are
/// first-order: a matrix product whose operands have unit roundoff u and whose sum over k truncates in fp32
/// is wrong by at most 3 u + k 2^-23 relative to |A||B|; a loss or a gradient passes through every product of
/// the step at most once, so its relative error is at most d = products * (3 u + k 2^-23), and twice that is
/// allowed: of a parameter's gradient relative to the whole gradient, as the terms of single ones may cancel
/// (the bias of keys, to which a softmax is blind). Backward passes read the device's activations where these
/// are within the bound, so that units at a threshold are on or off for both. Updates are done by the
/// reference with the device's gradients, and must agree to 2^-19 of |w| + |dw|, or to the roundoff of the
/// parameter's type.
TrainingReport train_beside_reference(const trace::Trace& trace, TrainingDevice& device,
                                      const TrainingPlan& plan);

std::string to_text(const TrainingReport& report);
TrainingReport training_report_from_text(const std::string& text);

}  // namespace heddle::sim
