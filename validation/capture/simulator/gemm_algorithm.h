// How an algorithm of the simulator's BLAS, a kernel of workloads/kernels, is told in the words of cublasLt.
#pragma once

#include <cstdint>

#include "validation/capture/blas.h"
#include "workloads/kernels/gemm_choice.h"

namespace heddle::capture {

// GemmAlgorithm::id, beyond those of cublasLt so that nobody takes one for the other.
inline constexpr int kSimtAlgorithm = 1001;   ///< gemm_simt: one chain of FMAs over k
inline constexpr int kMmaAlgorithm = 1002;    ///< gemm_mma: one chain of mma.sync over k
inline constexpr int kWgmmaAlgorithm = 1003;  ///< gemm_wgmma: one chain of wgmma over k

/// Fills in:
///   id                kSimtAlgorithm, kMmaAlgorithm or kWgmmaAlgorithm
///   tile              extents of a CTA's tile, m * 1000 + n
///   inner_shape       its extent along k
///   stages            tiles in shared memory
///   split_k           slices of K, 1: none; slice s does k in [s, s + 1) * k_per_split
///   custom_option     k_per_split
///   reduction_scheme  0, or 2 (CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) with slices: they are added first to
///                     last, beginning with 0, in the accumulator's type, and rounded once
///   swizzle           log2 of the columns of tiles that run together
///   blob              the whole GemmChoice, from which choice_of() makes it again
GemmAlgorithm algorithm_of(const kernels::GemmChoice& choice);
/// Throws heddle::Error for an algorithm that algorithm_of() did not make.
kernels::GemmChoice choice_of(const GemmAlgorithm& algorithm);

}  // namespace heddle::capture
