// A TensorCore: sequencer, matrix units, vector unit, DMA engine, sync flags and the ports of on-chip memory.
#pragma once

#include <memory>
#include <vector>

#include "models/tpu/dma_engine.h"
#include "models/tpu/matrix_unit.h"
#include "models/tpu/tpu_sequencer.h"
#include "models/tpu/vector_unit.h"

namespace heddle::models {

class TpuCore : public sc_core::sc_module {
  public:
    sc_core::sc_port<HbmInterface> hbm, host;

    /// `index` decides which HBM queues are this core's: 2 index (loads) and 2 index + 1 (stores).
    TpuCore(const sc_core::sc_module_name& name, ClockDomain& clock, const TpuConfig& config, unsigned index);

    TpuSequencer sequencer;
    std::vector<std::unique_ptr<MatrixUnit>> matrix_units;
    VectorUnit vector_unit;
    DmaEngine dma;
    SyncFlags flags;
    OnChipMemory memory;

    void reset();
    void set_values(tpu::CoreState* state, tpu::Memory* hbm_values);
    void set_observer(UnitObserver* observer);
    bool is_done() const;
    /// Lets every unit's times add up to `cycles`.
    void close_accounts(Cycle cycles);
    /// The last cycle in which a unit ended something.
    Cycle last_cycle();
    /// What is left waiting, one line each, for a deadlock report.
    std::string describe_waiting() const;
};

}  // namespace heddle::models
