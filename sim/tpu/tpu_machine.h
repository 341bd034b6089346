// The kind "tpu": matrix units, vector unit, on-chip memory and HBM (models/tpu). The host starts one program
// for a whole step.
#pragma once

#include <memory>
#include <string>

#include "models/tpu/tpu_config.h"
#include "sim/machine/hardware.h"
#include "sim/machine/kinds.h"

namespace heddle::sim {

/// A TPU of any generation that models/tpu describes. Machine documents the members that it overrides. Power,
/// sampling and CUDA graphs do not exist for this kind.
class TpuMachine final : public Machine {
  public:
    std::unique_ptr<Machine> clone() const override { return std::make_unique<TpuMachine>(*this); }
    std::string noun() const override { return "TPU"; }
    void describe(models::ParameterList& list) override;
    std::optional<MachineProblem> problem() const override;

    MatrixPeak matrix_peak() const override;
    double memory_bandwidth() const override { return config.hbm.bandwidth; }
    MemoryRoom memory_room() const override;
    DieArea area() const override;

    Fusion usual_fusion() const override { return Fusion::xla; }
    void refuse_options(const SimulateOptions& options) const override;
    SharedDevice shared_device() const override;

    std::unique_ptr<PlannedStep> plan(const trace::Trace& trace, const SimulateOptions& options,
                                      RunResult& result) const override;
    NumericsResult train(const trace::Trace& given, const trace::Trace& trace, const SimulateOptions& options,
                         const std::vector<OpOutcome>& outcomes, const RunResult& result) const override;
    std::unique_ptr<TrainingDevice> training_device(const trace::Trace& trace) const override;

    models::TpuConfig config;
};

/// Returns the kind that hardware files name as `kind: tpu`.
MachineKind tpu_kind();

/// Returns the device's machine, or nullptr where the device is not a TPU.
const TpuMachine* tpu_machine(const Hardware& hardware);
/// Returns the configuration of a TPU. Where the device is not a TPU, throws heddle::Error about `option`
/// ("`h100-sxm` is a GPU") with `remedy`.
const models::TpuConfig& tpu_config(const Hardware& hardware, const std::string& remedy = "choose a TPU",
                                    const std::string& option = "--hardware");

}  // namespace heddle::sim
