// What carries bytes over links. Two kinds: FlowNetwork and ChunkNetwork.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "models/common/cycle.h"
#include "models/network/topology.h"

namespace heddle::models::network {

inline constexpr double kPicosecond = 1e-12;

/// The nearest whole number of picoseconds, which are the cycles of this folder.
inline Cycle picoseconds(double seconds) {
    return static_cast<Cycle>(std::round(seconds / kPicosecond));
}

/// Takes messages and tells when their last byte has been sent. The caller advances it from event to event.
class Transport {
  public:
    virtual ~Transport() = default;
    /// Starts to send at `now`. `rate`: bytes per second at most. `token` is given back when the last byte
    /// has been sent. `links` must live until then.
    virtual void start(std::uint32_t token, const std::vector<LinkId>& links, double bytes, double rate,
                       Cycle now) = 0;
};

}  // namespace heddle::models::network
