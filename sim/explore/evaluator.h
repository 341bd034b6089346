// From a design to its statistics. Evaluations run in separate processes, so tasks and answers are exchanged
// as text.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/machine/hardware.h"
#include "sim/explore/exploration.h"
#include "sim/run/assemble/result.h"
#include "sim/run/simulate.h"
#include "workloads/trace/trace.h"

namespace heddle::explore {

/// A design to evaluate.
struct Task {
    std::vector<std::string> settings;
    Fidelity fidelity = Fidelity::sampled;
    unsigned jobs = 1;  ///< number of cores to use; the answer does not depend on it

    std::string to_text() const;
    static Task from_text(const std::string& text);
};

/// The result of a task.
struct Answer {
    std::string error;  ///< if not empty, the other members are not valid
    std::vector<WorkloadResult> workloads;

    std::string to_text() const;
    static Answer from_text(const std::string& text);
};

/// Evaluates designs. An exception of any type means that the design failed.
class Evaluator {
  public:
    virtual ~Evaluator() = default;
    virtual Answer evaluate(const Task& task) = 0;
};

/// Evaluates a task and returns the answer as text. Exceptions become Answer::error, so this function does
/// not throw.
std::string answer_text(Evaluator& evaluator, const std::string& task);

/// A step to simulate on every design.
struct ExploredWorkload {
    std::string name;  ///< as the user wrote it
    double weight = 1;
    trace::Trace trace;
    /// In place of the trace: what the workload does on a device, such as a recording of a program. It runs in a process of its own.
    std::function<sim::RunResult(const sim::Hardware&)> play = {};
};

/// Options that hold for every simulation of an exploration.
struct SimulationOptions {
    sim::Fusion fusion = sim::Fusion::usual;
    bool graph = false, cache = true;
};

/// Returns an evaluator that simulates every workload on the design's device. `hardware` is a name or file
/// and `overrides` are the settings of the base device. The evaluator keeps the arguments that are passed to
/// it.
std::unique_ptr<Evaluator> make_simulator(const std::string& hardware, std::vector<std::string> overrides,
                                          std::vector<ExploredWorkload> workloads,
                                          const SimulationOptions& options);

/// Returns the statistics of a run that an exploration keeps (WorkloadResult::statistics).
std::map<std::string, double> statistics_of(const sim::RunResult& result, const sim::Hardware& hardware);

}  // namespace heddle::explore
