// A cluster that exists only as a YAML file: nodes, the devices in them, their network, and the price.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/network/network_config.h"
#include "sim/cluster/collective_config.h"
#include "sim/machine/hardware.h"

namespace heddle::sim {

/// A cluster. Devices are numbered node by node: device d is device d % devices_per_node of node d /
/// devices_per_node. In a torus, device d has the coordinates x = d % torus.x, and so on. Parameter servers,
/// which are hosts without devices, have the numbers from device_count() on.
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

/// Reads a cluster by name ("dgx-h100", looked up in cluster_directories()) or from a file. `overrides` are
/// assignments such as "nodes=128". Throws heddle::Error for bad YAML, unknown keys, values out of range
/// (with file, line and nearest key) and impossible clusters.
Cluster load_cluster(const std::string& name_or_file, const std::vector<std::string>& overrides = {});

/// Describes every parameter in order, with its source.
std::vector<ParameterDescription> describe_parameters(const Cluster& cluster);

/// Returns the folders in which cluster files are looked up: HEDDLE_CLUSTER_PATH (parts separated by `:`),
/// `sim/clusters` of the source tree, and `share/heddle/clusters` beside the executable.
std::vector<std::string> cluster_directories();
/// Returns the names of all clusters in these folders, sorted and without duplicates.
std::vector<std::string> cluster_names();
/// Returns the file of a name or path. Throws heddle::Error with the nearest name.
std::string find_cluster_file(const std::string& name_or_file);

}  // namespace heddle::sim
