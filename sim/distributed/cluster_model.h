// Which devices, joined how, with which software: what a step of many devices is simulated on.
#pragma once

#include <memory>
#include <string>

#include "sim/distributed/network_model.h"

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
};

struct ClusterModel {
    std::string name;         ///< "dgx-a100"
    std::string hardware;     ///< name or file of the device
    std::string description;  ///< for people
    std::uint32_t nodes = 1, devices_per_node = 8;
    HostConfig host;
    double price_per_hour = 0;  ///< of one device; 0: not known
    std::shared_ptr<const DeviceNetwork> network;

    std::uint32_t devices() const { return nodes * devices_per_node; }
};

/// A cluster by name with a number of nodes; 0: as many as `devices` need.
ClusterModel cluster_for(const std::string& name, std::uint32_t nodes, std::uint32_t devices = 0);

}  // namespace heddle::sim
