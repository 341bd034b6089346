#include "sim/run/simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "isa/common/error.h"
#include "sim/run/gpu_run.h"
#include "sim/run/step.h"
#include "sim/run/tpu_run.h"

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

RunResult simulate(const trace::Trace& trace, const std::string& workload, const Hardware& hardware,
                   const SimulateOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    trace.check();
    if (options.series.interval != 0 && !hardware.is_gpu())
        throw Error("only GPUs record series", {"--series", 0, ""}, "leave it out");
    if (options.sample && !hardware.is_gpu())
        throw Error("only GPUs are sampled", {"--sample", 0, ""}, "leave it out: TPU programs are quick");
    if (options.programmatic && !hardware.is_gpu())
        throw Error("only GPUs have programmatic launches", {"--programmatic-launches", 0, ""},
                    "leave it out");
    if (trace.ops.empty()) throw Error("the workload has no operations", {.key = workload});
    RunResult result;
    result.workload = workload;
    result.hardware = hardware.name;
    result.hardware_description = hardware.description;
    const std::vector<OpOutcome> outcomes = hardware.is_gpu() ? run_on_gpu(trace, hardware, options, result)
                                                              : run_on_tpu(trace, hardware, options, result);
    assemble_step(trace, outcomes, result);
    note_estimates(trace, outcomes, result);
    if (options.numerics) {
        Hardware settled = hardware;
        if (hardware.is_gpu()) std::get<models::gpu::GpuConfig>(settled.device).clock = result.clock_hz;
        result.numerics = hardware.is_gpu() ? train_on_gpu(trace, settled, options, outcomes)
                                            : train_on_tpu(trace, hardware, options, outcomes);
    }
    result.simulation.wall_s =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return result;
}

}  // namespace heddle::sim
