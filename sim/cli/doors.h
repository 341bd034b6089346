// Workloads of `heddle simulate` that need more than a model and a device: recordings of others, and clusters. The program that a user
// builds first does without what reads them: there (first_doors.cpp) each of these functions hands the command over to
// heddle-steps, where they are carried out (doors.cpp). docs/building.md.
#pragma once

#include <string>

#include "sim/cli/simulate_options.h"
#include "workloads/trace/recorded_device.h"
#include "workloads/trace/trace.h"

namespace heddle::cli {

/// Whether the workload is recorded machine code: kernelslist.g, .traceg, .tracez.
bool names_recorded_kernels(const std::string& workload);
/// Runs it and prints; there is no model and there are no values. Throws heddle::Error.
void simulate_recorded_kernels(const SimulateCommandOptions& options);

/// Reads a training step of any form (workloads/importers). Throws heddle::Error.
trace::Trace open_recorded_step(const std::string& path, trace::RecordedDevice& device);

/// `--cluster`: a step on many devices; prints, and writes no folder of results. Throws heddle::Error and TooLarge.
void simulate_spread(const SimulateCommandOptions& options);

}  // namespace heddle::cli
