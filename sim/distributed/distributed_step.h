// A training step of a model on a cluster: from the model's name and a plan to the step's times and memory.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/distributed/step_programs.h"

namespace heddle::sim {

/// Options of the model by name, as its command line takes them.
using ModelOptions = std::map<std::string, std::string>;

/// How a distributed step is simulated.
struct DistributedOptions {
    bool fold = true;            ///< simulate equivalent devices once
    bool simulated = false;      ///< simulate kernels cycle by cycle instead of using formulas
    SimulatedOptions kernels;    ///< options of that simulation
    bool ignore_memory = false;  ///< continue although a stage does not fit
};

/// What the devices of one class did and what they hold.
struct StageResult {
    double devices = 0;  ///< number of devices in the class
    std::string name;
    DeviceAccount account;
    StageMemory memory;
};

/// The result of a distributed step.
struct DistributedResult {
    std::string model, cluster, hardware, plan, kernels;
    double devices = 0, batch = 0;
    double seconds = 0;  ///< time of a step
    /// FLOPs of products (trace::is_product) on all devices, forward and backward once.
    double model_flops = 0;
    double peak_flops = 0;            ///< sum of Machine::matrix_peak() over all devices, FLOP/s
    std::string peak;                 ///< describe() of one device's peak
    std::vector<StageResult> stages;  ///< one for each class of devices
    double bubble = 0;                ///< mean over devices of the bubble as a fraction of the step
    /// Bytes of a device, and bytes that a process takes before its first tensor.
    double capacity = 0, reserved = 0;
    double parameters = 0;
    double simulated = 0;  ///< fraction of the kernels' time that was simulated cycle by cycle
    std::uint64_t work_simulated = 0;
    double dropped = 0;  ///< fraction of the tokens for which their expert had no slot, by the declared skew
    double staleness = 0;  ///< asynchronous: mean number of updates between reading weights and changing them
    double price_per_hour = 0;  ///< US dollars for all devices
    std::vector<std::string> notes;

    double flops_per_device() const { return model_flops / seconds / devices; }
    /// Whether every stage fits the capacity of its device.
    bool fits() const;
};

/// Builds the trace of one micro-batch of one device's part of the model.
trace::Trace trace_of(const std::string& model, const ModelOptions& options,
                      const parallel::ParallelPlan& plan);

/// Throws heddle::Error where no plan at all could distribute this model: an unknown name, options that the
/// model does not have or that belong to a plan, values that they do not take, or a step that does not
/// consist of micro-batches.
void check_model(const std::string& model, const ModelOptions& options);

/// Simulates a step. Throws heddle::Error when model, plan, cluster and device do not fit together. A stage
/// that exceeds its device's memory does not throw: DistributedResult::fits() says so, and, unless
/// `how.ignore_memory` is set, a note does.
DistributedResult simulate_distributed(const std::string& model, const ModelOptions& options,
                                       const parallel::ParallelPlan& plan, const ClusterModel& cluster,
                                       const Hardware& hardware, OpTimes& times,
                                       const DistributedOptions& how);

/// Format the result for people, and as JSON for scripts.
std::string format_distributed(const DistributedResult& result);
std::string distributed_json(const DistributedResult& result);

}  // namespace heddle::sim
