// The sequencer of a core: issues instructions in program order to the units' queues.
#pragma once

#include "isa/tpu/program.h"
#include "models/tpu/instruction_queue.h"
#include "models/tpu/sync_flags.h"
#include "models/tpu/tpu_config.h"
#include "models/tpu/unit_statistics.h"

namespace heddle::models {

/// Counts since reset().
struct SequencerStatistics {
    std::uint64_t instructions = 0;  ///< issued, repeats counted each time
    UnitTimes times{};               ///< cycles by what the sequencer did or waited for
    Cycle last_cycle = 0;            ///< in which it was at work
};

/// Issues instructions in program order. It waits at a queue without room and at sync flags.
class TpuSequencer : public Block {
  public:
    sc_core::sc_port<SyncFlagInterface> flags;            ///< of the core
    sc_core::sc_port<InstructionSink> dma;                ///< loads and stores
    sc_core::sc_port<InstructionSink> sparse_cores;       ///< for rows by index, where there are any
    sc_core::sc_port<InstructionSink> vector, transpose;  ///< the two units
    sc_core::sc_port<InstructionSink, 0> matrix;          ///< one per matrix unit

    TpuSequencer(const sc_core::sc_module_name& name, ClockDomain& clock, const SequencerConfig& config,
                 bool has_sparse_cores);

    /// Sets the program, which begins in cycle 0 and must outlive the run; nullptr: the core has nothing to
    /// do.
    void start(const tpu::CoreProgram* program);
    bool halted() const { return halted_; }
    /// The next instruction to be issued; nullptr when all have been.
    const tpu::Instruction* waiting() const { return halted_ ? nullptr : cursor_.instruction(); }
    const SequencerStatistics& statistics();

    /// Ends the accounts of a run: the last state lasts until cycle `end`, so that all times add up to the
    /// run.
    void close_accounts(Cycle end) { times_.enter(times_.state(), end); }

    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override;
    void reset() override;
    std::vector<SignalDeclaration> signals() const override;
    void set_probe(SignalProbe* probe) override;

  private:
    InstructionSink& sink_for(const tpu::Operation& operation);
    /// `working`: the next instruction can be issued.
    UnitState obstacle(Cycle now) const;

    SequencerConfig config_;
    bool has_sparse_cores_;
    tpu::ProgramCursor cursor_;
    bool halted_ = true;
    std::uint64_t sequence_ = 0;
    UnitClock times_;
    SequencerStatistics statistics_;
};

}  // namespace heddle::models
