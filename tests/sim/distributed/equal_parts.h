// Steps that are made of equal parts, for closed forms.
#pragma once

#include "sim/distributed/step_programs.h"

namespace heddle::sim {

/// `parts` equal parts: forward 1 s, gradients of inputs 1 s, of weights 1 s.
inline TimedStep equal_parts(std::size_t parts, const parallel::ParallelPlan& plan, double parameters = 0,
                             double update = 0) {
    TimedStep step;
    TimedPart part;
    TimedSegment one;
    one.seconds = one.device = 1;
    part.forward = {one};
    TimedSegment weights = one;
    weights.weights_only = true;
    part.backward = {one, weights};
    part.parameters = parameters;
    part.update = update;
    part.result_bytes = 1000;
    step.parts.assign(parts, part);
    const auto stages = static_cast<std::size_t>(plan.pipeline * plan.chunks);
    for (std::size_t i = 0; i < stages; ++i)
        step.chunks.push_back({parts / stages * i, parts / stages * (i + 1)});
    return step;
}

}  // namespace heddle::sim
