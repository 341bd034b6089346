// A TensorCore: sequencer, matrix units, vector and transpose unit, DMA engine, sync flags and the ports of
// on-chip memory.
#pragma once

#include <memory>
#include <vector>

#include "models/tpu/dma_engine.h"
#include "models/tpu/matrix_unit.h"
#include "models/tpu/tpu_sequencer.h"
#include "models/tpu/vector_unit.h"

namespace heddle::models {

/// One TensorCore. It owns its units, which are public so that results can be read after a run.
class TpuCore : public sc_core::sc_module {
  public:
    sc_core::sc_port<HbmInterface> hbm, common, host;  ///< memories outside of the core: HBM, CMEM, the
                                                       ///< host's

    /// Queues of each memory that a core uses: loads and stores of its DMA engine, then of its SparseCores.
    static constexpr unsigned kMemoryQueues = 4;
    /// `index` decides which queues are this core's.
    TpuCore(const sc_core::sc_module_name& name, ClockDomain& clock, const TpuConfig& config, unsigned index);

    /// The units of the core. Each is one block of the chip's clock.
    TpuSequencer sequencer;
    std::vector<std::unique_ptr<MatrixUnit>> matrix_units;
    VectorUnit vector_unit;
    VectorUnit transpose_unit;  ///< cross-lane: it works beside the vector unit's slots
    DmaEngine dma;
    DmaEngine sparse_cores;  ///< this core's share of them; idle where the chip has none
    SyncFlags flags;         ///< of this core
    OnChipMemory memory;     ///< VMEM's ports

    /// Resets every unit.
    void reset();
    /// Gives all units the objects that hold values; nullptr in timing mode. They are not owned.
    void set_values(tpu::CoreState* state, tpu::Memory* hbm_values);
    /// Sets the observer of all units; nullptr: none.
    void set_observer(UnitObserver* observer);
    /// Whether the program has ended and every unit is idle.
    bool is_done() const;
    /// Ends the accounts of all units, so that the times of each add up to `cycles`.
    void close_accounts(Cycle cycles);
    /// The last cycle in which a unit ended something.
    Cycle last_cycle();
    /// A text for a deadlock report with one line for each instruction that waits.
    std::string describe_waiting() const;
};

}  // namespace heddle::models
