#include "workloads/parallel/pipeline.h"

#include <algorithm>

namespace heddle::parallel {
namespace {

using Order = std::vector<PipelineWork>;

Order gpipe(std::int64_t micro_batches) {
    Order order;
    for (std::int64_t i = 0; i < micro_batches; ++i) order.push_back({Pass::forward, i, 0});
    for (std::int64_t i = 0; i < micro_batches; ++i) order.push_back({Pass::backward, i, 0});
    return order;
}

/// The n-th forward or backward pass of a device with several chunks: groups of p micro-batches go through
/// the chunks, backward in the opposite order.
PipelineWork interleaved_work(const ParallelPlan& plan, std::int64_t n, bool forward) {
    const std::int64_t p = plan.pipeline, group = p * plan.chunks;
    const std::int64_t chunk = n % group / p;
    return {forward ? Pass::forward : Pass::backward, n / group * p + n % p,
            forward ? chunk : plan.chunks - 1 - chunk};
}

Order one_forward_one_back(const ParallelPlan& plan, std::int64_t warm_up) {
    const std::int64_t total = plan.micro_batches * plan.chunks;
    const bool chunks = plan.chunks > 1;
    const auto work = [&](std::int64_t n, bool forward) {
        return chunks ? interleaved_work(plan, n, forward)
                      : PipelineWork{forward ? Pass::forward : Pass::backward, n, 0};
    };
    Order order;
    warm_up = std::min(warm_up, total);
    for (std::int64_t i = 0; i < warm_up; ++i) order.push_back(work(i, true));
    for (std::int64_t i = warm_up; i < total; ++i) {
        order.push_back(work(i, true));
        order.push_back(work(i - warm_up, false));
    }
    for (std::int64_t i = total - warm_up; i < total; ++i) order.push_back(work(i, false));
    return order;
}

/// ZB-H1: weight gradients of a stage wait for as many backward passes as the stage is far from the first.
Order zero_bubble(const ParallelPlan& plan, std::int64_t stage) {
    const Order base = one_forward_one_back(plan, plan.pipeline - 1 - stage);
    Order order;
    std::int64_t backward = 0, weights = 0;
    for (const PipelineWork& work : base) {
        order.push_back(work);
        if (work.pass != Pass::backward) continue;
        ++backward;
        if (backward - weights > stage) order.push_back({Pass::weight_gradient, weights++, 0});
    }
    while (weights < plan.micro_batches) order.push_back({Pass::weight_gradient, weights++, 0});
    return order;
}

}  // namespace

std::vector<PipelineWork> pipeline_order(const ParallelPlan& plan, std::int64_t stage) {
    const std::int64_t p = plan.pipeline;
    switch (plan.schedule) {
        case PipelineSchedule::gpipe:
            return gpipe(plan.micro_batches);
        case PipelineSchedule::one_forward_one_back:
            return one_forward_one_back(plan, p - 1 - stage);
        case PipelineSchedule::interleaved:
            return one_forward_one_back(
                plan, plan.chunks == 1 ? p - 1 - stage : 2 * (p - 1 - stage) + (plan.chunks - 1) * p);
        case PipelineSchedule::zero_bubble:
            return zero_bubble(plan, stage);
    }
    return {};
}

double ideal_bubble(const ParallelPlan& plan, double forward, double backward, double weight) {
    const auto p = static_cast<double>(plan.pipeline), m = static_cast<double>(plan.micro_batches);
    switch (plan.schedule) {
        case PipelineSchedule::interleaved:
            return (p - 1) / (m * static_cast<double>(plan.chunks));
        case PipelineSchedule::zero_bubble:
            return (p - 1) * (forward + backward - weight) / (m * (forward + backward + weight));
        default:
            return (p - 1) / m;
    }
}

double held_micro_batches(const ParallelPlan& plan, std::int64_t stage) {
    std::int64_t held = 0, most = 0;
    const bool split = plan.schedule == PipelineSchedule::zero_bubble;
    for (const PipelineWork& work : pipeline_order(plan, stage)) {
        if (work.pass == Pass::forward) most = std::max(most, ++held);
        if (work.pass == (split ? Pass::weight_gradient : Pass::backward)) --held;
    }
    return static_cast<double>(most) / static_cast<double>(plan.chunks);
}

}  // namespace heddle::parallel
