// The network of a cluster file for steps of many devices: collectives by their schedules, over links that
// groups share (docs/network.md).
#pragma once

#include <memory>

#include "sim/cluster/cluster.h"
#include "sim/distributed/device_network.h"

namespace heddle::sim {

/// Answers are kept by shape. Not for several threads at once.
class ClusterNetwork : public DeviceNetwork {
  public:
    /// `keep`: answers of one shape are simulated once; false simulates each group for itself, to check that
    /// shapes tell everything.
    explicit ClusterNetwork(const Cluster& cluster, bool keep = true);
    ~ClusterNetwork() override;

    /// Throws heddle::Error for devices that the cluster does not have, and for push without servers.
    double seconds(Exchange kind, double bytes, const DeviceGroup& group) const override;
    std::uint64_t shape_of(const DeviceGroup& group) const override;
    std::uint32_t place_of(std::uint32_t device) const override;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace heddle::sim
