// The order in which a cublasLt algorithm adds, from its recorded attributes.
//
// What is certain comes from a public study of bit equivalence with cublasLt 13.1 on compute capability 9.0:
//   algorithm 66 (nvjet), fp16 and bf16   one chain; split-K by tiles of 64
//                         fp8             by default a fresh accumulator for every 128 of k
//   algorithms 12, 21, 23, 24 (CUTLASS)   the short tile first; split-K by 64, else by 8
//   merges of slices by the reduction scheme; integers are exact in any order.
// Tile and cluster extents do not matter. For everything else there are only likely orders
// (likely_plans()), to be told apart by a recorded tree: see learned_orders.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isa/numerics/reduction_plan.h"

namespace heddle::numerics {

/// CUBLAS_COMPUTE_64F, _32F, _32F_PEDANTIC, _32F_FAST_TF32, _16F, _32I.
enum class CublasCompute : std::uint8_t { f64, f32, f32_pedantic, tf32, f16, i32 };

/// One algorithm for one problem. Numbers are those of cublasLt.h; -1: not recorded.
struct CublasGemm {
    Element a = Element::fp16, b = Element::fp16, c = Element::fp16, d = Element::fp16,
            bias = Element::fp16;                ///< of the matrices and of the
                                                 ///< bias
    CublasCompute compute = CublasCompute::f32;  ///< tf32: with A and B of fp32 (tf32 says the same)
    bool fast_accumulation = false;              ///< fp8
    std::size_t k = 0;                           ///< length of each sum
    PlanEpilogue epilogue;                       ///< what happens to a sum before it is stored
    unsigned compute_capability = 90;            ///< times ten

    /// Attributes of the algorithm, CUBLASLT_ALGO_CONFIG_*.
    int algorithm = -1, stages = -1, split_k = -1, reduction_scheme = -1, custom_option = -1,
        inner_shape = -1;
    std::uint64_t numerical_flags = 0;  ///< CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS
    std::string kernels;                ///< names, separated by "; "
};

/// A plan, or the reason why there is none.
struct CublasPlan {
    std::optional<ReductionPlan> plan;  ///< nothing when the order is not known
    std::string reason;                 ///< where the plan comes from, or why there is none
};

/// Deduces the plan from the attributes alone; it computes and probes nothing.
CublasPlan plan_of(const CublasGemm& gemm);

/// Plans that fit the attributes, the likeliest first; differ in what the attributes do not tell. Never
/// empty, unless no arithmetic is known for the types.
std::vector<ReductionPlan> likely_plans(const CublasGemm& gemm);

/// k of a main loop's tile from a stages id (cublasLtMatmulStages_t), 0 when it has none.
unsigned block_k_of_stages(int stages);

}  // namespace heddle::numerics
