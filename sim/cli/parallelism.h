// The best way to spread a model over devices: `heddle explore MODEL --parallelism`, `heddle parallelism
// MODEL`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/distributed/distributed_step.h"

namespace heddle::cli {

struct ParallelismOptions {
    std::string model, cluster;
    sim::ModelOptions model_options;
    std::string hardware;                 ///< in place of the cluster's devices
    std::vector<std::string> overrides;   ///< of the device: "hbm.size=40GiB"
    std::vector<std::uint32_t> nodes{1};  ///< each of these sizes of the cluster is searched
    std::int64_t batch = 0;               ///< sequences of a step, all devices
    double tokens = 0, steps = 0;         ///< of a whole training, one of the two; 0: not asked for
    double memory_limit = 0;              ///< bytes of a device that a plan may use; 0: what the device has
    bool by_price = false;                ///< the cheapest training first, else the quickest step
    std::size_t top = 10;
    bool json = false;
};

/// --cluster, --nodes, --tokens, --top: what both commands take.
void add_parallelism_options(CLI::App& command, ParallelismOptions& options);

/// Searches and prints: plans that fit the devices' memory, by time of a step, with days and price of a
/// training. Throws heddle::Error when no plan fits.
void search_parallelism(const ParallelismOptions& options);

/// heddle parallelism
void add_parallelism_command(CLI::App& app);

}  // namespace heddle::cli
