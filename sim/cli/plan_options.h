// Options of commands that distribute a training step over devices.
#pragma once

#include <memory>
#include <string>

#include "sim/config/hardware_file.h"
#include "workloads/parallel/plan.h"

namespace CLI {
class App;
}

namespace heddle::cli {

/// What `heddle simulate --cluster` takes in addition to the model. It must live until the command line is
/// parsed.
struct PlanOptions {
    std::string cluster, schedule, data_parallel, recompute, context_exchange, kernels;
    std::uint32_t nodes = 0;
    std::vector<std::string> cluster_settings;  ///< "nic.bandwidth=50 GB/s"
    std::vector<std::string> device_settings;   ///< "clock=1500 MHz"
    sim::Programs programs = sim::Programs::refused;
    bool no_overlap = false, no_fold = false;
    parallel::ParallelPlan plan;
};

/// Adds these options to a command.
void add_plan_options(CLI::App& command, PlanOptions& options);

}  // namespace heddle::cli
