// What do many devices learn, and how fast? The ways to share a training, with real values on a small model:
// the trade between the time of a step and what it teaches can be seen. docs/learning.md
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

struct LearningOptions {
    std::vector<parallel::DataParallel> ways;  ///< to be compared
    std::uint32_t workers = 4;
    unsigned rounds = 100;      ///< batches: each worker sees its part of every one
    unsigned local_rounds = 8;  ///< local SGD: rounds between two averages of weights
    double straggler = 1;       ///< the last worker's passes take so many times as long
    CollectiveAlgorithm algorithm = CollectiveAlgorithm::automatic;
    double bucket_bytes = 25 << 20;  ///< of gradients that are sent together
    std::string data;                ///< of open_training_data()
    bool cache = true;               ///< of simulated kernels
    unsigned jobs = 0;               ///< worker processes; 0: as many as there are cores
    std::function<void(double fraction, const std::string& what)> progress;
};

/// One training.
struct LearningCurve {
    std::string name;             ///< "all-reduce"; "one device": the parts of each batch after one another
    std::vector<double> loss;     ///< by round: mean of the workers' parts, before they learnt from them
    std::vector<double> seconds;  ///< simulated, when the round's last update had been made
    /// Asynchronous: updates by others between a worker's reading of the weights and its own update.
    double mean_staleness = 0;
    std::uint64_t largest_staleness = 0;
    std::string weights;             ///< hash of all parameters' bits at the end
    double distance = 0;             ///< |w - w_one| / |w_one|, of one device's weights
    bool same_bits = false;          ///< as one device's
    std::vector<double> parameters;  ///< at the end, all in order
};

struct LearningResult {
    std::string model, hardware, cluster, data;
    std::uint32_t workers = 0;
    std::string algorithm;  ///< of the all-reduce that averages gradients
    RoundTimes times;
    std::vector<LearningCurve>
        curves;  ///< the reference in double precision, one device, then the ways in order
};

/// `part`: the training step of one worker on its part of the batch. Throws heddle::Error for steps without
/// a loss, with state that workers would have to agree on (dynamic loss scales, fp8), with gradients of a
/// type that no collective adds, and for what open_training_data() and CollectiveTimer throw.
LearningResult learn(const trace::Trace& part, const std::string& model, const Hardware& hardware,
                     const Cluster& cluster, const LearningOptions& options);

}  // namespace heddle::sim
