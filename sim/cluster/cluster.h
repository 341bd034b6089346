// A cluster that exists only as a YAML file: nodes, devices in them, what connects them, and what it costs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/network/network_config.h"
#include "sim/cluster/collective_config.h"
#include "sim/machine/hardware.h"

namespace heddle::sim {

/// Devices are numbered node by node: device d is number d % devices_per_node of node d / devices_per_node.
/// In a torus, device d stands at x = d % torus.x, and so on. Parameter servers, hosts without devices,
/// follow as the numbers device_count() and up.
struct Cluster {
    std::string name;         ///< "dgx-h100", or the file's name without its ending
    std::string description;  ///< one line for people
    std::string device;       ///< hardware name for load_hardware(): "h100-sxm"
    std::uint32_t nodes = 1, devices_per_node = 1;
    std::uint32_t servers = 0;     ///< parameter servers: hosts with network cards only
    double price_device_hour = 0;  ///< US dollars
    models::network::NetworkConfig network;
    CollectiveConfig collective;
    std::map<std::string, ValueOrigin> origins;  ///< by parameter path
    std::vector<std::string> files;              ///< the file, then what it extends

    std::uint32_t device_count() const { return nodes * devices_per_node; }
    std::uint32_t endpoint_count() const { return device_count() + servers; }
};

/// Reads a cluster by name ("dgx-h100", looked for in cluster_directories()) or file. `overrides` are
/// "nodes=128". Throws heddle::Error for bad YAML, unknown keys, values out of range (file, line, nearest
/// key) and impossible clusters.
Cluster load_cluster(const std::string& name_or_file, const std::vector<std::string>& overrides = {});

/// Every parameter, in order, with its source.
std::vector<ParameterDescription> describe_parameters(const Cluster& cluster);

/// Where cluster files are looked for: HEDDLE_CLUSTER_PATH (parts separated by `:`), `sim/clusters` of the
/// source tree, `share/heddle/clusters` beside the executable.
std::vector<std::string> cluster_directories();
/// Names of all clusters found there, sorted, each once.
std::vector<std::string> cluster_names();
/// The file of a name or path. Throws heddle::Error with the nearest name.
std::string find_cluster_file(const std::string& name_or_file);

}  // namespace heddle::sim
