// VMEM's ports: how much all units of a core may read and write per cycle.
//
// Values live in tpu::CoreState; this module only shares out bandwidth. A unit claims a rate for as long as
// it streams a tile, and a claim that does not fit waits until another stream has ended.
#pragma once

#include <vector>

#include "models/common/clock_domain.h"

namespace heddle::models {

/// Bytes per cycle that a stream reads and writes.
struct OnChipRate {
    std::uint64_t read = 0, write = 0;  ///< bytes per cycle
};

/// How units claim a share of VMEM's ports for the duration of a stream.
class OnChipMemoryInterface : public virtual sc_core::sc_interface {
  public:
    /// Whether the ports have this rate left in cycle `now`.
    virtual bool has_room(OnChipRate rate, Cycle now) const = 0;
    /// Takes the rate from cycle `now` until release(). Only when has_room().
    virtual void claim(OnChipRate rate, Cycle now) = 0;
    /// The stream used its rate up to and including cycle `now`; others may claim it from the next cycle on.
    virtual void release(OnChipRate rate, Cycle now) = 0;
    /// Wakes `block` when a stream has ended.
    virtual void tell_of_room(Block& block, Cycle now) = 0;
};

/// Keeps account of claimed rates; it holds no values.
class OnChipMemory : public sc_core::sc_module, public OnChipMemoryInterface {
  public:
    OnChipMemory(const sc_core::sc_module_name& name, OnChipRate capacity);
    /// No rate is claimed and nobody waits.
    void reset();

    /// A stream that wants more than there is altogether is let in alone.
    bool has_room(OnChipRate rate, Cycle now) const override;
    void claim(OnChipRate rate, Cycle now) override;
    void release(OnChipRate rate, Cycle now) override;
    void tell_of_room(Block& block, Cycle now) override;

  private:
    OnChipRate used(Cycle now) const;

    OnChipRate capacity_;
    OnChipRate used_;
    OnChipRate released_;  ///< in cycle released_in_: not free before the next
    Cycle released_in_ = kNever;
    std::vector<Block*> waiting_;
};

}  // namespace heddle::models
