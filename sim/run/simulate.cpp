#include "sim/run/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "isa/common/error.h"
#include "sim/run/assemble/assemble.h"
#include "sim/run/numerics/numerics.h"
#include "sim/run/planned_step.h"
#include "sim/run/schedule/step_schedule.h"
#include "sim/run/time/distinct_work.h"
#include "workloads/fusion/xla.h"
#include "workloads/trace/turns.h"

namespace heddle::sim {
namespace {

/// Ops that were not executed cycle by cycle, by reason, most time first.
void note_estimates(const trace::Trace& trace, const std::vector<OpOutcome>& outcomes, RunResult& result) {
    struct Group {
        std::uint64_t count = 0;
        double time_us = 0;
    };
    std::map<std::string, Group> groups;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        if (outcomes[i].communication) continue;
        for (const KernelResult& kernel : outcomes[i].kernels) {
            if (kernel.fidelity == Fidelity::cycle) continue;
            Group& group = groups[name_of(kernel.fidelity) + ": " + trace::name_of(trace.ops[i].kind) + " (" +
                                  kernel.name + ")"];
            group.count += trace::count_of_turns(trace.ops[i]);
            group.time_us += trace::turns_of(trace.ops[i]) * kernel.time_us;
        }
    }
    std::vector<std::pair<std::string, Group>> sorted(groups.begin(), groups.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.time_us > b.second.time_us; });
    for (const auto& [reason, group] : sorted) {
        result.notes.push_back(fmt::format("{}: {} ops, {:.1f} us", reason, group.count, group.time_us));
    }
}

/// Loops of which the trace holds a turn for many.
void note_held_turns(const trace::Trace& trace, RunResult& result) {
    std::size_t turns = 0, ops = 0;
    for (const trace::HeldTurn& held : trace::held_turns(trace)) turns += held.turns != 1 ? 1 : 0;
    for (const trace::Op& op : trace.ops) ops += trace::turns_of(op) != 1 ? 1 : 0;
    if (turns == 0) return;
    result.notes.push_back(fmt::format("loops whose turns are alike: {} of {} simulated once for all of them",
                                       ops == 1 ? "1 op" : fmt::format("{} ops", ops),
                                       turns == 1 ? "1 turn was" : fmt::format("{} turns were", turns)));
}

/// The step after fusion, and a note of what became of it.
trace::Trace fused_as(Fusion fusion, const trace::Trace& given, const Machine& machine, std::string& note) {
    if (fusion == Fusion::none) return given;
    fusion::XlaCount count;
    if (fusion == Fusion::compile) {
        trace::Trace trace = fusion::fuse(given, {}, &count);
        note = fmt::format("fused: {} ops became {}, {} results are never written to memory", count.before,
                           count.after, count.dropped);
        return trace;
    }
    if (machine.usual_fusion() != Fusion::xla)
        throw Error("only TPUs run programs of XLA", {"--fusion", 0, ""},
                    "use compile or none; XLA for GPUs is not modelled");
    trace::Trace trace = fusion::fuse_as_xla(given, {}, &count);
    if (count.after == count.before) return trace;
    note = fmt::format(
        "fused as XLA does: {} ops became {}; {} became epilogues of products, {} casts and {} transposes "
        "vanished",
        count.before, count.after, count.epilogues, count.casts, count.layouts);
    if (count.images.images > 0)
        note += fmt::format("; {} images were laid out with channels last, {} transposes put in",
                            count.images.images, count.images.transposes);
    return trace;
}

}  // namespace

std::vector<std::vector<ConcurrentTime>> PlannedStep::time_together(const std::vector<ConcurrentRun>&, RunResult&) {
    throw Error("is for GPUs: this device runs one program at a time", {"--streams", 0, ""}, "leave it out");
}

void check_memory(const trace::Trace& trace, const MemoryRoom& room, double workspace,
                  const SimulateOptions& options, RunResult& result) {
    result.memory = report_memory(trace, room, workspace);
    if (result.memory->fits()) return;
    const bool recorded = std::any_of(trace.ops.begin(), trace.ops.end(),
                                      [](const trace::Op& op) { return !op.kernel_name.empty(); });
    if (!options.ignore_memory && !recorded) throw DoesNotFit{*result.memory};
    result.notes.push_back("does not fit the memory: " + result.memory->sentence());
}

TrainingPlan training_plan(const SimulateOptions& options, const std::string& device_identity) {
    return {options.steps, options.data, options.checkpoint, options.resume, device_identity};
}

TimedOps run_ops(const trace::Trace& trace, const Machine& machine, const SimulateOptions& options, RunResult& result) {
    std::unique_ptr<PlannedStep> step = machine.plan(trace, options, result);
    const SignalOptions& signals = options.signals;
    const std::vector<TraceableKernel> launches = signals.asked() ? step->launches() : std::vector<TraceableKernel>();
    std::vector<std::size_t> traced;
    if (signals.asked()) traced = kernels_to_trace(signals, launches);
    step->time(result);
    if (signals.asked()) {
        std::erase_if(traced, [&](std::size_t launch) { return !step->has_run(launch); });
        if (traced.empty()) throw Error("no program runs for it", {"--trace-kernel", 0, ""}, "name another op");
        result.signals =
            trace_kernels(signals, launches, traced, workers_of(options), [&] { return step->traced_device(); });
    }
    std::vector<OpOutcome> outcomes = step->outcomes(result);
    return {std::move(step), std::move(outcomes)};
}

RunResult simulate(const trace::Trace& given, const std::string& workload, const Hardware& hardware,
                   const SimulateOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    const Machine& machine = hardware.machine();
    given.check();
    std::string fused;
    const Fusion fusion = options.fusion != Fusion::usual ? options.fusion : machine.usual_fusion();
    const trace::Trace trace = fused_as(fusion, given, machine, fused);
    machine.refuse_options(options);
    if (options.numerics && std::any_of(trace.ops.begin(), trace.ops.end(),
                                        [](const trace::Op& op) { return trace::turns_of(op) != 1; }))
        throw Error("needs every turn of the step's loops", {"--numerics", 0, ""},
                    "the step has loops that are too long to be written out; leave it out");
    if (trace.ops.empty()) throw Error("the workload has no operations", {.key = workload});
    RunResult result;
    result.workload = workload;
    result.hardware = hardware.name;
    result.hardware_description = hardware.description;
    if (!fused.empty()) result.notes.push_back(fused);
    auto [step, outcomes] = run_ops(trace, machine, options, result);
    if (const std::optional<HostCosts> costs = machine.host_costs()) {
        result.recorded_host = add_host_times(trace, *costs, options.graph, outcomes);
        result.graph = options.graph;
    }
    const auto time_runs = [&step = step, &result](const std::vector<ConcurrentRun>& runs) { return step->time_together(runs, result); };
    const StepSchedule schedule =
        options.streams == Streams::cycle
            ? schedule_together(trace, outcomes, machine.shared_device(), time_runs, result.notes)
            : schedule_step(trace, outcomes, machine.shared_device());
    assemble_step(trace, outcomes, schedule, result);
    note_held_turns(trace, result);
    note_estimates(trace, outcomes, result);
    if (options.numerics) result.numerics = machine.train(given, trace, options, outcomes, result);
    result.simulation.wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
}

std::unique_ptr<TrainingDevice> training_device(const trace::Trace& trace, const Hardware& hardware) {
    return hardware.machine().training_device(trace);
}

}  // namespace heddle::sim
