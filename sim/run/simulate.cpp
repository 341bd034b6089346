#include "sim/run/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "isa/common/error.h"
#include "sim/run/gpu_run.h"
#include "sim/run/step.h"
#include "sim/run/tpu_run.h"
#include "workloads/fusion/fuse.h"

namespace heddle::sim {
namespace {

/// Ops that were not executed cycle by cycle, by reason, most time first.
void note_estimates(const trace::Trace& trace, const std::vector<OpOutcome>& outcomes, RunResult& result) {
    struct Group {
        std::size_t count = 0;
        double time_us = 0;
    };
    std::map<std::string, Group> groups;
    for (std::size_t i = 0; i < outcomes.size(); ++i) {
        if (outcomes[i].communication) continue;
        for (const KernelResult& kernel : outcomes[i].kernels) {
            if (kernel.fidelity == Fidelity::cycle) continue;
            Group& group = groups[name_of(kernel.fidelity) + ": " + trace::name_of(trace.ops[i].kind) + " (" +
                                  kernel.name + ")"];
            ++group.count;
            group.time_us += kernel.time_us;
        }
    }
    std::vector<std::pair<std::string, Group>> sorted(groups.begin(), groups.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.time_us > b.second.time_us; });
    for (const auto& [reason, group] : sorted) {
        result.notes.push_back(fmt::format("{}: {} ops, {:.1f} us", reason, group.count, group.time_us));
    }
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

RunResult simulate(const trace::Trace& given, const std::string& workload, const Hardware& hardware,
                   const SimulateOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    given.check();
    fusion::FusionCount fused;
    const trace::Trace trace = options.fuse ? fusion::fuse(given, {}, &fused) : given;
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
    if (trace.ops.empty()) throw Error("the workload has no operations", {.key = workload});
    RunResult result;
    result.workload = workload;
    result.hardware = hardware.name;
    result.hardware_description = hardware.description;
    if (options.fuse) {
        result.notes.push_back(fmt::format("fused: {} ops became {}, {} results are never written to memory",
                                           fused.before, fused.after, fused.dropped));
    }
    std::vector<OpOutcome> outcomes = hardware.is_gpu() ? run_on_gpu(trace, hardware, options, result)
                                                        : run_on_tpu(trace, hardware, options, result);
    double launch_latency_us = 0;
    if (hardware.is_gpu()) {
        const StepConfig& step = hardware.step;
        const HostCosts costs{step.dispatch * 1e6, step.launch * 1e6, step.graph_launch * 1e6, options.graph};
        result.recorded_host = add_host_times(trace, costs, outcomes);
        result.graph = options.graph;
        launch_latency_us = hardware.gpu().host.latency * 1e6;
    }
    assemble_step(trace, outcomes, result, launch_latency_us);
    note_estimates(trace, outcomes, result);
    if (options.numerics) {
        Hardware settled = hardware;
        if (hardware.is_gpu()) {
            auto& config = std::get<models::gpu::GpuConfig>(settled.device);
            if (options.graph) config = in_graph(config);
            config.clock = result.clock_hz;
        }
        result.numerics = hardware.is_gpu() ? train_on_gpu(trace, settled, options, outcomes)
                                            : train_on_tpu(trace, hardware, options, outcomes);
    }
    result.simulation.wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
}

}  // namespace heddle::sim
