// From a design to figures. Evaluations run in processes of their own, so questions and answers are texts.
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
    unsigned jobs = 1;  ///< cores for it; the answer is the same

    std::string to_text() const;
    static Task from_text(const std::string& text);
};

/// What came of it.
struct Answer {
    std::string error;  ///< not empty: nothing else holds
    std::vector<WorkloadResult> workloads;

    std::string to_text() const;
    static Answer from_text(const std::string& text);
};

/// Throws anything for a design that fails.
class Evaluator {
  public:
    virtual ~Evaluator() = default;
    virtual Answer evaluate(const Task& task) = 0;
};

/// Never throws: what is thrown becomes Answer::error.
std::string answer_text(Evaluator& evaluator, const std::string& task);

/// A step to simulate on every design.
struct ExploredWorkload {
    std::string name;  ///< as asked for
    double weight = 1;
    trace::Trace trace;
    /// In place of the trace: what the workload does on a device, such as a recording of a program. It runs in a process of its own.
    std::function<sim::RunResult(const sim::Hardware&)> play = {};
};

struct SimulationOptions {
    sim::Fusion fusion = sim::Fusion::usual;
    bool graph = false, cache = true;
};

/// Simulates every workload on the design's device, one core each. Copies nothing of what is handed in but
/// holds it.
std::unique_ptr<Evaluator> make_simulator(const std::string& hardware, std::vector<std::string> overrides,
                                          std::vector<ExploredWorkload> workloads,
                                          const SimulationOptions& options);

/// The figures of a run that an exploration keeps.
std::map<std::string, double> statistics_of(const sim::RunResult& result, const sim::Hardware& hardware);

}  // namespace heddle::explore
