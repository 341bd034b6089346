#include "sim/cpu/cpu_machine.h"

#include "isa/common/error.h"
#include "sim/area/die_area.h"
#include "sim/cpu/cpu_step.h"
#include "sim/run/simulate.h"

namespace heddle::sim {

void CpuMachine::describe(models::ParameterList& list) {
    config.describe(list);
    list.add("price.hour", die.price_per_hour, models::Quantity::count, 0, 1e6, "US dollars for an hour of the machine; 0: nobody rents it out.");
}

std::optional<MachineProblem> CpuMachine::problem() const {
    if (const auto problem = config.problem()) return MachineProblem{*problem, "", ""};
    return std::nullopt;
}

MatrixPeak CpuMachine::matrix_peak() const {
    const double clock = config.clock(config.all_cores(), config.vector_bits == 512, config.tile_interval != 0);
    return {config.peak_bf16(), clock, config.peak_bf16(), clock};
}

MemoryRoom CpuMachine::memory_room() const {
    return {.capacity = static_cast<double>(config.memory_bytes), .granularity = 64};
}

DieArea CpuMachine::area() const {
    // Without parts: there are no published areas of a CPU's parts to hold a model to.
    return {};
}

void CpuMachine::refuse_options(const SimulateOptions& options) const {
    const auto refuse = [](const char* what, const char* option, const char* remedy) { throw Error(what, {option, 0, ""}, remedy); };
    if (options.series.interval != 0) refuse("only GPUs record series", "--series", "leave it out");
    if (options.sample) refuse("only GPUs are sampled", "--sample", "leave it out: loops of a CPU's programs are folded anyway");
    if (options.programmatic) refuse("only GPUs have programmatic launches", "--programmatic-launches", "leave it out");
    if (options.graph) refuse("only GPUs have CUDA graphs", "--graph", "leave it out");
    if (options.streams != Streams::shared) refuse("only GPUs have streams", "--streams", "leave it out");
    if (options.signals.asked()) refuse("a CPU has no signals", "--signals", "leave it out");
}

SharedDevice CpuMachine::shared_device() const {
    return {};
}

std::unique_ptr<PlannedStep> CpuMachine::plan(const trace::Trace& trace, const SimulateOptions& options, RunResult& result) const {
    return plan_on_cpu(trace, *this, options, result);
}

NumericsResult CpuMachine::train(const trace::Trace& /*given*/, const trace::Trace& trace, const SimulateOptions& options,
                                 const std::vector<OpOutcome>& /*outcomes*/, const RunResult& /*result*/) const {
    return train_on_cpu(trace, config, options);
}

std::unique_ptr<TrainingDevice> CpuMachine::training_device(const trace::Trace& trace) const {
    return cpu_training_device(trace, config);
}

lowering::CpuTarget cpu_target(const models::CpuConfig& config) {
    lowering::CpuTarget target;
    target.lanes = config.lanes();
    // AVX2 has 16 registers; AVX-512, Neon and SVE have 32.
    target.registers = config.vector_bits == 256 ? 16 : 32;
    target.bf16_dot = config.bf16_dot;
    target.tiles = config.tile_interval != 0;
    target.threads = config.program_threads();
    return target;
}

MachineKind cpu_kind() {
    return {"cpu", [](const std::string& name) {
                auto machine = std::make_unique<CpuMachine>();
                machine->config.name = name;
                return machine;
            }};
}

const CpuMachine* cpu_machine(const Hardware& hardware) {
    return dynamic_cast<const CpuMachine*>(&hardware.machine());
}

}  // namespace heddle::sim
