#include "workloads/parallel/plan.h"

#include <fmt/format.h>

#include <array>

#include "isa/common/error.h"

namespace heddle::parallel {
namespace {

constexpr std::array<const char*, 4> kSchedules{"gpipe", "1f1b", "interleaved", "zero-bubble"};
constexpr std::array<const char*, 4> kData{"all-reduce", "parameter-server", "asynchronous", "local-sgd"};
constexpr std::array<const char*, 3> kRecompute{"none", "selective", "full"};

template <class Enum, std::size_t N>
Enum word(const std::array<const char*, N>& words, const std::string& given, const char* option) {
    std::string known;
    for (std::size_t i = 0; i < N; ++i) {
        if (given == words[i]) return static_cast<Enum>(i);
        known += std::string(i == 0 ? "" : ", ") + words[i];
    }
    throw Error("`" + given + "` is none of its words", {option, 0, ""}, "known ones: " + known);
}

[[noreturn]] void bad(const char* option, const std::string& problem, const std::string& mend) {
    throw Error(problem, {option, 0, ""}, mend);
}

void at_least_one(const char* option, std::int64_t value) {
    if (value < 1) bad(option, "must be at least 1", "leave it out for 1");
}

}  // namespace

std::string name_of(PipelineSchedule schedule) {
    return kSchedules[static_cast<std::size_t>(schedule)];
}
std::string name_of(DataParallel data) {
    return kData[static_cast<std::size_t>(data)];
}
std::string name_of(Recomputation recompute) {
    return kRecompute[static_cast<std::size_t>(recompute)];
}
PipelineSchedule pipeline_schedule_from_name(const std::string& name) {
    return word<PipelineSchedule>(kSchedules, name, "--pipeline-schedule");
}
DataParallel data_parallel_from_name(const std::string& name) {
    return word<DataParallel>(kData, name, "--data-parallel");
}
Recomputation recomputation_from_name(const std::string& name) {
    return word<Recomputation>(kRecompute, name, "--recompute");
}

void check(const ParallelPlan& plan) {
    at_least_one("--data", plan.data);
    at_least_one("--tensor", plan.tensor);
    at_least_one("--pipeline", plan.pipeline);
    at_least_one("--expert", plan.expert);
    at_least_one("--context", plan.context);
    at_least_one("--micro-batch", plan.micro_batch);
    at_least_one("--micro-batches", plan.micro_batches);
    at_least_one("--chunks", plan.chunks);
    at_least_one("--local-steps", plan.local_steps);
    at_least_one("--servers", plan.servers);
    if (plan.zero < 0 || plan.zero > 3) bad("--zero", "is 0, 1, 2 or 3", "3 shares weights as well");
    if (plan.prefetch < 0) bad("--prefetch", "must not be negative", "0 gathers nothing ahead");
    if (!(plan.bucket_bytes > 0)) bad("--bucket", "must be above 0", "PyTorch's default is 25 MiB");
    if (plan.sequence_parallel && plan.tensor == 1)
        bad("--sequence-parallel", "shares tokens among the devices of a tensor group", "add --tensor");
    const bool interleaved = plan.schedule == PipelineSchedule::interleaved;
    if (plan.chunks > 1 && !interleaved)
        bad("--chunks", "is for the interleaved schedule", "add --pipeline-schedule interleaved");
    if (plan.chunks > 1 && plan.pipeline == 1) bad("--chunks", "belong to a pipeline", "add --pipeline");
    if (interleaved && plan.pipeline > 1 && plan.micro_batches % plan.pipeline != 0)
        bad("--micro-batches",
            fmt::format("{} is no multiple of the {} stages, which the interleaved schedule needs",
                        plan.micro_batches, plan.pipeline),
            "choose another number, or another schedule");
    if (plan.expert > 1 && plan.data % plan.expert != 0)
        bad("--expert",
            fmt::format("experts are shared among devices of different data: {} does not divide --data {}",
                        plan.expert, plan.data),
            "choose a divisor");
    if (!(plan.expert_skew >= 0)) bad("--expert-skew", "must not be negative", "0: all experts alike");
    const bool central = plan.data_parallel == DataParallel::parameter_server ||
                         plan.data_parallel == DataParallel::asynchronous;
    if (plan.zero > 0 && plan.data_parallel != DataParallel::all_reduce)
        bad("--zero",
            fmt::format("divides one state among devices that agree in every step; with {} {}",
                        name_of(plan.data_parallel),
                        central ? "the servers hold it already" : "every device has a state of its own"),
            "leave it out, or choose --data-parallel all-reduce");
    if (central && plan.pipeline > 1)
        bad("--data-parallel",
            "a parameter server answers with all weights at once, and a stage of a pipeline holds a part of "
            "them",
            "choose all-reduce or local-sgd");
    if (plan.offload_optimizer && central)
        bad("--offload-optimizer",
            "a parameter server updates the weights already, and holds the optimizer's state",
            "leave it out");
}

std::string describe(const ParallelPlan& plan) {
    std::string text = fmt::format("data {}, tensor {}, pipeline {}", plan.data, plan.tensor, plan.pipeline);
    if (plan.pipeline > 1)
        text += fmt::format(" ({}{})", name_of(plan.schedule),
                            plan.chunks > 1 ? fmt::format(", {} chunks", plan.chunks) : std::string());
    if (plan.context > 1)
        text += fmt::format(", context {} ({})", plan.context, plan.context_ring ? "ring" : "all-gather");
    if (plan.expert > 1) text += fmt::format(", experts {}", plan.expert);
    if (plan.expert_skew > 0) text += fmt::format(", skew {}", plan.expert_skew);
    if (plan.sequence_parallel) text += ", sequence parallel";
    if (plan.zero > 0) text += fmt::format(", ZeRO {}", plan.zero);
    if (plan.data_parallel != DataParallel::all_reduce) text += ", " + name_of(plan.data_parallel);
    if (plan.recompute != Recomputation::none) text += ", recompute " + name_of(plan.recompute);
    if (plan.offload_optimizer) text += ", optimizer on the host";
    return text + fmt::format(", {} micro-batches of {}", plan.micro_batches, plan.micro_batch);
}

}  // namespace heddle::parallel
