// A core's DMA engine: loads and stores, each direction in order of starting, several under way at a time.
#pragma once

#include <functional>
#include <vector>

#include "isa/tpu/core_state.h"
#include "models/tpu/instruction_queue.h"
#include "models/tpu/on_chip_memory.h"
#include "models/tpu/sync_flags.h"
#include "models/tpu/tpu_hbm.h"
#include "models/tpu/unit_statistics.h"

namespace heddle::models {

/// Counts of one engine since reset().
struct DmaStatistics {
    std::uint64_t loads = 0, stores = 0;               ///< instructions
    std::uint64_t bytes_loaded = 0, bytes_stored = 0;  ///< asked for; the bus moves whole pieces
    std::uint64_t host_bytes = 0;                      ///< of these, to and from the host
    UnitTimes load_times{}, store_times{};             ///< working: at least one transfer is under way
    Cycle last_cycle = 0;                              ///< in which anything happened
};

/// Carries out the DMA instructions of a core: it claims VMEM ports, sends requests to HBM queues and signals
/// sync flags when all bytes have been moved.
class DmaEngine : public Block, public InstructionSink, public HbmClient {
  public:
    sc_core::sc_port<SyncFlagInterface> flags;         ///< of the core
    sc_core::sc_port<OnChipMemoryInterface> memory;    ///< VMEM
    sc_core::sc_port<HbmInterface> hbm, common, host;  ///< common: CMEM
    sc_core::sc_export<InstructionSink> instructions;  ///< from the sequencer

    /// A function that returns the cycles which the engine itself takes for rows by index, from their number,
    /// the bytes of each, and the passes over them.
    using RowCycles = std::function<std::uint64_t(std::uint64_t, std::uint64_t, unsigned)>;

    /// Requests go to HBM queues `first_hbm_queue` (loads) and the one behind it (stores). Without
    /// `row_cycles` each row by index is a strip.
    DmaEngine(const sc_core::sc_module_name& name, ClockDomain& clock, const DmaConfig& config,
              unsigned access_bytes, unsigned queue_depth, unsigned first_hbm_queue,
              RowCycles row_cycles = {});
    /// `memory` holds the bounds of HBM in both modes, `state` values in functional mode.
    void set_values(tpu::CoreState* state, tpu::Memory* memory) {
        values_ = state;
        hbm_values_ = memory;
    }
    void set_observer(UnitObserver* observer) { observer_ = observer; }
    const DmaStatistics& statistics();

    void served(std::uint64_t request, Cycle at) override;
    /// Ends the accounts of a run: the last state lasts until cycle `end`, so that all times add up to the
    /// run.
    void close_accounts(Cycle end) {
        load_.times.enter(load_.times.state(), end);
        store_.times.enter(store_.times.state(), end);
    }

    Cycle tick(Cycle now) override;
    bool can_act(Cycle now) const override;
    void reset() override;
    std::vector<SignalDeclaration> signals() const override;
    void set_probe(SignalProbe* probe) override;
    InstructionQueue& queue_for(const tpu::Operation& operation) override;
    void issue(Cycle now, const IssuedInstruction& issued) override;
    bool is_idle() const override;
    std::vector<const tpu::Instruction*> waiting() const override {
        return {load_.queue.first(), store_.queue.first()};
    }

  private:
    struct Transfer {
        IssuedInstruction issued;
        Cycle begin = 0;
        Cycle end = kNever;  ///< known when HBM has served it
        std::uint64_t number = 0;
    };
    struct Direction {
        explicit Direction(unsigned depth) : queue(depth) {}
        InstructionQueue queue;
        std::vector<Transfer> under_way;
        UnitClock times;
        Cycle free_at = 0;  ///< one start per cycle
        bool port_claimed = false;
    };
    UnitState obstacle(const Direction& direction, Cycle now) const;
    OnChipRate rate_of(const Direction& direction) const;
    void begin(Direction& direction, Cycle now);
    void tell_under_way(const Direction& direction, Cycle at);
    /// True when one ended.
    bool finish_transfers(Direction& direction, Cycle now);
    /// Bytes on the bus: every row in whole pieces.
    std::uint64_t bus_bytes(const tpu::Dma& dma, std::uint64_t hbm_address) const;
    void check_bounds(const tpu::Dma& dma, std::uint64_t hbm_address) const;

    DmaConfig config_;
    unsigned access_bytes_;
    unsigned first_hbm_queue_;
    RowCycles row_cycles_;
    Direction load_, store_;
    std::uint64_t next_number_ = 0;
    tpu::CoreState* values_ = nullptr;
    tpu::Memory* hbm_values_ = nullptr;
    UnitObserver* observer_ = nullptr;
    DmaStatistics statistics_;
};

}  // namespace heddle::models
