// What can be watched of an SM: its signals, and what they were last.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/common/signals.h"
#include "models/gpu/gpu_config.h"
#include "models/gpu/sub_core.h"

namespace heddle::models::gpu {

class LoadStoreUnit;

/// Translates events of an SM into changes of its signals. Made only while somebody watches.
class SmSignals {
  public:
    /// The signals of every SM, in the order of the numbers that the probe uses.
    static std::vector<SignalDeclaration> declarations();

    explicit SmSignals(SignalProbe& probe) : probe_(probe) {}
    /// Forgets the last values; to be called before a run.
    void begin() { last_ = {}; }
    /// The warp in slot `warp` issues the instruction number `instruction` of the kernel, which stands in
    /// `line`; it takes `slots` issue slots.
    void issued(unsigned warp, std::uint32_t instruction, std::uint32_t line, unsigned slots, Cycle now);
    /// The SM has performed cycle `now`.
    void performed(unsigned sub_core, const SubCore& state, Cycle now);
    void performed(unsigned thread_blocks, const LoadStoreUnit& load_store, Cycle now);

  private:
    struct Last {
        SubCore::Outlook outlook{0, 0, CycleReason::not_launched, CycleReason::not_launched};
        bool issued = false;  // since then
    };
    SignalProbe& probe_;
    std::array<Last, kSubCores> last_{};
};

}  // namespace heddle::models::gpu
