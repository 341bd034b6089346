// For how many cycles an SM may run without hearing of others: the lookahead of conservative parallel
// simulation, used for the caches of the host. An SM that runs 16 cycles at once is fetched once for all that
// happens to it in them.
#pragma once

#include <cstdint>

#include "models/common/cycle.h"

namespace heddle::models::gpu {

struct GpuConfig;

/// Windows of cycles begin at multiples of their length, a power of two. An SM performs a window's cycles at
/// its end, one after the other; its GPC brings on what it sent in the cycle after, in order of time over all
/// its SMs. So whatever reaches an SM, or starts at one, because of a cycle must lie in a later window:
///  - requests on their way to L2, and answers to loads that joined another SM's;
///  - thread blocks that take the place of one that has ended;
///  - with clusters, messages of other SMs and warps that these let go on.
/// The result is that of running cycle by cycle (window 1), but where SMs hand each other values in memory,
/// or one receives what another of its cluster has asked for: there the order within a window is that of the
/// SMs.
Cycle sm_window(const GpuConfig& config, bool clusters);
/// Of a GPC, which looks at its arrivals: a multiple of sm_window().
Cycle gpc_window(const GpuConfig& config);

}  // namespace heddle::models::gpu
