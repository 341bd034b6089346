// Workloads of `heddle simulate` that need more than a model and a device: recordings of other tools, and
// clusters. The program that a user builds first does not contain the code that reads them: there
// (first_doors.cpp) each of these functions passes the command on to heddle-steps, where it is carried out
// (doors.cpp). See docs/building.md.
#pragma once

#include <string>

#include "sim/cli/simulate_options.h"
#include "workloads/trace/recorded_device.h"
#include "workloads/trace/trace.h"

namespace heddle::cli {

/// Whether the workload is recorded machine code: kernelslist.g, .traceg or .tracez.
bool names_recorded_kernels(const std::string& workload);
/// Runs recorded machine code and prints the result. Such workloads have no model and no values. Throws
/// heddle::Error.
void simulate_recorded_kernels(const SimulateCommandOptions& options);

/// Reads a training step in any form (workloads/importers). `device` receives the device on which it was
/// recorded, where the file says so. Throws heddle::Error.
trace::Trace open_recorded_step(const std::string& path, trace::RecordedDevice& device);

/// Simulates a step on many devices (`--cluster`) and prints the result; it writes no folder of results.
/// Throws heddle::Error and TooLarge.
void simulate_spread(const SimulateCommandOptions& options);

}  // namespace heddle::cli
