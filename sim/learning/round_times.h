// The times of the parts of a training round: passes and updates from simulation, messages from the cluster's
// network.
#pragma once

#include <cstdint>
#include <string>

#include "sim/cluster/cluster.h"
#include "sim/collective/collective.h"
#include "sim/run/simulate.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

struct LearningTensors;

/// The times in seconds.
struct RoundTimes {
    double passes = 0;      ///< forward and backward of one worker's part of the batch
    double update = 0;      ///< the optimizer's update
    double all_reduce = 0;  ///< all-reduce of all gradients, in buckets
    double average = 0;     ///< all-reduce of all weights, in the same way
    double gradient_message = 0, weight_message = 0;  ///< to a parameter server and back, alone on their way
};

/// Returns the request for an all-reduce of `bytes` among the first `workers` devices.
CollectiveRequest all_reduce_request(std::uint64_t bytes, const std::string& type, std::uint32_t workers,
                                     CollectiveAlgorithm algorithm);

/// Determines the times without overlap: gradients are sent when the backward pass has ended (`heddle
/// simulate --cluster` models the overlap of large models). `step` is one worker's step, simulated on
/// `hardware`. The server is the cluster's first parameter server, or, where it has none, the host of the
/// first worker.
RoundTimes round_times(const trace::Trace& step, const Hardware& hardware, const Cluster& cluster,
                       const LearningTensors& tensors, std::uint32_t workers, CollectiveAlgorithm algorithm,
                       const SimulateOptions& options);

}  // namespace heddle::sim
