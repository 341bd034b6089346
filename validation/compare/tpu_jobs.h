// Work for a simulated TPU on worker processes: SystemC allows one device in a process.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "models/tpu/tpu.h"
#include "validation/compare/result.h"
#include "workloads/lowering/tpu/tpu_lowering.h"
#include "workloads/trace/trace.h"

namespace heddle::validation {

/// Numbers that come of a job, by its number.
using TpuWork = std::function<std::vector<double>(models::Tpu&, std::size_t)>;

/// Of all jobs, in their order, whatever the number of workers (options.workers; 0: one for each core).
std::vector<std::vector<double>> run_on_tpu(const models::TpuConfig& config, std::size_t jobs,
                                            const CompareOptions& options, const TpuWork& work);

/// The trace's only op, as the compiler has it, by itself; storages in `on_chip` lie in CMEM. Throws
/// heddle::Error when no program carries the op out.
models::TpuResult run_op(models::Tpu& tpu, const trace::Trace& trace,
                         const lowering::TpuLoweringOptions& options,
                         const std::set<std::uint64_t>& on_chip = {});

}  // namespace heddle::validation
