// The kind "gpu": SMs, tensor cores, caches and HBM (models/gpu), and the host that launches kernels.
#pragma once

#include <memory>
#include <string>

#include "models/gpu/gpu_config.h"
#include "sim/gpu/step_config.h"
#include "sim/machine/hardware.h"
#include "sim/machine/kinds.h"

namespace heddle::sim {

/// A GPU of any NVIDIA generation that models/gpu describes. Machine documents the members that it overrides.
class GpuMachine final : public Machine {
  public:
    std::unique_ptr<Machine> clone() const override { return std::make_unique<GpuMachine>(*this); }
    std::string noun() const override { return "GPU"; }
    void describe(models::ParameterList& list) override;
    std::optional<MachineProblem> problem() const override;
    std::vector<std::pair<std::string, std::string>> libraries() const override;

    MatrixPeak matrix_peak() const override;
    double memory_bandwidth() const override { return config.hbm.bandwidth; }
    MemoryRoom memory_room() const override;
    DieArea area() const override;
    std::optional<double> power_limit() const override { return config.power.limit; }
    std::optional<double> energy_of(const RunResult& result) const override;

    bool can_sample() const override { return true; }
    bool has_closed_form() const override { return true; }
    void refuse_options(const SimulateOptions&) const override {}
    std::optional<HostCosts> host_costs() const override;
    SharedDevice shared_device() const override;

    std::unique_ptr<PlannedStep> plan(const trace::Trace& trace, const SimulateOptions& options,
                                      RunResult& result) const override;
    NumericsResult train(const trace::Trace& given, const trace::Trace& trace, const SimulateOptions& options,
                         const std::vector<OpOutcome>& outcomes, const RunResult& result) const override;
    std::unique_ptr<TrainingDevice> training_device(const trace::Trace& trace) const override;

    models::gpu::GpuConfig config;
    StepConfig step;  ///< the host's costs, and the size of the memory
};

/// Returns the kind that hardware files name as `kind: gpu`.
MachineKind gpu_kind();

/// Returns the device's machine, or nullptr where the device is not a GPU.
const GpuMachine* gpu_machine(const Hardware& hardware);
/// Returns the configuration of a GPU. Where the device is not a GPU, throws heddle::Error about `option`
/// ("`tpu-v4` is a TPU") with `remedy`.
const models::gpu::GpuConfig& gpu_config(const Hardware& hardware, const std::string& remedy = "choose a GPU",
                                         const std::string& option = "--hardware");

}  // namespace heddle::sim
