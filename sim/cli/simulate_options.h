// The options of `heddle simulate`.
#pragma once

#include <string>
#include <vector>

#include "sim/cli/plan_options.h"
#include "sim/config/hardware_file.h"
#include "sim/run/simulate.h"

namespace heddle::cli {

/// Options as they are on the command line; texts are parsed when the workload is known.
struct SimulateCommandOptions {
    std::string workload, hardware;
    std::string batch, sequence, widths;
    std::vector<std::string> model_options, overrides;
    std::string out;
    sim::SimulateOptions simulate;
    std::string unknown_as;
    bool json = false, no_out = false;
    PlanOptions plan;
    sim::Programs programs = sim::Programs::refused;
};

/// Plays a recording of a CUDA program (.hrun). heddle-run sets it; it is null in the other programs, which
/// hand the command over.
using RecordingPlayer = void (*)(const SimulateCommandOptions&);
RecordingPlayer& recording_player();

/// Throws heddle::Error when an option is given that only training steps have; `instead` says what the
/// workload is.
void refuse_options_of_steps(const SimulateCommandOptions& options, const std::string& instead);

}  // namespace heddle::cli
