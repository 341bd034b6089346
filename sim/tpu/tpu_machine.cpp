#include "sim/tpu/tpu_machine.h"

#include "isa/common/error.h"
#include "sim/area/die_area.h"
#include "sim/run/simulate.h"
#include "sim/tpu/tpu_step.h"
#include "workloads/fusion/xla.h"

namespace heddle::sim {

void TpuMachine::describe(models::ParameterList& list) {
    config.describe(list);
    sim::describe(die, false, list);
}

std::optional<MachineProblem> TpuMachine::problem() const {
    try {
        config.check();
    } catch (const Error& error) {
        return MachineProblem{error.problem(), error.where().key, error.remedy()};
    }
    return std::nullopt;
}

MatrixPeak TpuMachine::matrix_peak() const {
    const double per_cycle =
        2.0 * config.cores * config.matrix.per_core * config.matrix.rows * config.matrix.columns;
    return {per_cycle * config.peak_clock(), config.peak_clock(), per_cycle * config.clock_hertz,
            config.clock_hertz};
}

MemoryRoom TpuMachine::memory_room() const {
    // XLA lays out all of a program's memory ahead: no allowance.
    return {.capacity = static_cast<double>(config.hbm.bytes), .granularity = 1024, .by_tensor = false};
}

DieArea TpuMachine::area() const {
    return die_area(config, die);
}

void TpuMachine::refuse_options(const SimulateOptions& options) const {
    if (options.series.interval != 0) throw Error("only GPUs record series", {"--series", 0, ""}, "leave it out");
    if (options.sample)
        throw Error("only GPUs are sampled", {"--sample", 0, ""}, "leave it out: TPU programs are quick");
    if (options.programmatic)
        throw Error("only GPUs have programmatic launches", {"--programmatic-launches", 0, ""}, "leave it out");
    if (options.streams != Streams::shared)
        throw Error("only GPUs have streams", {"--streams", 0, ""}, "leave it out");
    if (options.graph)
        throw Error("only GPUs have CUDA graphs", {"--graph", 0, ""},
                    "leave it out: a TPU's step is one program anyway");
}

SharedDevice TpuMachine::shared_device() const {
    return {};
}

std::unique_ptr<PlannedStep> TpuMachine::plan(const trace::Trace& trace, const SimulateOptions& options,
                                              RunResult& result) const {
    return plan_on_tpu(trace, *this, options, result);
}

NumericsResult TpuMachine::train(const trace::Trace& given, const trace::Trace& trace,
                                 const SimulateOptions& options, const std::vector<OpOutcome>& outcomes,
                                 const RunResult& /*result*/) const {
    const Fusion fusion = options.fusion != Fusion::usual ? options.fusion : usual_fusion();
    if (fusion != Fusion::xla) return train_on_tpu(trace, config, options, outcomes);
    // Updates apart from the products that make their gradients, so that the gradients can be compared. The step's time is that of
    // the step with all fused together.
    const trace::Trace apart = fusion::fuse_as_xla(given, {{}, false});
    RunResult found;
    SimulateOptions quiet = options;
    quiet.dump_programs.clear();
    quiet.signals = {};
    return train_on_tpu(apart, config, options, run_ops(apart, *this, quiet, found).outcomes);
}

std::unique_ptr<TrainingDevice> TpuMachine::training_device(const trace::Trace& trace) const {
    return tpu_training_device(trace, config);
}

MachineKind tpu_kind() {
    return {"tpu", [](const std::string& name) {
                auto machine = std::make_unique<TpuMachine>();
                machine->config.name = name;
                return machine;
            }};
}

const TpuMachine* tpu_machine(const Hardware& hardware) {
    return dynamic_cast<const TpuMachine*>(&hardware.machine());
}

const models::TpuConfig& tpu_config(const Hardware& hardware, const std::string& remedy,
                                    const std::string& option) {
    if (const TpuMachine* tpu = tpu_machine(hardware)) return tpu->config;
    throw Error("`" + hardware.name + "` is a " + hardware.machine().noun(), {option, 0, ""}, remedy);
}

}  // namespace heddle::sim
