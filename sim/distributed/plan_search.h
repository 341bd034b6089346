// The best way to spread a model over devices, among those that fit their memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/distributed/distributed_step.h"

namespace heddle::sim {

struct PlanQuestion {
    std::string model;
    ModelOptions options;
    std::int64_t devices = 8;
    std::int64_t batch = 0;   ///< sequences of a step, all devices
    double memory_limit = 0;  ///< bytes of a device that a plan may use; 0: what the device has
    std::function<void(double fraction, const std::string& what)> progress = [](double, const std::string&) {
    };
};

struct PlanAnswer {
    parallel::ParallelPlan plan;
    DistributedResult result;
};

/// Why plans are not among the answers.
struct PlanRefusals {
    std::size_t plans = 0;       ///< that divide the devices and the batch
    std::size_t too_large = 0;   ///< for a device's memory, or the limit
    std::size_t impossible = 0;  ///< for the model, the cluster or the device
    std::string why_impossible;  ///< of the first of these
};

/// Every product of tensor (powers of two, within a node), pipeline and data that makes `devices`, with
/// micro-batches of 1 to 8, without recomputation where that fits, else with full; the optimizer's state
/// shared where data is more than 1; interleaved where it goes. Sorted by time; plans that do not fit are
/// left out. Deterministic. Throws heddle::Error where no plan could spread the model, see check_model().
std::vector<PlanAnswer> search_plans(const PlanQuestion& question, const ClusterModel& cluster,
                                     const Hardware& hardware, OpTimes& times,
                                     PlanRefusals* refusals = nullptr);

}  // namespace heddle::sim
