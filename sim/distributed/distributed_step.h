// A training step of a model on a cluster: from the model's name and a plan to times, memory and what they
// consist of.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/distributed/step_programs.h"

namespace heddle::sim {

using ModelOptions = std::map<std::string, std::string>;

struct DistributedOptions {
    bool fold = true;            ///< devices that nothing tells apart are simulated once
    bool simulated = false;      ///< kernels cycle by cycle, else in closed form
    SimulatedOptions kernels;    ///< of those
    bool ignore_memory = false;  ///< go on although a stage does not fit
};

struct StageResult {
    double devices = 0;  ///< that do the same
    std::string name;
    DeviceAccount account;
    StageMemory memory;
};

struct DistributedResult {
    std::string model, cluster, hardware, plan, kernels;
    double devices = 0, batch = 0;
    double seconds = 0;      ///< of a step
    double model_flops = 0;  ///< of products (trace::is_product), forward and backward once, all devices
    double peak_flops = 0;   ///< of all devices: Machine::matrix_peak() of each
    std::string peak;        ///< of one device, in words
    std::vector<StageResult> stages;    ///< one for each class of devices
    double bubble = 0;                  ///< mean over devices, as a part of the step
    double capacity = 0, reserved = 0;  ///< bytes of a device; what a process takes before its first tensor
    double parameters = 0;
    double simulated = 0;  ///< part of the kernels' time that was simulated cycle by cycle
    std::uint64_t work_simulated = 0;
    double dropped = 0;    ///< part of the tokens that found no slot of their expert, by the declared skew
    double staleness = 0;  ///< asynchronous: updates between reading weights and changing them, mean
    double price_per_hour = 0;  ///< of all devices
    std::vector<std::string> notes;

    double flops_per_device() const { return model_flops / seconds / devices; }
    bool fits() const;
};

/// The plan's trace: one micro-batch of one device's part of the model.
trace::Trace trace_of(const std::string& model, const ModelOptions& options,
                      const parallel::ParallelPlan& plan);

/// Throws heddle::Error where no plan at all could spread this model: an unknown name, options that it lacks
/// or that are a plan's, values that they do not take, a step that is not made of micro-batches.
void check_model(const std::string& model, const ModelOptions& options);

/// Throws heddle::Error for what does not fit together.
DistributedResult simulate_distributed(const std::string& model, const ModelOptions& options,
                                       const parallel::ParallelPlan& plan, const ClusterModel& cluster,
                                       const Hardware& hardware, OpTimes& times,
                                       const DistributedOptions& how);

std::string format_distributed(const DistributedResult& result);
std::string distributed_json(const DistributedResult& result);

}  // namespace heddle::sim
