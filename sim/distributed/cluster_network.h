// The network of a cluster for steps of many devices: collectives follow their schedules over links that
// groups share (docs/network.md).
#pragma once

#include <memory>

#include "sim/cluster/cluster.h"
#include "sim/distributed/device_network.h"

namespace heddle::sim {

/// Answers by simulating the cluster's network. Results are kept by shape. The object must not be used by
/// several threads at the same time.
class ClusterNetwork : public DeviceNetwork {
  public:
    /// With `keep`, each shape is simulated once; otherwise every group is simulated, which verifies that
    /// equal shapes have equal times.
    explicit ClusterNetwork(const Cluster& cluster, bool keep = true);
    ~ClusterNetwork() override;

    /// Throws heddle::Error for devices that the cluster does not have, and for `push` without servers.
    double seconds(Exchange kind, double bytes, const DeviceGroup& group) const override;
    std::uint64_t shape_of(const DeviceGroup& group) const override;
    std::uint32_t place_of(std::uint32_t device) const override;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace heddle::sim
