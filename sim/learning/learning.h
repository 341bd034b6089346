// What many devices learn, and how fast. The ways of sharing a training are compared with real values on a
// small model, which shows the trade-off between the time of a step and the progress that it makes:
// docs/learning.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/collective/collective.h"
#include "sim/machine/hardware.h"
#include "sim/learning/round_times.h"
#include "workloads/parallel/plan.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// What is compared, and with how many workers.
struct LearningOptions {
    std::vector<parallel::DataParallel> ways;  ///< the ways to compare
    std::uint32_t workers = 4;
    unsigned rounds = 100;      ///< number of batches; each worker sees its part of every one
    unsigned local_rounds = 8;  ///< local SGD: rounds between two averages of weights
    double straggler = 1;       ///< factor on the time of the last worker's passes
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
    double bucket_bytes = 25 << 20;  ///< bytes of gradients that are sent together
    std::string data;                ///< argument of open_training_data()
    bool cache = true;               ///< use the cache of simulated kernels
    unsigned jobs = 0;               ///< worker processes; 0: as many as there are cores
    std::function<void(double fraction, const std::string& what)> progress;
};

/// One training.
struct LearningCurve {
    std::string name;             ///< "all-reduce"; "one device": the parts of each batch in sequence
    std::vector<double> loss;     ///< by round: mean over the workers' parts, before the update
    std::vector<double> seconds;  ///< simulated time at the end of the round's last update
    /// Asynchronous: number of updates by other workers between a worker's reading of the weights and its own
    /// update.
    double mean_staleness = 0;
    std::uint64_t largest_staleness = 0;
    std::string weights;             ///< hash of all parameters' bits at the end
    double distance = 0;             ///< |w - w_one| / |w_one|, where w_one are the weights of one device
    bool same_bits = false;          ///< the weights have the same bits as those of one device
    std::vector<double> parameters;  ///< all parameters at the end, in order
};

/// All curves and how they were obtained.
struct LearningResult {
    std::string model, hardware, cluster, data;
    std::uint32_t workers = 0;
    std::string algorithm;  ///< algorithm of the all-reduce that averages gradients
    RoundTimes times;
    std::vector<LearningCurve>
        curves;  ///< the reference in double precision, one device, then the ways in order
};

/// Trains in every way and compares. `part` is the training step of one worker on its part of the batch.
/// Throws heddle::Error for steps without a loss, with state on which workers would have to agree (dynamic
/// loss scales, fp8), and with gradients of a type that no collective adds, and as open_training_data() and
/// CollectiveTimer do.
LearningResult learn(const trace::Trace& part, const std::string& model, const Hardware& hardware,
                     const Cluster& cluster, const LearningOptions& options);

}  // namespace heddle::sim
