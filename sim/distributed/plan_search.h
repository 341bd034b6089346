// A search for the fastest plan that distributes a model over devices and fits their memory.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "sim/distributed/distributed_step.h"

namespace heddle::sim {

/// The model, the number of devices and the limits of the search.
struct PlanQuestion {
    std::string model;
    ModelOptions options;
    std::int64_t devices = 8;
    std::int64_t batch = 0;   ///< sequences of a step over all devices
    double memory_limit = 0;  ///< bytes of a device that a plan may use; 0: the device's memory
    std::function<void(double fraction, const std::string& what)> progress = [](double, const std::string&) {
    };
};

/// A plan that fits and its simulated step.
struct PlanAnswer {
    parallel::ParallelPlan plan;
    DistributedResult result;
};

/// Why plans were rejected.
struct PlanRefusals {
    std::size_t plans = 0;       ///< plans that divide the devices and the batch
    std::size_t too_large = 0;   ///< plans that exceed a device's memory or the limit
    std::size_t impossible = 0;  ///< plans that the model, the cluster or the device does not allow
    std::string why_impossible;  ///< reason for the first of these
};

/// Tries every product of tensor (powers of two, within a node), pipeline and data parallelism that equals
/// `devices`, with micro-batches of 1 to 8, without recomputation where that fits and otherwise with full
/// recomputation, with the optimizer's state sharded where data is more than 1, and interleaved where that is
/// possible. The answers are sorted by time; plans that do not fit are left out. The result is deterministic.
/// Throws heddle::Error where no plan could distribute the model: see check_model().
std::vector<PlanAnswer> search_plans(const PlanQuestion& question, const ClusterModel& cluster,
                                     const Hardware& hardware, OpTimes& times,
                                     PlanRefusals* refusals = nullptr);

}  // namespace heddle::sim
