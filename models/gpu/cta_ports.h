// The interfaces between the CTA scheduler and the SMs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <systemc>

#include "isa/ptx/execution.h"
#include "models/common/cycle.h"

namespace heddle::models::gpu {

/// A cluster of thread blocks that runs.
struct ClusterRun {
    explicit ClusterRun(const ptx::LaunchContext& launch) : cluster(launch) {}
    ptx::Cluster cluster;  ///< shared state in terms of isa/ptx: barriers, distributed shared memory
    std::array<std::uint16_t, ptx::kMaximumClusterSize> sms{};  ///< by rank
    /// While one SM performs an instruction or ends a copy: the cycle in which warps on other SMs that it
    /// releases go on.
    Cycle release_at = 0;
};

/// A thread block's place in its cluster; none without clusters.
struct ClusterPlace {
    std::shared_ptr<ClusterRun> run;  ///< shared by the thread blocks of the cluster; nullptr without
                                      ///< clusters
    std::uint32_t rank = 0;           ///< %cluster_ctarank, from 0
};

/// A thread block of a run, which may have several launches.
struct CtaOfRun {
    std::uint32_t launch = 0;  ///< in LaunchPlan::launches
    std::uint64_t index = 0;   ///< in the launch's grid, x fastest
};

/// An SM, as the CTA scheduler sees it.
class CtaReceiver : public virtual sc_core::sc_interface {
  public:
    /// Starts a CTA; its warps may issue from cycle `first_instruction` on, which is
    /// later than the present one. Calls come in ascending order of `first_instruction`.
    virtual void start_cta(CtaOfRun cta, Cycle first_instruction, ClusterPlace place) = 0;
    /// RunLaunch::dependency_release of a launch has become known: warps of it that wait for it go on in cycle
    /// `at`, which is later than the present one.
    virtual void release_dependents(std::uint32_t launch, Cycle at) = 0;
};

/// The CTA scheduler, as an SM sees it.
class CtaReporter : public virtual sc_core::sc_interface {
  public:
    /// A CTA of SM `sm` is done and its place is free from cycle `at` on, in the SM's present window or
    /// after.
    virtual void cta_finished(std::uint32_t sm, std::uint32_t launch, Cycle at) = 0;
    /// A CTA has allowed dependents of its launch to begin, for the first time: with griddepcontrol.launch_dependents, or by its
    /// end. Only of launches with RunLaunch::tells_triggers.
    virtual void cta_triggered(std::uint32_t launch, Cycle at) = 0;
};

}  // namespace heddle::models::gpu
