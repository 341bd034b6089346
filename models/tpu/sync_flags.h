// The sync flags of a core: counting semaphores between its units.
#pragma once

#include <deque>
#include <vector>

#include "isa/tpu/instruction.h"
#include "isa/tpu/program.h"
#include "models/common/clock_domain.h"
#include "models/tpu/unit_statistics.h"

namespace heddle::models {

/// The sync flags of a core as its units see them.
class SyncFlagInterface : public virtual sc_core::sc_interface {
  public:
    /// Whether all flags that the instruction waits for hold enough in cycle `now`.
    virtual bool ready(const tpu::Instruction& instruction, Cycle now) const = 0;
    /// `working` when ready(); else the state for waiting on the first flag that holds too little.
    virtual UnitState obstacle(const tpu::Instruction& instruction, Cycle now) const = 0;
    /// Subtracts the counts that the instruction waits for. To be called only when ready().
    virtual void take(const tpu::Instruction& instruction, Cycle now) = 0;
    /// Wakes `block` whenever a flag that the instruction waits for has been signalled.
    virtual void tell_of_signals(const tpu::Instruction& instruction, Block& block, Cycle now) = 0;
    /// Carries out the instruction's signals; they show in the next cycle, in another core later.
    virtual void signal(const tpu::Instruction& instruction, Cycle now) = 0;
};

/// Counters of one core. A signal to another core arrives `remote_cycles` later.
class SyncFlags : public sc_core::sc_module, public SyncFlagInterface {
  public:
    SyncFlags(const sc_core::sc_module_name& name, unsigned count, unsigned remote_cycles);
    /// Sets the flags of all cores, this one's included, by core number. To be called before the first run.
    void connect(std::vector<SyncFlags*> cores) { cores_ = std::move(cores); }
    void reset();
    /// Finds out from the program which unit signals each flag of this core, so that statistics can tell what
    /// a wait was for; nullptr forgets it.
    void name_signallers(const tpu::CoreProgram* program);

    bool ready(const tpu::Instruction& instruction, Cycle now) const override;
    UnitState obstacle(const tpu::Instruction& instruction, Cycle now) const override;
    void take(const tpu::Instruction& instruction, Cycle now) override;
    void tell_of_signals(const tpu::Instruction& instruction, Block& block, Cycle now) override;
    void signal(const tpu::Instruction& instruction, Cycle now) override;

    /// The flag's count as seen in cycle `now`.
    std::uint64_t value(unsigned flag, Cycle now) const;

  private:
    struct Flag {
        std::uint64_t held = 0;    ///< visible, up to the cycles in `coming`
        std::deque<Cycle> coming;  ///< tokens that will show, ascending
        std::vector<Block*> waiting;
    };
    void arrive(unsigned flag, Cycle visible);

    std::vector<Flag> flags_;
    std::vector<UnitState> meaning_;  ///< of waiting for a flag
    unsigned remote_cycles_;
    std::vector<SyncFlags*> cores_;
};

}  // namespace heddle::models
