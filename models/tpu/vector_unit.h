// The vector unit, or the transpose unit: one instruction after the other, each for as long as
// vector_timing.h says.
#pragma once

#include "isa/tpu/core_state.h"
#include "models/tpu/instruction_queue.h"
#include "models/tpu/on_chip_memory.h"
#include "models/tpu/sync_flags.h"
#include "models/tpu/unit_statistics.h"
#include "models/tpu/vector_timing.h"

namespace heddle::models {

/// Counts since reset().
struct VectorUnitStatistics {
    std::uint64_t instructions = 0;  ///< completed
    std::uint64_t operations = 0;    ///< on whole registers
    UnitTimes times{};               ///< cycles by what the unit did or waited for
    Cycle last_cycle = 0;            ///< in which it was at work
};

/// Waits for sync flags and VMEM ports, then works for the instruction's cycles (vector_timing.h).
class VectorUnit : public Block, public InstructionSink {
  public:
    sc_core::sc_port<SyncFlagInterface> flags;         ///< of the core
    sc_core::sc_port<OnChipMemoryInterface> memory;    ///< VMEM
    sc_core::sc_export<InstructionSink> instructions;  ///< from the sequencer

    VectorUnit(const sc_core::sc_module_name& name, ClockDomain& clock, const VectorUnitConfig& config,
               unsigned queue_depth);
    /// Sets the objects that hold values; nullptr in timing mode. They are not owned.
    void set_values(tpu::CoreState* state, tpu::Memory* memory) {
        values_ = state;
        hbm_ = memory;
    }
    /// Sets the observer of every instruction; nullptr: none.
    void set_observer(UnitObserver* observer) { observer_ = observer; }
    /// Counts up to the last cycle.
    const VectorUnitStatistics& statistics();

    /// Ends the accounts of a run: the last state lasts until cycle `end`, so that all times add up to the
    /// run.
    void close_accounts(Cycle end) { times_.enter(times_.state(), end); }

    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override;
    void reset() override;
    std::vector<SignalDeclaration> signals() const override;
    void set_probe(SignalProbe* probe) override;
    InstructionQueue& queue_for(const tpu::Operation&) override { return queue_; }
    void issue(Cycle now, const IssuedInstruction& issued) override;
    bool is_idle() const override { return !active_ && queue_.empty(); }
    std::vector<const tpu::Instruction*> waiting() const override { return {queue_.first()}; }

  private:
    VectorTiming time_of_instruction(const tpu::Instruction& instruction) const;
    /// `working`: the next instruction can begin.
    UnitState obstacle(Cycle now) const;

    VectorUnitConfig config_;
    InstructionQueue queue_;
    bool active_ = false;
    IssuedInstruction present_;
    VectorTiming timing_;
    Cycle begin_ = 0, end_ = 0, free_at_ = 0;
    tpu::CoreState* values_ = nullptr;
    tpu::Memory* hbm_ = nullptr;
    UnitObserver* observer_ = nullptr;
    UnitClock times_;
    VectorUnitStatistics statistics_;
};

}  // namespace heddle::models
