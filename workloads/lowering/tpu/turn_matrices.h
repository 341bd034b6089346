// Many small matrices that lie one behind the other, each turned: filters between channels first and last.
#pragma once

#include "workloads/lowering/tpu/tile_transfer.h"

namespace heddle::lowering::on_tpu {

/// Copies `from` to `to` (of one shape), each element through `kernel` (nullptr: unchanged), when that is
/// what it comes to: to[i, r, c] = from[i, c, r], both dense. As many matrices as VMEM has room for come and
/// leave in one transfer, and the transpose unit turns one after the other; a transfer for each would take
/// the latency of HBM each. False, and nothing done, for any other copy, and for matrices that are large
/// enough to be brought one by one.
bool turn_matrices(ProgramBuilder& program, const HbmView& from, const HbmView& to,
                   const std::shared_ptr<const tpu::VectorKernel>& kernel);

}  // namespace heddle::lowering::on_tpu
