// The kind "cpu": cores, caches and memory (models/cpu). A framework on the same CPU gives each op to its threads.
#pragma once

#include <memory>
#include <string>

#include "models/cpu/cpu_config.h"
#include "sim/machine/hardware.h"
#include "sim/machine/kinds.h"
#include "workloads/lowering/cpu/cpu_lowering.h"

namespace heddle::sim {

/// A machine of one or more equal sockets. Machine documents the members that it overrides. Power is not modelled.
class CpuMachine final : public Machine {
  public:
    std::unique_ptr<Machine> clone() const override { return std::make_unique<CpuMachine>(*this); }
    std::string noun() const override { return "CPU"; }
    void describe(models::ParameterList& list) override;
    std::optional<MachineProblem> problem() const override;

    MatrixPeak matrix_peak() const override;
    double memory_bandwidth() const override { return config.memory_bandwidth * config.sockets; }
    MemoryRoom memory_room() const override;
    DieArea area() const override;

    void refuse_options(const SimulateOptions& options) const override;
    SharedDevice shared_device() const override;

    std::unique_ptr<PlannedStep> plan(const trace::Trace& trace, const SimulateOptions& options, RunResult& result) const override;
    NumericsResult train(const trace::Trace& given, const trace::Trace& trace, const SimulateOptions& options,
                         const std::vector<OpOutcome>& outcomes, const RunResult& result) const override;
    std::unique_ptr<TrainingDevice> training_device(const trace::Trace& trace) const override;

    models::CpuConfig config;
};

/// What a compiler must know of this CPU.
lowering::CpuTarget cpu_target(const models::CpuConfig& config);

/// Returns the kind that hardware files name as `kind: cpu`.
MachineKind cpu_kind();

/// Returns the device's machine, or nullptr where the device is not a CPU.
const CpuMachine* cpu_machine(const Hardware& hardware);

}  // namespace heddle::sim
