#include "sim/distributed/distributed_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "isa/common/error.h"
#include "sim/machine/peak.h"
#include "workloads/trace/trace.h"
#include "workloads/zoo/registry.h"

namespace heddle::sim {
namespace {

using parallel::DataParallel;
using parallel::ParallelPlan;

ModelOptions with_plan(const ModelOptions& given, const ParallelPlan& plan) {
    ModelOptions options = given;
    const auto set = [&](const char* key, const std::string& value, const char* instead) {
        if (given.contains(key))
            throw Error(std::string("option ") + key + " is the plan's", {"--option", 0, ""},
                        std::string("leave it out, or give ") + instead + " to a command that takes it");
        options[key] = value;
    };
    set("batch", std::to_string(plan.micro_batch), "--micro-batch");
    set("micro_batches", "1", "--micro-batches");
    set("recompute", parallel::name_of(plan.recompute), "--recompute");
    if (plan.tensor > 1) set("tensor", std::to_string(plan.tensor), "--tensor");
    if (plan.sequence_parallel) set("sequence_parallel", "1", "--sequence-parallel");
    if (plan.expert > 1) set("expert", std::to_string(plan.expert), "--expert");
    if (plan.expert_skew > 0) set("expert_skew", fmt::format("{}", plan.expert_skew), "--expert-skew");
    if (plan.context > 1) {
        set("context", std::to_string(plan.context), "--context");
        set("context_exchange", plan.context_ring ? "ring" : "all-gather", "--context-exchange");
    }
    set("parts", "1", "nothing");
    return options;
}

void note_memory(DistributedResult& result, const DistributedOptions& how) {
    if (result.fits()) return;
    double most = 0;
    for (const StageResult& stage : result.stages) most = std::max(most, stage.memory.total());
    const std::string text = fmt::format("does not fit: a device needs {:.1f} GiB of {:.1f}",
                                         (most + result.reserved) / (1 << 30), result.capacity / (1 << 30));
    if (!how.ignore_memory) result.notes.push_back(text);
}

/// Nobody waits: a device's own step and its turn at the servers, or the servers' whole work for one step of
/// each.
void asynchronous(const TimedStep& step, const ParallelPlan& plan, const DeviceNetwork& network,
                  DistributedResult& result) {
    double parameters = 0;
    for (const TimedPart& part : step.parts) parameters += part.parameters;
    const double bytes = plan.gradient_bytes * parameters;
    DeviceGroup one{{0}, nullptr, 0}, everybody;
    for (std::int64_t d = 0; d < plan.devices(); ++d)
        everybody.devices.push_back(static_cast<std::uint32_t>(d));
    const double alone = network.seconds(Exchange::push, bytes, one);
    const double all = network.seconds(Exchange::push, bytes, everybody);
    const double own = result.seconds + alone;
    result.seconds = std::max(own, all);
    // While one device works, every other one updates the weights once.
    result.staleness = static_cast<double>(plan.data) - 1;
    result.notes.push_back(fmt::format(
        "asynchronous: an update follows the weights it was made of after {:.0f} others", result.staleness));
    if (all > own) result.notes.push_back("the servers' links are the bottleneck");
}

trace::Trace whole_model(const std::string& model, const ModelOptions& options, const ParallelPlan& plan) {
    ModelOptions whole = options;
    whole["batch"] = std::to_string(plan.micro_batch);
    return zoo::build(model, whole);
}

double flops_of(const trace::Trace& trace, const ParallelPlan& plan) {
    double flops = 0;
    for (const trace::Op& op : trace.ops)
        if (trace::is_product(op.kind)) flops += trace::floating_point_operations(trace, op);
    return flops * static_cast<double>(plan.data * plan.micro_batches);
}

/// Options of the plan that the model's trace does not follow are refused; what it does with them is told.
void check_trace(const trace::Trace& trace, const trace::Trace& whole, const ParallelPlan& plan,
                 DistributedResult& result) {
    std::set<std::string> groups;
    double dropped = 0, mixtures = 0;
    for (const trace::Op& op : trace.ops) {
        if (op.kind == trace::OpKind::collective) groups.insert(op.get(keys::collective.group));
        if (op.kind != trace::OpKind::expert_slots) continue;
        ++mixtures;
        dropped += op.get(keys::expert_slots.dropped);
    }
    const auto need = [&](const char* group, std::int64_t count, const char* option) {
        if (count > 1 && !groups.contains(group))
            throw Error(fmt::format("{} has nothing that {} devices share", result.model, count),
                        {option, 0, ""}, "leave it out, or choose another model");
    };
    const auto weights = [](const trace::Trace& t) {
        std::int64_t count = 0;
        for (const trace::Tensor& tensor : t.tensors)
            if (tensor.role == trace::TensorRole::parameter) count += tensor.elements();
        return count;
    };
    if (weights(trace) == weights(whole)) groups.erase("tensor");
    need("tensor", plan.tensor, "--tensor");
    need("expert", plan.expert, "--expert");
    need("context", plan.context, "--context");
    if (plan.expert_skew > 0 && mixtures == 0)
        throw Error(result.model + " has no experts", {"--expert-skew", 0, ""}, "leave it out");
    if (mixtures > 0) result.dropped = dropped / mixtures;
    const auto rows = [](const trace::Trace& t) {
        for (const trace::Tensor& tensor : t.tensors)
            if (tensor.name == "token_embedding.weight" && tensor.role == trace::TensorRole::parameter)
                return tensor.shape.front();
        return std::int64_t{0};
    };
    const std::int64_t words = rows(whole), padded = rows(trace) * plan.tensor;
    if (plan.tensor > 1 && padded > words)
        result.notes.push_back(fmt::format(
            "vocabulary of {} padded to {}: {} devices hold {} rows each, a multiple of 128 (Megatron-LM)",
            words, padded, plan.tensor, padded / plan.tensor));
}

/// What is not said is the device's.
HostConfig host_of(HostConfig host, const Hardware& hardware) {
    const std::optional<HostCosts> costs = hardware.machine().host_costs();
    const double op = costs ? costs->dispatch + costs->launch : 0;
    if (host.forward_op < 0) host.forward_op = op;
    if (host.backward_op < 0) host.backward_op = op;
    if (!costs) host.collective = 0;
    return host;
}

}  // namespace

bool DistributedResult::fits() const {
    return std::all_of(stages.begin(), stages.end(), [&](const StageResult& stage) {
        return capacity == 0 || stage.memory.total() + reserved <= capacity;
    });
}

trace::Trace trace_of(const std::string& model, const ModelOptions& options, const ParallelPlan& plan) {
    return zoo::build(model, with_plan(options, plan));
}

void check_model(const std::string& model, const ModelOptions& options) {
    const ParallelPlan plan;
    with_plan(options, plan);
    whole_model(model, options, plan);
    for (const zoo::Model& known : zoo::models()) {
        const auto takes = [&](const char* name) {
            return std::any_of(known.options.begin(), known.options.end(),
                               [&](const zoo::OptionDescription& option) { return option.name == name; });
        };
        if (known.name == model && !takes("micro_batches"))
            throw Error("the step of " + model + " is not made of micro-batches, and cannot be spread so", {},
                        "choose a model whose options have micro_batches: gpt2-small, llama2-7b, ...");
    }
}

DistributedResult simulate_distributed(const std::string& model, const ModelOptions& options,
                                       const ParallelPlan& plan, const ClusterModel& cluster,
                                       const Hardware& hardware, OpTimes& times,
                                       const DistributedOptions& how) {
    parallel::check(plan);
    if (plan.devices() > cluster.devices())
        throw Error(fmt::format("the plan needs {} devices, {} has {}", plan.devices(), cluster.name,
                                cluster.devices()),
                    {"--nodes", 0, ""}, "add nodes");
    const HostConfig host = host_of(cluster.host, hardware);
    DistributedResult result;
    result.model = model;
    const trace::Trace trace = trace_of(model, options, plan),
                       whole_trace = whole_model(model, options, plan);
    check_trace(trace, whole_trace, plan, result);
    const TimedStep step = time_parts(trace, plan, times, host);
    result.cluster = cluster.name;
    result.hardware = hardware.name;
    result.plan = parallel::describe(plan);
    result.kernels = times.name();
    result.devices = static_cast<double>(plan.devices());
    result.batch = static_cast<double>(plan.batch());
    result.simulated = step.simulated;
    result.price_per_hour = cluster.price_per_hour * result.devices;
    for (const TimedPart& part : step.parts)
        result.parameters += part.parameters * static_cast<double>(plan.tensor);

    const bool alone = plan.data_parallel == DataParallel::asynchronous;
    ParallelPlan own = plan;
    if (alone) own.data = 1;
    ManyDevices whole = machine_of(step, own, host);
    find_neighbours(whole, *cluster.network);
    const ManyDevices machine = how.fold ? fold(whole, *cluster.network) : whole;
    const ManyDevicesResult run = simulate_devices(machine, *cluster.network);
    result.seconds = run.seconds;
    result.work_simulated = run.work_simulated;
    if (alone) asynchronous(step, plan, *cluster.network, result);
    double devices = 0;
    for (std::size_t i = 0; i < machine.devices.size(); ++i) {
        StageResult stage;
        stage.devices = machine.stands_for.empty() ? 1 : machine.stands_for[i];
        const std::uint32_t program = machine.devices[i].program;
        stage.name = machine.programs[program]->name;
        stage.account = run.devices[i];
        stage.memory = memory_of(step, plan, program);
        result.bubble += stage.devices * stage.account.bubble / run.seconds;
        devices += stage.devices;
        result.stages.push_back(std::move(stage));
    }
    result.bubble /= devices;
    if (const MemoryRoom room = hardware.machine().memory_room(); room.by_tensor) {
        result.capacity = room.capacity / (1 + room.fragmentation);
        result.reserved = room.context;
    }
    const MatrixPeak peak = hardware.machine().matrix_peak();
    result.peak_flops = result.devices * peak.flops;
    result.peak = describe(peak);
    result.model_flops = flops_of(whole_trace, plan);
    note_memory(result, how);
    return result;
}

}  // namespace heddle::sim
