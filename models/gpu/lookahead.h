// For how many cycles an SM may run without hearing of others: the lookahead of conservative parallel
// simulation, used for the caches of the host. An SM that runs 16 cycles at once is fetched once for all that
// happens to it in them.
#pragma once

#include <cstdint>

#include "models/common/cycle.h"

namespace heddle::models::gpu {

struct GpuConfig;

/// Length in cycles of the windows in which SMs run; `clusters`: the launch has clusters.
///
/// Windows begin at multiples of their length, a power of two. An SM performs a window's cycles at its end,
/// one after the other; in the cycle after, its GPC passes on what the SM has sent, in order of time over all
/// its SMs. So whatever reaches an SM, or starts at one, because of a cycle must lie in a later window:
///  - requests on their way to L2, and answers to loads that joined another SM's;
///  - thread blocks that take the place of one that has ended;
///  - with clusters, messages of other SMs and warps that these let go on.
/// The result is that of running cycle by cycle (window 1), except where SMs hand each other values in
/// memory, or one receives what another of its cluster has asked for: there the order within a window is that
/// of the SMs.
Cycle sm_window(const GpuConfig& config, bool clusters);
/// Length in cycles of the window of a GPC, which takes all requests that arrive in it at once; a multiple of
/// sm_window().
Cycle gpc_window(const GpuConfig& config);

}  // namespace heddle::models::gpu
