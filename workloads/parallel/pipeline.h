// The order in which a stage of a pipeline executes its passes.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/parallel/plan.h"

namespace heddle::parallel {

/// The kinds of passes that a stage executes.
enum class Pass : std::uint8_t {
    forward,
    backward,        ///< of inputs and of weights, or of inputs alone where weights have a pass of their own
    weight_gradient  ///< zero bubble
};

/// One pass of one micro-batch.
struct PipelineWork {
    Pass pass = Pass::forward;
    std::int64_t micro_batch = 0;
    std::int64_t chunk = 0;  ///< of layers of this device; 0 unless interleaved
    bool operator==(const PipelineWork&) const = default;
};

/// Returns what stage `stage` of `plan.pipeline` does in one step. Every micro-batch passes forward and
/// backward once through each chunk.
///  - gpipe: m forward, m backward.
///  - 1f1b: p - 1 - stage forward, then one forward and one backward alternately.
///  - interleaved: chunk c of stage s holds the layers of virtual stage c * p + s; micro-batches pass in groups
///    of p through each chunk; 2 (p - 1 - stage) + (chunks - 1) p forward before the first backward.
///  - zero-bubble: 1f1b, with a micro-batch's weight gradients as late as the memory of 1f1b allows: after
///    the first p - 1 - stage backward passes one for each, the rest at the end.
std::vector<PipelineWork> pipeline_order(const ParallelPlan& plan, std::int64_t stage);

/// Returns the idle time of a pipeline with stages of equal time, as a fraction of the ideal time (m passes
/// of all layers of a device): (p - 1) / m for gpipe and 1f1b (Huang et al., 2019; Narayanan et al., 2021),
/// divided by the number of chunks when interleaved. `forward`, `backward` and `weight` are the times of the
/// passes of one stage; for zero-bubble the result is (p - 1) (f + b - w) / (m (f + b + w)) (Qi et al.,
/// 2023).
double ideal_bubble(const ParallelPlan& plan, double forward = 1, double backward = 1, double weight = 1);

/// Returns the largest number of micro-batches whose activations a stage holds at the same time, counted in
/// chunks and divided by the number of chunks.
double held_micro_batches(const ParallelPlan& plan, std::int64_t stage);

}  // namespace heddle::parallel
