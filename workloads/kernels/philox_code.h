// Philox4x32-10 as PTX: the numbers of isa/numerics/philox.h.
#pragma once

#include <array>

#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// The four words of a counter under a key; key registers are left as they are.
std::array<Reg, 4> emit_philox(PtxWriter& w, std::array<Reg, 4> counter, std::array<Reg, 2> key);
/// 24 bits of a word as a number in [0, 1).
Reg emit_uniform(PtxWriter& w, const Reg& word);

}  // namespace heddle::kernels
