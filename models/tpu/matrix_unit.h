// A matrix unit: a weight-stationary systolic array with a result buffer, modelled per tile.
//
// Proved cycle- and bit-identical to an array in which every processing element is a module
// (systolic_array_cells.h). With R rows and C columns, in cycles:
//  - a push shifts a tile in, R cycles (fewer where several rows of weights come per cycle). With shadow
//  weights it may begin in the cycle in which the matmul that takes the
//    previous tile begins (the tile then follows that matmul's wave of activations through the array);
//    without, it begins when the array has drained, M P + R + C - 2 after the beginning of the last matmul.
//  - a matmul of M rows begins when its tile is in (R cycles after the beginning of the push) and streams one
//  row per cycle, or per two or four where operands have 16 bits (cycles_per_row(), P below).
//    Row m has left the array, and stands in the result buffer, (m + 1) P - 1 + R + C after the beginning.
//  - a pop takes one row per cycle, each as soon as all earlier matmuls have added to it.
//  - a matmul that writes rows which an earlier pop takes waits for that pop's end.
#pragma once

#include <deque>

#include "isa/tpu/core_state.h"
#include "models/tpu/instruction_queue.h"
#include "models/tpu/on_chip_memory.h"
#include "models/tpu/sync_flags.h"
#include "models/tpu/tpu_config.h"
#include "models/tpu/unit_statistics.h"

namespace heddle::models {

/// Counts of one unit since reset().
struct MatrixUnitStatistics {
    std::uint64_t pushes = 0, matmuls = 0, pops = 0;  ///< instructions
    std::uint64_t rows_streamed = 0;                  ///< cycles in which an activation row enters
    std::uint64_t macs = 0;                           ///< useful ones: rows x depth x columns
    double useful_cycles = 0;    ///< streamed cycles, each weighted by the share of cells that had work
    UnitTimes times{};           ///< of the matmul stream
    Cycle last_array_cycle = 0;  ///< in which the last processing element worked
    Cycle last_cycle = 0;        ///< in which anything happened
};

/// Its three streams (weight pushes, matmuls, result pops) each have a queue and overlap; the systolic
/// array's cycles are computed per tile, not per cell.
class MatrixUnit : public Block, public InstructionSink {
  public:
    sc_core::sc_port<SyncFlagInterface> flags;         ///< of the core
    sc_core::sc_port<OnChipMemoryInterface> memory;    ///< VMEM
    sc_core::sc_export<InstructionSink> instructions;  ///< from the sequencer

    MatrixUnit(const sc_core::sc_module_name& name, ClockDomain& clock, const MatrixUnitConfig& config,
               unsigned queue_depth);

    /// Sets the objects that hold values; nullptr in timing mode. They are not owned.
    void set_values(tpu::CoreState* state, tpu::Memory* memory) {
        values_ = state;
        hbm_ = memory;
    }
    /// Sets the observer of every push, matmul stream and pop; nullptr: none.
    void set_observer(UnitObserver* observer) { observer_ = observer; }
    const MatrixUnitStatistics& statistics();

    /// Ends the accounts of a run: the last state lasts until cycle `end`, so that all times add up to the
    /// run.
    void close_accounts(Cycle end) { times_.enter(times_.state(), end); }

    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override;
    void reset() override;
    std::vector<SignalDeclaration> signals() const override;
    void set_probe(SignalProbe* probe) override;

    InstructionQueue& queue_for(const tpu::Operation& operation) override;
    void issue(Cycle now, const IssuedInstruction& issued) override;
    bool is_idle() const override;
    std::vector<const tpu::Instruction*> waiting() const override {
        return {push_.queue.first(), matmul_.queue.first(), pop_.queue.first()};
    }

  private:
    /// One of the three things that the unit does at a time.
    struct Stream {
        explicit Stream(unsigned depth) : queue(depth) {}
        InstructionQueue queue;
        bool active = false;
        IssuedInstruction present;
        Cycle begin = 0;
        Cycle end = kNever;  ///< last cycle; kNever: not known yet
        Cycle free_at = 0;   ///< first cycle in which the next may begin
        OnChipRate rate;
    };
    /// How fast activation rows enter the array.
    struct StreamRate {
        unsigned cycles_per_row = 1, rows_per_cycle = 1;  ///< at most one of them is more than 1
        Cycle cycles(std::uint32_t rows) const {
            return (Cycle{rows} * cycles_per_row + rows_per_cycle - 1) / rows_per_cycle;
        }
    };
    struct RecentMatmul {
        std::uint64_t sequence = 0;
        std::uint32_t first = 0, rows = 0;
        Cycle begin = 0;
        StreamRate rate;
    };
    /// A tile of weights that is shifted in, or being so.
    struct WeightTile {
        Cycle ready = 0;
        tpu::ElementType type = tpu::ElementType::bf16;
    };

    /// Why the stream's next instruction cannot begin; `working` when it can.
    UnitState obstacle_to_push(Cycle now) const;
    UnitState obstacle_to_matmul(Cycle now) const;
    UnitState obstacle_to_pop(Cycle now) const;
    UnitState common_obstacle(const Stream& stream, OnChipRate rate, Cycle now) const;
    /// Of activations of this type with the present weights.
    StreamRate stream_rate(tpu::ElementType activations) const;
    OnChipRate rate_of(const tpu::Operation& operation) const;
    /// The last cycle of the active pop, when all matmuls before it have begun; else kNever.
    Cycle end_of_pop() const;
    /// The array is empty from this cycle on.
    Cycle drained_at() const;

    Cycle push_cycles() const {
        return (config_.rows + config_.weight_rows_per_cycle - 1) / config_.weight_rows_per_cycle;
    }
    void begin(Stream& stream, Cycle now);
    void finish(Stream& stream, Cycle now);
    void tell_active(const Stream& stream, Cycle at);
    void ask_to_be_woken(Stream& stream, UnitState obstacle, Cycle now);
    Cycle next_event(Cycle now) const;

    MatrixUnitConfig config_;
    Stream push_, matmul_, pop_;
    std::deque<WeightTile> tiles_ready_;  ///< that no matmul has taken
    tpu::ElementType present_weights_ = tpu::ElementType::bf16;
    std::deque<RecentMatmul> recent_;  ///< whose results may still be on their way
    Cycle last_stream_end_ = 0;        ///< one past the last matmul's last row
    bool streamed_ = false;
    tpu::CoreState* values_ = nullptr;
    tpu::Memory* hbm_ = nullptr;
    UnitObserver* observer_ = nullptr;
    UnitClock times_;
    MatrixUnitStatistics statistics_;
};

}  // namespace heddle::models
