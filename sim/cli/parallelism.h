// The search for the best way to distribute a model over devices: `heddle explore MODEL --parallelism` and
// `heddle parallelism MODEL`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/distributed/distributed_step.h"

namespace heddle::cli {

/// What the user asks for.
struct ParallelismOptions {
    std::string model, cluster;
    sim::ModelOptions model_options;
    std::string hardware;                 ///< replaces the cluster's devices
    std::vector<std::string> overrides;   ///< settings of the device: "hbm.size=40GiB"
    std::vector<std::uint32_t> nodes{1};  ///< sizes of the cluster; each is searched
    std::int64_t batch = 0;               ///< sequences of a step over all devices
    double tokens = 0, steps = 0;  ///< length of a whole training, at most one of the two; 0: not given
    double memory_limit = 0;              ///< bytes of a device that a plan may use; 0: the device's memory
    bool by_price = false;                ///< sort by the price of the training instead of the time of a step
    std::size_t top = 10;
    bool json = false;
};

/// Adds --cluster, --nodes, --tokens and --top, which both commands take.
void add_parallelism_options(CLI::App& command, ParallelismOptions& options);

/// Searches and prints the plans that fit the devices' memory, sorted by the time of a step, with the days
/// and the price of a training. Throws heddle::Error when no plan fits.
void search_parallelism(const ParallelismOptions& options);

/// Adds `heddle parallelism`.
void add_parallelism_command(CLI::App& app);

}  // namespace heddle::cli
