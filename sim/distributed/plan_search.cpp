#include "sim/distributed/plan_search.h"

#include <algorithm>

#include "isa/common/error.h"

namespace heddle::sim {
namespace {

using parallel::ParallelPlan;

std::vector<ParallelPlan> candidates(const PlanQuestion& q, const ClusterModel& cluster) {
    std::vector<ParallelPlan> plans;
    for (std::int64_t tensor = 1; tensor <= cluster.devices_per_node; tensor *= 2) {
        if (q.devices % tensor != 0) continue;
        for (std::int64_t pipeline = 1; pipeline <= q.devices / tensor; ++pipeline) {
            if (q.devices / tensor % pipeline != 0) continue;
            const std::int64_t data = q.devices / tensor / pipeline;
            for (std::int64_t micro_batch = 1; micro_batch <= 8; micro_batch *= 2) {
                if (q.batch % (data * micro_batch) != 0) continue;
                ParallelPlan plan;
                plan.tensor = tensor;
                plan.pipeline = pipeline;
                plan.data = data;
                plan.micro_batch = micro_batch;
                plan.micro_batches = q.batch / data / micro_batch;
                plan.sequence_parallel = tensor > 1;
                plan.zero = data > 1 ? 1 : 0;
                plans.push_back(plan);
                if (pipeline == 1 || plan.micro_batches % pipeline != 0) continue;
                plan.schedule = parallel::PipelineSchedule::interleaved;
                plan.chunks = 2;
                plans.push_back(plan);
            }
        }
    }
    return plans;
}

/// Whether a device holds more than `limit` bytes; 0: no limit.
bool exceeds(const DistributedResult& result, double limit) {
    return limit > 0 &&
           std::any_of(result.stages.begin(), result.stages.end(), [&](const StageResult& stage) {
               return stage.memory.total() + result.reserved > limit;
           });
}

}  // namespace

std::vector<PlanAnswer> search_plans(const PlanQuestion& q, const ClusterModel& cluster,
                                     const Hardware& hardware, OpTimes& times, PlanRefusals* refusals) {
    check_model(q.model, q.options);  // once, and not for each plan
    const std::vector<ParallelPlan> plans = candidates(q, cluster);
    PlanRefusals refused;
    refused.plans = plans.size();
    std::vector<PlanAnswer> answers;
    std::size_t done = 0;
    for (ParallelPlan plan : plans) {
        for (const auto recompute : {parallel::Recomputation::none, parallel::Recomputation::full}) {
            plan.recompute = recompute;
            try {
                DistributedResult result =
                    simulate_distributed(q.model, q.options, plan, cluster, hardware, times, {});
                if (!result.fits() || exceeds(result, q.memory_limit)) {
                    if (recompute == parallel::Recomputation::full) ++refused.too_large;
                    continue;
                }
                answers.push_back({plan, std::move(result)});
                break;
            } catch (const Error& error) {  // heads or layers that cannot be shared so
                if (refused.impossible++ == 0) refused.why_impossible = error.what();
                break;
            }
        }
        q.progress(static_cast<double>(++done) / static_cast<double>(plans.size()), parallel::describe(plan));
    }
    std::stable_sort(answers.begin(), answers.end(), [](const PlanAnswer& a, const PlanAnswer& b) {
        return a.result.seconds < b.result.seconds;
    });
    if (refusals != nullptr) *refusals = refused;
    return answers;
}

}  // namespace heddle::sim
