#include "sim/run/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "isa/common/error.h"
#include "sim/run/gpu_run.h"
#include "sim/run/step.h"
#include "sim/run/tpu_run.h"
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
trace::Trace fused_as(Fusion fusion, const trace::Trace& given, bool gpu, std::string& note) {
    if (fusion == Fusion::none) return given;
    fusion::XlaCount count;
    if (fusion == Fusion::compile) {
        trace::Trace trace = fusion::fuse(given, {}, &count);
        note = fmt::format("fused: {} ops became {}, {} results are never written to memory", count.before,
                           count.after, count.dropped);
        return trace;
    }
    if (gpu)
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

/// Trains on a TPU with updates apart from the products that make their gradients, so that the gradients can
/// be compared. The step's time is that of the step with all fused together.
NumericsResult train_apart(const trace::Trace& given, const Hardware& hardware,
                           const SimulateOptions& options) {
    const trace::Trace trace = fusion::fuse_as_xla(given, {{}, false});
    RunResult apart;
    SimulateOptions quiet = options;
    quiet.dump_programs.clear();
    quiet.signals = {};
    return train_on_tpu(trace, hardware, options, run_on_tpu(trace, hardware, quiet, apart));
}

}  // namespace

void check_memory(const trace::Trace& trace, const MemoryRoom& room, double workspace,
                  const SimulateOptions& options, RunResult& result) {
    result.memory = report_memory(trace, room, workspace);
    if (result.memory->fits()) return;
    const bool recorded = std::any_of(trace.ops.begin(), trace.ops.end(),
                                      [](const trace::Op& op) { return !op.kernel_name.empty(); });
    if (!options.ignore_memory && !recorded) throw DoesNotFit{*result.memory};
    result.notes.push_back("does not fit the memory: " + result.memory->sentence());
}

SharedDevice shared_device(const Hardware& hardware) {
    return {.launch_latency_us = hardware.gpu().host.latency * 1e6,
            .peer_flush_us = hardware.step.peer_flush * 1e6,
            .host_flush_us = hardware.step.host_flush * 1e6,
            .sms = hardware.gpu().sm.count};
}

RunResult simulate(const trace::Trace& given, const std::string& workload, const Hardware& hardware,
                   const SimulateOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    given.check();
    std::string fused;
    const Fusion fusion = options.fusion != Fusion::usual ? options.fusion
                          : hardware.is_gpu()             ? Fusion::none
                                                          : Fusion::xla;
    const trace::Trace trace = fused_as(fusion, given, hardware.is_gpu(), fused);
    if (options.series.interval != 0 && !hardware.is_gpu())
        throw Error("only GPUs record series", {"--series", 0, ""}, "leave it out");
    if (options.sample && !hardware.is_gpu())
        throw Error("only GPUs are sampled", {"--sample", 0, ""}, "leave it out: TPU programs are quick");
    if (options.programmatic && !hardware.is_gpu())
        throw Error("only GPUs have programmatic launches", {"--programmatic-launches", 0, ""},
                    "leave it out");
    if (options.graph && !hardware.is_gpu())
        throw Error("only GPUs have CUDA graphs", {"--graph", 0, ""},
                    "leave it out: a TPU's step is one program anyway");
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
    std::vector<OpOutcome> outcomes = hardware.is_gpu() ? run_on_gpu(trace, hardware, options, result)
                                                        : run_on_tpu(trace, hardware, options, result);
    SharedDevice device;
    if (hardware.is_gpu()) {
        const StepConfig& step = hardware.step;
        const HostCosts costs{step.dispatch * 1e6, step.launch * 1e6, step.graph_launch * 1e6, options.graph};
        result.recorded_host = add_host_times(trace, costs, outcomes);
        result.graph = options.graph;
        device = shared_device(hardware);
    }
    assemble_step(trace, outcomes, result, device);
    note_held_turns(trace, result);
    note_estimates(trace, outcomes, result);
    if (options.numerics) {
        Hardware settled = hardware;
        if (hardware.is_gpu()) {
            auto& config = std::get<models::gpu::GpuConfig>(settled.device);
            if (options.graph) config = in_graph(config);
            config.clock = result.clock_hz;
        }
        result.numerics = hardware.is_gpu()       ? train_on_gpu(trace, settled, options, outcomes)
                          : fusion == Fusion::xla ? train_apart(given, hardware, options)
                                                  : train_on_tpu(trace, hardware, options, outcomes);
    }
    result.simulation.wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
}

std::unique_ptr<TrainingDevice> training_device(const trace::Trace& trace, const Hardware& hardware) {
    return hardware.is_gpu() ? gpu_training_device(trace, hardware) : tpu_training_device(trace, hardware);
}

}  // namespace heddle::sim
