// Values inside one TPU core: VMEM and the matrix units' state. What an instruction does to them, without
// time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "isa/tpu/instruction.h"
#include "isa/tpu/matrix_state.h"
#include "isa/tpu/memory.h"
#include "isa/tpu/program.h"

namespace heddle::tpu {

/// What the units of one core hold between instructions; no time passes in it.
class CoreState {
  public:
    explicit CoreState(const Limits& limits);
    /// Sets VMEM and result buffers to zero and discards all weights.
    void reset();

    /// Performs an instruction that a unit carries out (not Signal, Wait, Repeat, Halt). The program must
    /// have passed validate(). Throws heddle::Error for what only values show: an HBM address outside every
    /// allocation, a gather index outside its table, weights that do not fit.
    void perform(const Instruction& instruction, const LoopCounters& counters, Memory& memory);

    /// Bytes of VMEM by address, for tests and for initial values.
    std::span<std::byte> vmem() { return vmem_; }
    /// The state of matrix unit `unit`.
    const MatrixState& matrix(unsigned unit) const { return matrix_units_[unit]; }

  private:
    void copy(const Dma& dma, const LoopCounters& counters, Memory& memory);

    std::vector<std::byte> vmem_;
    std::vector<MatrixState> matrix_units_;
};

}  // namespace heddle::tpu
