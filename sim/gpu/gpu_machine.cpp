#include "sim/gpu/gpu_machine.h"

#include <algorithm>

#include "isa/common/error.h"
#include "sim/area/die_area.h"
#include "sim/gpu/gpu_step.h"
#include "sim/run/assemble/result.h"

namespace heddle::sim {

void GpuMachine::describe(models::ParameterList& list) {
    using models::gpu::describe;
    describe(config, list);
    sim::describe(step, list);
    sim::describe(die, true, list);
}

std::optional<MachineProblem> GpuMachine::problem() const {
    const std::vector<std::string> problems = check(config);
    if (problems.empty()) return std::nullopt;
    return MachineProblem{problems.front(), "", ""};
}

std::vector<std::pair<std::string, std::string>> GpuMachine::libraries() const {
    return {{"hbm.model", config.hbm.model}, {"l2.model", config.l2.model}};
}

MatrixPeak GpuMachine::matrix_peak() const {
    const double flops = 2.0 * config.tensor.f16 * config.sm.count * config.clock;
    return {flops, config.clock, flops, config.clock};
}

MemoryRoom GpuMachine::memory_room() const {
    return {static_cast<double>(step.memory_bytes), static_cast<double>(step.context_bytes), step.fragmentation};
}

DieArea GpuMachine::area() const {
    return die_area(config, die);
}

std::optional<double> GpuMachine::energy_of(const RunResult& result) const {
    double joules = 0;
    for (const auto& [part, amount] : result.energy) joules += amount;
    const double between_us = std::max(0.0, result.step_time_us - result.energy_time_us);
    return joules + (config.power.constant(config.sm.count) - config.power.active) * between_us * 1e-6;
}

std::optional<HostCosts> GpuMachine::host_costs() const {
    return HostCosts{step.dispatch, step.launch, step.graph_launch};
}

SharedDevice GpuMachine::shared_device() const {
    return {.launch_latency_us = config.host.latency * 1e6,
            .peer_flush_us = step.peer_flush * 1e6,
            .host_flush_us = step.host_flush * 1e6,
            .sms = config.sm.count};
}

std::unique_ptr<PlannedStep> GpuMachine::plan(const trace::Trace& trace, const SimulateOptions& options,
                                              RunResult& result) const {
    return plan_on_gpu(trace, *this, options, result);
}

NumericsResult GpuMachine::train(const trace::Trace& /*given*/, const trace::Trace& trace,
                                 const SimulateOptions& options, const std::vector<OpOutcome>& outcomes,
                                 const RunResult& result) const {
    models::gpu::GpuConfig settled = options.graph ? in_graph(config) : config;
    settled.clock = result.clock_hz;
    return train_on_gpu(trace, settled, options, outcomes);
}

std::unique_ptr<TrainingDevice> GpuMachine::training_device(const trace::Trace& trace) const {
    return gpu_training_device(trace, config);
}

MachineKind gpu_kind() {
    return {"gpu", [](const std::string&) { return std::make_unique<GpuMachine>(); }};
}

const GpuMachine* gpu_machine(const Hardware& hardware) {
    return dynamic_cast<const GpuMachine*>(&hardware.machine());
}

const models::gpu::GpuConfig& gpu_config(const Hardware& hardware, const std::string& remedy,
                                         const std::string& option) {
    if (const GpuMachine* gpu = gpu_machine(hardware)) return gpu->config;
    throw Error("`" + hardware.name + "` is a " + hardware.machine().noun(), {option, 0, ""}, remedy);
}

}  // namespace heddle::sim
