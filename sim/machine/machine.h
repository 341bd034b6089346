// What a kind of device must provide so that every command can work with it. There is one class for each kind
// (sim/gpu, sim/tpu, or a user's own), which kinds.h finds by the key `kind:` of a hardware file.
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

/// The reason why a machine with these parameters cannot exist.
struct MachineProblem {
    /// `key`: the parameter that is wrong; empty: the sentence names them.
    std::string sentence, key, remedy;
};

/// How much of a device's memory a step may use.
struct MemoryRoom {
    double capacity = 0;  ///< bytes
    double context = 0;   ///< bytes that a process takes before it has a tensor
    /// Allowance for memory that an allocator cannot use, as a fraction of what is used.
    double fragmentation = 0;
    std::uint64_t granularity = 512;  ///< bytes; each allocation is rounded up to a multiple of it
    /// True where a framework allocates each tensor on its own. False where a compiler lays out the whole
    /// step ahead of time; then the tensors of one part of a distributed plan do not determine how much
    /// memory it needs.
    bool by_tensor = true;
};

/// Time that a device's host needs to launch a step op by op, in seconds.
struct HostCosts {
    double dispatch = 0;      ///< the framework's work for each op
    double launch = 0;        ///< one driver call that launches a kernel
    double graph_launch = 0;  ///< the one call that launches a whole CUDA graph
};

/// Parameters of a device that determine how kernels, copies and collectives delay one another.
struct SharedDevice {
    double launch_latency_us = 0;  ///< from the host's call to the earliest start
    double peer_flush_us = 0;      ///< StepConfig::peer_flush
    double host_flush_us = 0;      ///< StepConfig::host_flush
    std::uint32_t sms = 0;         ///< 0: the SMs that collectives occupy are not modelled
};

/// One device of one kind. The commands and the stages of a run know devices through this interface alone.
class Machine {
  public:
    virtual ~Machine() = default;
    /// Returns an independent copy with the same parameter values.
    virtual std::unique_ptr<Machine> clone() const = 0;

    /// The kind's name as messages to users write it: "GPU".
    virtual std::string noun() const = 0;
    /// Adds every parameter to `list` by reference, ready to be read and set. This object must outlive the
    /// list.
    virtual void describe(models::ParameterList& list) = 0;
    /// Returns the first reason why this machine cannot exist; nothing where its parameters agree with one
    /// another.
    virtual std::optional<MachineProblem> problem() const = 0;
    /// Returns the parameters whose value names a shared library of the user's own, each with the path of
    /// that library (empty where none is named).
    virtual std::vector<std::pair<std::string, std::string>> libraries() const { return {}; }

    /// The peak rate of the matrix units, against which utilisation is reported.
    virtual MatrixPeak matrix_peak() const = 0;
    virtual double memory_bandwidth() const = 0;  ///< bytes per second, the peak
    /// How much memory the device has for a step, and what is taken from it besides tensors.
    virtual MemoryRoom memory_room() const = 0;
    /// The area of the die as it is manufactured. It is larger than the counts in the hardware file suggest
    /// where units are built and switched off.
    virtual DieArea area() const = 0;
    /// The power limit of the board in watts; nothing where power is not modelled.
    virtual std::optional<double> power_limit() const { return std::nullopt; }
    /// The energy of a whole step in joules, including the time between its kernels, in which the device
    /// draws idle power. Nothing where power is not modelled.
    virtual std::optional<double> energy_of(const RunResult&) const { return std::nullopt; }

    /// The fusion that Fusion::usual stands for: what the device's own compiler or framework does by default.
    virtual Fusion usual_fusion() const { return Fusion::none; }
    /// Whether work that repeats within a kernel can be extrapolated instead of simulated
    /// (SimulateOptions::sample).
    virtual bool can_sample() const { return false; }
    /// Whether sim/distributed/op_times.h can estimate the times of this kind's ops with formulas.
    virtual bool has_closed_form() const { return false; }
    /// Throws heddle::Error for an option that has no meaning on this kind of device.
    virtual void refuse_options(const SimulateOptions& options) const = 0;
    /// The host's launch costs; nothing where the host starts one program for a whole step.
    virtual std::optional<HostCosts> host_costs() const { return std::nullopt; }
    /// The parameters with which schedule_step() places work that runs concurrently.
    virtual SharedDevice shared_device() const = 0;

    /// The first stage of a run: lowers the trace to what the device executes (sim/run/planned_step.h). Calls
    /// check_memory() as soon as the step's memory demand is known. `trace`, `options` and this object must
    /// outlive the plan. Throws heddle::Error for a trace that this device cannot run.
    virtual std::unique_ptr<PlannedStep> plan(const trace::Trace& trace, const SimulateOptions& options,
                                              RunResult& result) const = 0;
    /// Trains with real values and compares each step with a double-precision reference, in a child process.
    /// `given` is the step before fusion; `trace` and `outcomes` are those of the timing run, and `result` is
    /// its result.
    virtual NumericsResult train(const trace::Trace& given, const trace::Trace& trace, const SimulateOptions& options,
                                 const std::vector<OpOutcome>& outcomes, const RunResult& result) const = 0;
    /// Returns a device that computes the step with real values in this process. A process can have only one,
    /// because SystemC elaborates once. `trace` must outlive it.
    virtual std::unique_ptr<TrainingDevice> training_device(const trace::Trace& trace) const = 0;

    DieConfig die;  ///< area and price
};

}  // namespace heddle::sim
