// Finds kernels that go round in loops for ever: a lock that nobody releases, a flag that nobody sets.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/ptx/execution.h"
#include "models/common/cycle.h"

namespace heddle::models::gpu {

class Sm;

/// Looks at the SMs from time to time. Most looks compare one number with that of the look before: what warps
/// could notice (stores, values changed by atomics, barriers completed, thread blocks begun and ended). Once
/// that has stood still for kQuiet cycles the states of the warps are compared. A warp that has moved and is
/// in a state that it was in before goes round for ever unless something changes; when that is true of every
/// warp that is not blocked, nothing ever will. This is a proof, not a time limit, so a long calculation is
/// never taken for a loop; kernels that read a clock are left alone, since time changes for them.
class ProgressWatch {
  public:
    static constexpr Cycle kQuiet = 1u << 20;    ///< without an event, before states are compared
    static constexpr Cycle kBetween = 4099;      ///< looks from then on; prime: out of step with loops
    static constexpr unsigned kRemembered = 32;  ///< states of a warp

    explicit ProgressWatch(bool reads_clock) : reads_clock_(reads_clock) {}

    /// The cycle in which look() is to be called.
    Cycle next() const { return next_; }
    /// Whether nothing can ever change any more. `warps`: slots of each SM.
    template <typename Sms>
    bool look(const Sms& sms, unsigned warps, Cycle now) {
        std::uint64_t events = 0;
        for (const auto& sm : sms) events = events * 0x9e3779b97f4a7c15u + sm.events();
        if (events != events_ || reads_clock_) return quiet(events, now);
        if (states_.empty()) states_.resize(sms.size() * warps);
        bool all = true;
        std::size_t first = 0;
        for (const auto& sm : sms) {
            for (unsigned warp = 0; warp < warps; ++warp)
                if (sm.is_running(warp)) all = goes_round(states_[first + warp], sm.fingerprint(warp)) && all;
            first += warps;
        }
        next_ = now + kBetween;
        return all;
    }

  private:
    struct Seen {
        std::vector<ptx::WarpFingerprint> states;  ///< the latest ones, in turn
        std::size_t turn = 0;
        bool round = false;
    };
    bool quiet(std::uint64_t events, Cycle now);
    static bool goes_round(Seen& seen, const ptx::WarpFingerprint& state);

    bool reads_clock_;
    std::uint64_t events_ = 0;
    Cycle next_ = kQuiet;
    std::vector<Seen> states_;  ///< by SM and warp slot; empty while there are events
};

}  // namespace heddle::models::gpu
