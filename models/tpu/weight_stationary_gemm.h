// Drives a matrix unit with the folds of a GEMM and nothing else: no memory, no other unit.
//
// Without shadow weights this is what SCALE-Sim counts for the weight-stationary dataflow: every fold loads a
// block of weights, streams all rows and drains, one fold after the other.
#pragma once

#include "isa/tpu/program.h"
#include "models/tpu/matrix_unit.h"

namespace heddle::models {

/// c[m, n] = a[m, k] b[k, n] as the folds of one array: blocks of k outermost of the two, all in bf16,
/// operands at VMEM address 0. `m` must fit the result buffer.
tpu::CoreProgram weight_stationary_folds(const MatrixUnitConfig& config, std::uint32_t m, std::uint32_t n,
                                         std::uint32_t k);

/// A matrix unit on its own: sync flags and on-chip memory that are never in the way.
class MatrixUnitBench : public sc_core::sc_module {
  public:
    MatrixUnitBench(const sc_core::sc_module_name& name, ClockDomain& clock, const MatrixUnitConfig& config);

    /// The unit that is driven, for its statistics.
    MatrixUnit& unit() { return unit_; }
    /// Resets the unit, hands it the whole program (matrix instructions and halt only), instruction i in
    /// cycle `visible[i]` (0 when `visible` is empty), runs, and returns the cycle in which the last
    /// processing element worked, counted from 0 (SCALE-Sim's convention).
    Cycle run(const tpu::CoreProgram& program, const std::vector<Cycle>& visible = {});

  private:
    class Feeder;
    ClockDomain& clock_;
    MatrixUnit unit_;
    SyncFlags flags_;
    OnChipMemory memory_;
};

}  // namespace heddle::models
