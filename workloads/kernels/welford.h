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
/// a = a and one element.
void take(PtxWriter& w, const Welford& a, const Reg& element);
/// Merges the moments of all threads of a CTA in the first warp. Declares the shared array "moments" of 384
/// bytes; needs one CTA barrier, or none for a single warp.
void merge_cta(PtxWriter& w, const Welford& own, const Reg& tid, unsigned threads);

}  // namespace heddle::kernels
