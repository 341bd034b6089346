// Work for a simulated TPU on worker processes: SystemC allows one device in a process.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "models/tpu/tpu.h"
#include "validation/compare/result.h"

namespace heddle::validation {

/// Numbers that come of a job, by its number.
using TpuWork = std::function<std::vector<double>(models::Tpu&, std::size_t)>;

/// Of all jobs, in their order, whatever the number of workers (options.workers; 0: one for each core).
std::vector<std::vector<double>> run_on_tpu(const models::TpuConfig& config, std::size_t jobs,
                                            const CompareOptions& options, const TpuWork& work);

}  // namespace heddle::validation
