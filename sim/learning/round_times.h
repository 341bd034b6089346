// How long the parts of a round of training take: passes and updates as simulated, messages as the cluster's
// network carries them.
#pragma once

#include <cstdint>
#include <string>

#include "sim/cluster/cluster.h"
#include "sim/collective/collective.h"
#include "sim/run/simulate.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

struct LearningTensors;

/// Seconds.
struct RoundTimes {
    double passes = 0;      ///< forward and backward of one worker's part of the batch
    double update = 0;      ///< of the optimizer
    double all_reduce = 0;  ///< of all gradients, in buckets
    double average = 0;     ///< of all weights, the same way
    double gradient_message = 0, weight_message = 0;  ///< to a parameter server and back, alone on their way
};

/// The all-reduce of `bytes` among the first `workers` devices.
CollectiveRequest all_reduce_request(std::uint64_t bytes, const std::string& type, std::uint32_t workers,
                                     CollectiveAlgorithm algorithm);

/// Nothing overlaps: gradients leave when the backward pass has ended (`heddle simulate --cluster` has the
/// overlap of large models). `step`: one worker's, simulated on `hardware`. The server is the cluster's first
/// parameter server, or, where it has none, the host of the first worker.
RoundTimes round_times(const trace::Trace& step, const Hardware& hardware, const Cluster& cluster,
                       const LearningTensors& tensors, std::uint32_t workers, CollectiveAlgorithm algorithm,
                       const SimulateOptions& options);

}  // namespace heddle::sim
