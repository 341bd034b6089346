// From one device's trace and a plan to what every device of a cluster does.
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

/// A run of a part's ops between collectives, or a collective.
struct TimedSegment {
    bool collective = false;
    Exchange kind = Exchange::all_reduce;
    Slot slot = Slot::tensor;
    double bytes = 0;
    double seconds = 0;  ///< the longer of device and host
    double device = 0, host = 0;
    bool weights_only = false;
    bool beside = false;  ///< a collective for which the next work does not wait, but what follows that
};

struct TimedPart {
    std::vector<TimedSegment> forward, backward;
    double update = 0;      ///< seconds of the optimizer, all weights
    double accumulate = 0;  ///< seconds of adding gradients to those of earlier micro-batches
    double parameters = 0;
    /// Of the parameters, those of experts that other devices do not have (plan.expert above 1).
    double expert_parameters = 0;
    double rounded_bytes = 0;  ///< of weights in 8 bits
    double kept_bytes = 0, result_bytes = 0, workspace_bytes = 0;
};

struct TimedStep {
    std::vector<TimedPart> parts;
    std::vector<parallel::StageRange> chunks;  ///< virtual stages in order: plan.pipeline * plan.chunks
    double shared_parameters = 0;              ///< that the last stage holds beside the first
    double simulated = 0;  ///< part of the devices' time that was simulated cycle by cycle
};

/// Times of the trace's parts, their stages.
TimedStep time_parts(const trace::Trace& trace, const parallel::ParallelPlan& plan, OpTimes& times,
                     const HostConfig& host);

/// Bytes of what one device of a stage holds.
struct StageMemory {
    double weights = 0, gradients = 0, optimizer = 0, activations = 0, workspace = 0;
    double total() const { return weights + gradients + optimizer + activations + workspace; }
};
StageMemory memory_of(const TimedStep& step, const parallel::ParallelPlan& plan, std::int64_t stage);

/// What a device of the stage does in a step.
DeviceProgram program_of(const TimedStep& step, const parallel::ParallelPlan& plan, const HostConfig& host,
                         std::int64_t stage);

/// All devices of the plan. Ranks: tensor changes fastest, then context, data, pipeline (Megatron-LM's order:
/// tensor groups lie within a node, stages are far apart).
ManyDevices machine_of(const TimedStep& step, const parallel::ParallelPlan& plan, const HostConfig& host);

}  // namespace heddle::sim
