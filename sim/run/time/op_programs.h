// What machines have in common on which each op of a step is one program, TPUs and CPUs: which ops have the same program, and what an
// op's row says.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "models/common/parameter.h"
#include "sim/run/assemble/result.h"
#include "sim/run/time/launch_outcome.h"
#include "workloads/trace/trace.h"

namespace heddle::sim {

/// All parameters with their values, a line for each: what results depend on of a device.
std::string text_of(const models::ParameterList& parameters);

/// Everything that the program of an op depends on: what it computes on which shapes, and which operands share memory; not in which
/// module of the model it stands, nor how often it runs. `storage` returns the memory in which a tensor lies, `mark` what else is to be
/// told of it; "" for nothing.
std::string op_key(const trace::Trace& trace, const trace::Op& op,
                   const std::function<std::uint64_t(trace::TensorId)>& storage,
                   const std::function<std::string_view(std::uint64_t storage)>& mark);

/// The row of an op whose program was simulated.
KernelResult row_of(const trace::Op& op, const LaunchOutcome& outcome);

/// How long an op takes that has no program, by its bytes and operations.
struct OpEstimate {
    double memory_seconds = 0, compute_seconds = 0;  ///< the longer of both counts
    double latency_seconds = 0;                      ///< in addition
    const char *memory = "", *compute = "";          ///< what an op is bound by then
};
/// The row of such an op; `reason` says why it has no program. Of an op without tensors only the recorded time is known, if there is one.
KernelResult estimated_row(const trace::Op& op, const std::string& reason, const OpEstimate& estimate);

}  // namespace heddle::sim
