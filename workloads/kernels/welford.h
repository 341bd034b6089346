// Mean and sum of squared differences, found piece by piece.
#pragma once

#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// f32 registers.
struct Welford {
    Reg count, mean, squares;  ///< squares: sum of squared differences from the mean
};

/// a = a and b together (Chan et al.); either may be empty.
void merge(PtxWriter& w, const Welford& a, const Welford& b);

}  // namespace heddle::kernels
