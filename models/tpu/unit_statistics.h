// What a unit did with its time.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "models/common/cycle.h"
#include "models/common/signals.h"

namespace heddle::models {

/// The state of a unit: it works, or its next instruction waits for something.
enum class UnitState : std::uint8_t {
    empty,  ///< no instruction is there
    working,
    sync_flag,       ///< another core, or the sequencer, has not signalled yet
    weights,         ///< matrix unit: the weight tile is not there yet
    weight_shift,    ///< matrix unit: the weight tile is being shifted in
    accumulator,     ///< matrix unit: results must be computed, or taken out, first
    on_chip_memory,  ///< other units use the ports of on-chip memory
    outstanding,     ///< DMA: as many transfers as possible are under way
    queue_full,      ///< sequencer: the unit's queue is full
    // Sync flags, by who is to signal:
    results,   ///< a matrix unit or the vector unit has not written yet (a RAW stall)
    input,     ///< the host has not delivered yet
    transfer,  ///< DMA has not brought or taken yet
};
inline constexpr std::size_t kUnitStates = 12;
/// Any of the states in which a unit waits for a sync flag.
constexpr bool waits_for_flag(UnitState state) {
    return state == UnitState::sync_flag || state >= UnitState::results;
}
const char* name_of(UnitState state);

/// Cycles in each state.
using UnitTimes = std::array<std::uint64_t, kUnitStates>;

/// The signal of a unit's state, named `name`.
SignalDeclaration state_signal(const std::string& name, const std::string& unit);

/// Adds up how long a unit was in which state, from the moments at which the state changed.
class UnitClock {
  public:
    /// Enters `state` in cycle `at`, which must not lie before that of the last call.
    void enter(UnitState state, Cycle at) {
        if (at > since_) {
            times_[static_cast<std::size_t>(state_)] += at - since_;
            since_ = at;
        }
        state_ = state;
        if (probe_ != nullptr) probe_->set(signal_, since_, static_cast<std::uint32_t>(state));
    }
    /// From now on reports every state to `probe` as signal number `signal`; nullptr stops that.
    void watch(SignalProbe* probe, std::size_t signal) {
        probe_ = probe;
        signal_ = signal;
    }
    UnitState state() const { return state_; }
    const UnitTimes& times() const { return times_; }
    void reset() {
        times_ = {};
        state_ = UnitState::empty;
        since_ = 0;
    }

  private:
    UnitTimes times_{};
    UnitState state_ = UnitState::empty;
    Cycle since_ = 0;
    SignalProbe* probe_ = nullptr;
    std::size_t signal_ = 0;
};

}  // namespace heddle::models
