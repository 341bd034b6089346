// What a kind of device must be able to say and do, so that every command can work with it: one class for each kind (sim/gpu,
// sim/tpu, or somebody else's), which kinds.h finds by the `kind:` of a hardware file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/common/parameter.h"
#include "sim/config/die_config.h"
#include "sim/machine/peak.h"

namespace heddle::trace {
struct Trace;
}

namespace heddle::sim {

struct DieArea;
struct NumericsResult;
struct OpOutcome;
struct RunResult;
struct SimulateOptions;
class PlannedStep;
class TrainingDevice;

/// Which ops become one before anything is simulated (workloads/fusion).
enum class Fusion : std::uint8_t {
    usual,    ///< Machine::usual_fusion(): none on a GPU, xla on a TPU
    none,     ///< a kernel or program for each op
    compile,  ///< as torch.compile
    xla,      ///< as XLA for a TPU
};

/// Why a machine cannot exist.
struct MachineProblem {
    std::string sentence, key, remedy;  ///< `key`: the parameter to blame; "": those that the sentence names
};

/// How much of a device's memory a step may use.
struct MemoryRoom {
    double capacity = 0;              ///< bytes
    double context = 0;               ///< bytes that a process takes before it has a tensor
    double fragmentation = 0;         ///< allowance, as a part of what is used
    std::uint64_t granularity = 512;  ///< of allocations, bytes
    /// A framework allocates every tensor by itself. If not, the compiler lays out the whole step ahead, and the tensors of one part of a
    /// distributed plan do not say what it needs.
    bool by_tensor = true;
};

/// What the host of a device takes to hand out a step op by op, in seconds.
struct HostCosts {
    double dispatch = 0;      ///< of the framework, for each op
    double launch = 0;        ///< of a call that launches a kernel
    double graph_launch = 0;  ///< of the call that launches everything
};

/// What decides about work that shares a device.
struct SharedDevice {
    double launch_latency_us = 0;  ///< from the host's call to the earliest start
    double peer_flush_us = 0;      ///< StepConfig::peer_flush
    double host_flush_us = 0;      ///< StepConfig::host_flush
    std::uint32_t sms = 0;         ///< 0: what collectives hold of them is left out
};

class Machine {
  public:
    virtual ~Machine() = default;
    virtual std::unique_ptr<Machine> clone() const = 0;

    /// For sentences: "GPU".
    virtual std::string noun() const = 0;
    /// Lists every parameter by reference, ready to be read and set; this must outlive the list.
    virtual void describe(models::ParameterList& list) = 0;
    /// The first reason why this machine cannot exist.
    virtual std::optional<MachineProblem> problem() const = 0;
    /// Parameters that name a library with code of its own, and the library's path where one is named.
    virtual std::vector<std::pair<std::string, std::string>> libraries() const { return {}; }

    virtual MatrixPeak matrix_peak() const = 0;
    virtual double memory_bandwidth() const = 0;  ///< bytes per second, the peak
    virtual MemoryRoom memory_room() const = 0;
    /// Of the die as it is built, more than the hardware file's counts where a part of it is switched off.
    virtual DieArea area() const = 0;
    /// Watts that the board may draw; nothing where power is not modelled.
    virtual std::optional<double> power_limit() const { return std::nullopt; }
    /// Joules of a whole step, those between its kernels included; nothing where power is not modelled.
    virtual std::optional<double> energy_of(const RunResult&) const { return std::nullopt; }

    virtual Fusion usual_fusion() const { return Fusion::none; }
    /// Work that repeats in a kernel can be left out (SimulateOptions::sample).
    virtual bool can_sample() const { return false; }
    /// sim/distributed/op_times.h has a closed form of its ops.
    virtual bool has_closed_form() const { return false; }
    /// Throws heddle::Error for an option that this kind of device does not have.
    virtual void refuse_options(const SimulateOptions& options) const = 0;
    /// Nothing where the host starts one program for a whole step.
    virtual std::optional<HostCosts> host_costs() const { return std::nullopt; }
    virtual SharedDevice shared_device() const = 0;

    /// The first stage of a run: what the device executes for the trace (sim/run/planned_step.h). Calls check_memory() as soon as it
    /// is known what the step needs. `trace`, `options` and this must outlive the plan. Throws heddle::Error for a trace that this
    /// device cannot run.
    virtual std::unique_ptr<PlannedStep> plan(const trace::Trace& trace, const SimulateOptions& options,
                                              RunResult& result) const = 0;
    /// Trains with real values beside a double-precision reference, in a process of its own. `given` is the step before fusion,
    /// `trace` and `outcomes` are those of the run, `result` is what it found.
    virtual NumericsResult train(const trace::Trace& given, const trace::Trace& trace, const SimulateOptions& options,
                                 const std::vector<OpOutcome>& outcomes, const RunResult& result) const = 0;
    /// A device that computes the step with real values, in this process (at most one for each).
    virtual std::unique_ptr<TrainingDevice> training_device(const trace::Trace& trace) const = 0;

    DieConfig die;  ///< area and price
};

}  // namespace heddle::sim
