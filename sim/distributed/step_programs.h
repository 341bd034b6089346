// From one device's trace and a plan to the programs of all devices of a cluster.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/distributed/cluster_model.h"
#include "sim/distributed/many_devices.h"
#include "sim/distributed/op_times.h"
#include "workloads/parallel/parts.h"
#include "workloads/parallel/plan.h"

namespace heddle::sim {

/// A sequence of ops between two collectives, or a collective.
struct TimedSegment {
    bool collective = false;
    Exchange kind = Exchange::all_reduce;
    Slot slot = Slot::tensor;
    double bytes = 0;
    double seconds = 0;  ///< the longer of the device's and the host's time
    double device = 0, host = 0;
    bool weights_only = false;
    /// A collective that overlaps with the next segment; the segment after that waits for it.
    bool beside = false;
};

/// The times and sizes of one stage's part of the trace.
struct TimedPart {
    std::vector<TimedSegment> forward, backward;
    double update = 0;      ///< seconds of the optimizer for all weights
    double accumulate = 0;  ///< seconds of adding gradients to those of earlier micro-batches
    double parameters = 0;
    /// Number of parameters that belong to experts other devices do not have (plan.expert above 1).
    double expert_parameters = 0;
    double rounded_bytes = 0;  ///< bytes of weights in 8 bits
    double kept_bytes = 0, result_bytes = 0, workspace_bytes = 0;
};

/// The times and sizes of all parts of a step.
struct TimedStep {
    std::vector<TimedPart> parts;
    std::vector<parallel::StageRange> chunks;  ///< virtual stages in order: plan.pipeline * plan.chunks
    double shared_parameters = 0;  ///< parameters that the last stage holds in common with the first
    double simulated = 0;  ///< fraction of the devices' time that was simulated cycle by cycle
};

/// Determines the times of the trace's parts and assigns them to stages.
TimedStep time_parts(const trace::Trace& trace, const parallel::ParallelPlan& plan, OpTimes& times,
                     const HostConfig& host);

/// Bytes that one device of a stage holds.
struct StageMemory {
    double weights = 0, gradients = 0, optimizer = 0, activations = 0, workspace = 0;
    double total() const { return weights + gradients + optimizer + activations + workspace; }
};

/// Computes the memory of one device of a stage at its peak.
StageMemory memory_of(const TimedStep& step, const parallel::ParallelPlan& plan, std::int64_t stage);

/// Returns the program of a device of the stage for one step.
DeviceProgram program_of(const TimedStep& step, const parallel::ParallelPlan& plan, const HostConfig& host,
                         std::int64_t stage);

/// Returns all devices of the plan. Among ranks, tensor varies fastest, then context, data and pipeline
/// (Megatron-LM's order: tensor groups lie within a node, stages are far apart).
ManyDevices machine_of(const TimedStep& step, const parallel::ParallelPlan& plan, const HostConfig& host);

}  // namespace heddle::sim
