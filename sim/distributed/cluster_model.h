// The cluster on which a step of many devices is simulated: its devices, their network and the framework's
// costs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/distributed/device_network.h"

namespace heddle::sim {

/// The host's part of a step.
struct HostConfig {
    /// Seconds that the host works for one op, including its launches. In forward passes the model's own code
    /// runs as well; in backward passes only the framework's. A pass takes the longer of the host's and the
    /// device's time. Negative: the value of the device's hardware file (host.dispatch, host.launch).
    double forward_op = -1, backward_op = -1;
    double collective =
        0;  ///< seconds that the device is idle before a collective of a layer, beyond the network's
    /// The host's bytes per second for each device, for updates that are done there.
    double memory_bandwidth = 100e9;
    double link = 25e9;  ///< bytes per second between a device and its host, all devices at once
};

/// A cluster as a step of many devices sees it.
struct ClusterModel {
    std::string name;         ///< "dgx-a100"
    std::string hardware;     ///< name of the device, or its file
    std::string description;  ///< for people
    std::uint32_t nodes = 1, devices_per_node = 8;
    HostConfig host;
    double price_per_hour = 0;  ///< US dollars for one device; 0: not known
    std::shared_ptr<const DeviceNetwork> network;

    std::uint32_t devices() const { return nodes * devices_per_node; }
};

/// Which cluster is needed, and how large it must be.
struct ClusterQuestion {
    std::string name;                    ///< name of the cluster, or its file
    std::uint32_t nodes = 0;             ///< 0: as many as `devices` need; for a torus, as the file says
    std::uint32_t devices = 0;           ///< number of devices that a plan needs
    std::uint32_t servers = 0;           ///< least number of parameter servers
    std::vector<std::string> overrides;  ///< "nic.bandwidth=50 GB/s", as for `heddle collective --set`
};

/// Loads a cluster of the size that is needed. Throws heddle::Error as load_cluster() does.
ClusterModel cluster_for(const ClusterQuestion& question);
/// Loads a cluster by name with a number of nodes; 0: as many as `devices` need.
ClusterModel cluster_for(const std::string& name, std::uint32_t nodes, std::uint32_t devices = 0);

}  // namespace heddle::sim
