#include "sim/run/op_outcome.h"

#include <algorithm>

namespace heddle::sim {

OpOutcome communication_outcome(const trace::Op& op, RunResult& result) {
    KernelResult kernel;
    kernel.name = "collective";
    kernel.fidelity = op.measured_us ? Fidelity::estimated : Fidelity::unknown;
    kernel.bound_by = op.measured_us ? "recorded time" : "network";
    kernel.time_us = op.measured_us.value_or(0);
    const std::string note =
        op.measured_us
            ? "collectives take their recorded time: the network is not simulated on a single device"
            : "collectives without a recorded time count as unknown and take no time";
    if (std::find(result.notes.begin(), result.notes.end(), note) == result.notes.end())
        result.notes.push_back(note);
    OpOutcome outcome;
    outcome.communication = true;
    outcome.kernels.push_back(std::move(kernel));
    return outcome;
}

}  // namespace heddle::sim
