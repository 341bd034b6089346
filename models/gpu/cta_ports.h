// The interfaces between the CTA scheduler and the SMs.
#pragma once

#include <cstdint>
#include <memory>
#include <systemc>

#include "isa/ptx/execution.h"
#include "models/common/cycle.h"

namespace heddle::models::gpu {

/// An SM, as the CTA scheduler sees it.
class CtaReceiver : public virtual sc_core::sc_interface {
  public:
    /// Starts CTA `index` of the launch; its warps may issue from cycle `first_instruction` on, which is
    /// later than the present one. Calls come in ascending order of `first_instruction`.
    /// `cluster`: what it shares with the other CTAs of its cluster; nullptr without clusters.
    virtual void start_cta(std::uint64_t index, Cycle first_instruction,
                           std::shared_ptr<ptx::Cluster> cluster) = 0;
};

/// The CTA scheduler, as an SM sees it.
class CtaReporter : public virtual sc_core::sc_interface {
  public:
    /// A CTA of SM `sm` is done and its place is free from cycle `at` on, which is later than the present
    /// one.
    virtual void cta_finished(std::uint32_t sm, Cycle at) = 0;
};

}  // namespace heddle::models::gpu
