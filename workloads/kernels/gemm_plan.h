// The order in which our GEMM kernels add, as plans (isa/numerics/reduction_plan.h).
//
// gemm_simt is one chain of fused multiply-adds per output; gemm_mma one chain of tensor core blocks, in
// tiles of tile.k, the short tile last; gemm_wgmma the same with the blocks of wgmma. split_k_reduce adds
// slices first to last. An epilogue with an expression is not part of the plan: then D of the plan is the
// accumulator to which the expression applies.
#pragma once

#include "isa/numerics/reduction_plan.h"
#include "workloads/kernels/gemm_choice.h"
#include "workloads/kernels/gemm_mma.h"
#include "workloads/kernels/gemm_simt.h"
#include "workloads/kernels/gemm_wgmma.h"
#include "workloads/kernels/gemv.h"
#include "workloads/kernels/split_k.h"

namespace heddle::kernels {

/// Throws heddle::Error for types that plans do not have.
numerics::Element element_of(ElementType type);

/// `k_per_split`: of the launch, when the spec's partition says split-K. The plan is then that of both
/// kernels, split_k_reduce included, and D is what `reduced` stores.
numerics::ReductionPlan plan_of(const GemmSimtSpec& spec, unsigned k_per_split = 0,
                                const GemmEpilogue& reduced = {});
numerics::ReductionPlan plan_of(const GemmMmaSpec& spec, unsigned k_per_split = 0,
                                const GemmEpilogue& reduced = {});

/// Returns the plan of this kernel, as above.
numerics::ReductionPlan plan_of(const GemmWgmmaSpec& spec, unsigned k_per_split = 0,
                                const GemmEpilogue& reduced = {});

/// Returns the plan of a product without tiles.
numerics::ReductionPlan plan_of(const GemvSpec& spec);

/// Returns the plan of the kernels that a choice represents, with D in `output`.
numerics::ReductionPlan plan_of(const GemmChoice& choice, ElementType type, ElementType output,
                                unsigned compute_capability);

/// A part of D whose elements share a plan.
struct PlannedPart {
    std::uint32_t row = 0, column = 0, rows = 0, columns = 0;
    numerics::ReductionPlan plan;
};

/// Returns the parts of D: one for each tile with stream-K, else one.
std::vector<PlannedPart> planned_parts(const GemmChoice& choice, const numerics::ReductionPlan& plan,
                                       std::uint32_t m, std::uint32_t n);
/// D by the plans of its parts, [m][n].
std::vector<std::byte> evaluate(const std::vector<PlannedPart>& parts,
                                const numerics::PlanOperands& operands);

}  // namespace heddle::kernels
