// A network in closed form: what the simulated one must agree with where nothing is shared.
#pragma once

#include "sim/distributed/device_network.h"

namespace heddle::sim {

/// One way from any device to any other: every message takes `latency` and its bytes over `bandwidth`, and
/// messages do not disturb one another. Closed forms of the ring algorithms.
class IdealNetwork : public DeviceNetwork {
  public:
    /// Seconds; bytes per second, each way, 0: messages take their latency alone.
    IdealNetwork(double latency, double bandwidth) : latency_(latency), bandwidth_(bandwidth) {}

    double seconds(Exchange kind, double bytes, const DeviceGroup& group) const override {
        const auto n = static_cast<double>(group.devices.size());
        if (n < 2) return 0;
        // A central server receives from all, one after the other through its one link, and answers so.
        const double sent = kind == Exchange::push ? 2 * n * bytes : bytes_sent(kind, bytes, n);
        const double steps = kind == Exchange::all_reduce                        ? 2 * (n - 1)
                             : kind == Exchange::send || kind == Exchange::shift ? 1
                             : kind == Exchange::push                            ? 2
                                                                                 : n - 1;
        return steps * latency_ + (bandwidth_ > 0 ? sent / bandwidth_ : 0);
    }
    std::uint64_t shape_of(const DeviceGroup& group) const override { return group.devices.size(); }
    std::uint32_t place_of(std::uint32_t device) const override { return device; }

  private:
    double latency_, bandwidth_;
};

}  // namespace heddle::sim
