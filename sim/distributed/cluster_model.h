// Which devices, joined how, with which software: what a step of many devices is simulated on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sim/cluster/cluster.h"
#include "sim/distributed/device_network.h"

namespace heddle::sim {

/// The framework's side of a step.
struct HostConfig {
    /// Seconds that the host works for an op, launches included: in forward passes the model's own code runs
    /// as well, in backward passes the framework's alone. A pass of a part takes the longer of the host's and
    /// the device's time. Negative: as the device's hardware file says (host.dispatch, host.launch).
    double forward_op = -1, backward_op = -1;
    double collective =
        0;  ///< seconds that the device is idle before a collective of a layer, beyond the network's
    double memory_bandwidth = 100e9;  ///< of the host, for updates done there, bytes per second and device
    double link = 25e9;               ///< bytes per second between a device and its host, all devices at once
};

struct ClusterModel {
    std::string name;         ///< "dgx-a100"
    std::string hardware;     ///< name or file of the device
    std::string description;  ///< for people
    std::uint32_t nodes = 1, devices_per_node = 8;
    HostConfig host;
    double price_per_hour = 0;  ///< of one device, US dollars; 0: not known
    std::shared_ptr<const DeviceNetwork> network;

    std::uint32_t devices() const { return nodes * devices_per_node; }
};

/// What is asked of a cluster file.
struct ClusterQuestion {
    std::string name;                    ///< or file
    std::uint32_t nodes = 0;             ///< 0: as many as `devices` need; of a torus, as the file says
    std::uint32_t devices = 0;           ///< that a plan needs
    std::uint32_t servers = 0;           ///< parameter servers at least
    std::vector<std::string> overrides;  ///< "nic.bandwidth=50 GB/s", as `--set` of `heddle collective`
};
/// Throws heddle::Error for what load_cluster() refuses.
ClusterModel cluster_for(const ClusterQuestion& question);
/// A cluster by name with a number of nodes; 0: as many as `devices` need.
ClusterModel cluster_for(const std::string& name, std::uint32_t nodes, std::uint32_t devices = 0);

}  // namespace heddle::sim
