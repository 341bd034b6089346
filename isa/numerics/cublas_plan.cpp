#include "isa/numerics/cublas_plan.h"

#include <algorithm>
#include <stdexcept>

#include "isa/numerics/cublas_kernel_name.h"
#include "isa/target/generation.h"

namespace heddle::numerics {
namespace {

// cublasLtReductionScheme_t
constexpr int kInPlace = 1, kComputeType = 2, kOutputType = 4;
// CUBLASLT_NUMERICAL_IMPL_FLAGS_*
constexpr std::uint64_t kFlagFma = 0x01, kFlagTensor = 0xfe, kFlagAccumulator16 = 0x01u << 8,
                        kFlagInputTf32 = 0x04u << 16;

bool is_fp8(Element element) {
    return element == Element::e4m3 || element == Element::e5m2;
}
bool is_half(Element element) {
    return element == Element::fp16 || element == Element::bf16;
}

/// What multiplies: from types, flags and names.
struct Multiplier {
    bool tensor_core = false;
    Element input_a = Element::fp16, input_b = Element::fp16, accumulator = Element::fp32;
    std::string problem;
};

Multiplier multiplier_of(const CublasGemm& gemm, const CublasKernelName& name) {
    Multiplier result{false, gemm.a, gemm.b, Element::fp32, {}};
    if (gemm.a == Element::fp64) {
        result.accumulator = Element::fp64;
        return result;
    }
    const bool flags_say_tensor = (gemm.numerical_flags & kFlagTensor) != 0;
    const bool flags_say_fma = (gemm.numerical_flags & kFlagFma) != 0;
    if (gemm.a == Element::fp32 || gemm.a == Element::tf32) {
        result.input_a = result.input_b = Element::fp32;
        // With CUBLAS_COMPUTE_32F other arithmetic than FFMA would be no longer fp32.
        const bool tf32 = gemm.compute == CublasCompute::tf32 &&
                          (flags_say_tensor || (gemm.numerical_flags & kFlagInputTf32) != 0 ||
                           (!flags_say_fma && !name.scalar));
        if (tf32) {
            result.tensor_core = true;
            result.input_a = result.input_b = Element::tf32;
        }
        return result;
    }
    result.tensor_core = !name.scalar && (flags_say_tensor || !flags_say_fma);
    const bool half_sums = gemm.compute == CublasCompute::f16 &&
                           (gemm.numerical_flags == 0 || (gemm.numerical_flags & kFlagAccumulator16) != 0);
    if (half_sums) {
        result.accumulator = Element::fp16;
        if (!result.tensor_core) result.problem = "sums in fp16 on the CUDA cores are not modelled";
    }
    return result;
}

/// By which libraries multiply fp8.
Instruction native_instruction(const Generation& generation) {
    if (generation.has_wgmma) return Instruction::wgmma;
    return generation.has_tcgen05 ? Instruction::tcgen05 : Instruction::mma_sync;
}

/// The generation whose libraries were studied.
bool was_studied(const CublasGemm& gemm) {
    const Generation* generation = target::find_generation(gemm.compute_capability);
    return generation != nullptr && *generation == Generation::hopper;
}

ReductionPlan plan_from(const CublasGemm& gemm, const Multiplier& multiplier) {
    ReductionPlan plan;
    plan.a = multiplier.input_a;
    plan.b = multiplier.input_b;
    plan.c = gemm.c;
    plan.d = gemm.d;
    plan.bias = gemm.bias;
    plan.accumulator = multiplier.accumulator;
    plan.epilogue = gemm.epilogue;
    if (!multiplier.tensor_core) {
        plan.arithmetic = Arithmetic::fused_multiply_add;
        plan.instruction_k = 1;
        plan.block_k = 8;
        return plan;
    }
    const Generation& generation = target::generation_of(gemm.compute_capability);
    plan.tensor_core =
        parameters_for(generation, format_of(plan.a), format_of(plan.b), format_of(plan.accumulator),
                       is_fp8(plan.a) ? native_instruction(generation) : Instruction::mma_sync);
    plan.instruction_k = std::max(16u, plan.tensor_core.block_length);
    if (plan.a == Element::tf32) plan.instruction_k = 8;
    return plan;
}

bool set_merge(ReductionPlan& plan, const CublasGemm& gemm, std::string& problem) {
    if (gemm.split_k <= 1) return true;
    plan.splits = static_cast<unsigned>(gemm.split_k);
    switch (gemm.reduction_scheme) {
        case 0:
        case kInPlace:
            plan.merge = SliceMerge::output_chain;
            return true;
        case kComputeType:
            plan.merge = SliceMerge::accumulators;
            return true;
        case kOutputType:
            plan.merge = SliceMerge::output_partials;
            return true;
        default:
            problem = "reduction scheme " + std::to_string(gemm.reduction_scheme) + " is not known";
            return false;
    }
}

CublasPlan unknown(const std::string& reason) {
    return {std::nullopt, reason};
}

CublasPlan nvjet_plan(const CublasGemm& gemm, ReductionPlan plan) {
    if (!was_studied(gemm)) return unknown("nvjet was studied on compute capability 9.0 only");
    if (!is_fp8(gemm.a) && !is_half(gemm.a))
        return unknown(std::string("nvjet was studied for fp16, bf16 and fp8, not ") + name_of(gemm.a));
    if (gemm.compute == CublasCompute::f16) return unknown("nvjet was not studied with sums in fp16");
    std::string problem;
    if (!set_merge(plan, gemm, problem)) return unknown(problem);
    plan.block_k = is_fp8(gemm.a) ? 128 : 64;
    if (is_fp8(gemm.a)) {
        if (plan.splits > 1) return unknown("split-K of fp8 was not studied");
        if (!gemm.fast_accumulation) plan.promotion_interval = 128;
    }
    plan.split_grain = plan.block_k;
    plan.drops_tail = true;
    return {plan, "algorithm 66 (nvjet)"};
}

CublasPlan cutlass_plan(const CublasGemm& gemm, const CublasKernelName& name, ReductionPlan plan) {
    if (!is_half(gemm.a)) return unknown("CUTLASS algorithms were studied for fp16 and bf16 only");
    if (!was_studied(gemm)) return unknown("CUTLASS algorithms were studied on compute capability 9.0 only");
    if (name.slices_of_k > 1) return unknown("warps share K inside of a tile: their order was not studied");
    std::string problem;
    if (!set_merge(plan, gemm, problem)) return unknown(problem);
    plan.residue = ResidueTile::first;
    plan.instruction_k = gemm.stages == 0 ? 8 : 16;
    plan.block_k = block_k_of_stages(gemm.stages);
    if (plan.block_k == 0) plan.block_k = name.block_k;
    plan.split_grain = gemm.k % 64 == 0 ? 64 : 8;
    if (plan.block_k == 0) {
        // Nothing tells the tile. Where none that is in use leaves a short one, it does not matter.
        if (gemm.k % 64 != 0 || plan.splits > 1)
            return unknown("stages id " + std::to_string(gemm.stages) + " does not tell the k of a tile");
        plan.block_k = 32;
    }
    return {plan, "algorithm " + std::to_string(gemm.algorithm) + " (CUTLASS)"};
}

}  // namespace

unsigned block_k_of_stages(int stages) {
    if (stages >= 1 && stages <= 24) return 16u << ((stages - 1) / 6);
    switch (stages) {
        case 26:
        case 28:
        case 31:
        case 32:
            return 8;
        case 27:
        case 33:
            return 16;
        case 25:
        case 34:
            return 32;
        case 35:
            return 64;
        case 36:
            return 128;
        case 37:
            return 256;
        case 38:
            return 768;
        default:
            return 0;
    }
}

CublasPlan plan_of(const CublasGemm& gemm) {
    if (gemm.compute == CublasCompute::i32 || is_integer(gemm.a)) {
        if (gemm.a != Element::int8 || gemm.b != Element::int8) return unknown("integers of unknown width");
        ReductionPlan plan;
        plan.arithmetic = Arithmetic::integer;
        plan.a = plan.b = Element::int8;
        plan.accumulator = Element::int32;
        plan.c = gemm.c;
        plan.d = gemm.d;
        plan.bias = gemm.bias;
        plan.epilogue = gemm.epilogue;
        if (gemm.d != Element::int32 && gemm.split_k > 1 && gemm.reduction_scheme != kComputeType)
            return unknown("slices of integers that are rounded to the output");
        return {plan, "integers are exact in any order"};
    }
    const CublasKernelName name = parse_cublas_kernels(gemm.kernels);
    const Multiplier multiplier = multiplier_of(gemm, name);
    if (!multiplier.problem.empty()) return unknown(multiplier.problem);
    ReductionPlan plan;
    try {
        plan = plan_from(gemm, multiplier);
    } catch (const std::invalid_argument& error) {
        return unknown(error.what());
    }
    if (name.family == KernelFamily::vector)
        return unknown("a kernel for matrix times vector: its order was not studied");
    if (!multiplier.tensor_core)
        return unknown("the order on the CUDA cores and in fp64 is to be revealed by FPRev");
    if (gemm.algorithm == 66) return nvjet_plan(gemm, plan);
    for (const int id : {12, 21, 23, 24})
        if (gemm.algorithm == id) return cutlass_plan(gemm, name, plan);
    return unknown("the order of algorithm " + std::to_string(gemm.algorithm) + " was not studied");
}

std::vector<ReductionPlan> likely_plans(const CublasGemm& gemm) {
    std::vector<ReductionPlan> plans;
    const auto add = [&](const ReductionPlan& plan) {
        if (std::find(plans.begin(), plans.end(), plan) == plans.end()) plans.push_back(plan);
    };
    const CublasPlan certain = plan_of(gemm);
    if (certain.plan) add(*certain.plan);
    if (gemm.compute == CublasCompute::i32 || is_integer(gemm.a)) return plans;

    const CublasKernelName name = parse_cublas_kernels(gemm.kernels);
    ReductionPlan first;
    try {
        first = plan_from(gemm, multiplier_of(gemm, name));
        std::string ignored;
        if (!set_merge(first, gemm, ignored)) first.merge = SliceMerge::accumulators;
        check_plan(first);
    } catch (const std::invalid_argument&) {
        return plans;
    }
    if (name.instruction_k != 0 && first.arithmetic == Arithmetic::tensor_core)
        first.instruction_k = name.instruction_k;
    const unsigned told = block_k_of_stages(gemm.stages) != 0 ? block_k_of_stages(gemm.stages) : name.block_k;
    const bool cutlass = name.family == KernelFamily::cutlass;
    const std::vector<unsigned> blocks =
        told != 0 ? std::vector<unsigned>{told} : std::vector<unsigned>{64, 32, 16, 128, 8};
    const std::vector<unsigned> parts =
        name.slices_of_k > 1 ? std::vector<unsigned>{name.slices_of_k} : std::vector<unsigned>{1, 2, 4};
    for (const unsigned block_k : blocks) {
        for (const unsigned part : parts) {
            for (const ResidueTile residue : {cutlass ? ResidueTile::first : ResidueTile::last,
                                              cutlass ? ResidueTile::last : ResidueTile::first}) {
                ReductionPlan plan = first;
                plan.block_k = block_k;
                plan.residue = residue;
                plan.accumulators = part;
                plan.accumulator_group = std::max(1u, block_k / part);
                plan.split_grain = block_k;
                if (is_fp8(gemm.a) && !gemm.fast_accumulation) plan.promotion_interval = 128;
                add(plan);
                if (plan.splits > 1)
                    for (const unsigned grain : {64u, 8u, 1u, 16u, 32u, 128u}) {
                        plan.split_grain = grain;
                        add(plan);
                    }
            }
        }
    }
    return plans;
}

}  // namespace heddle::numerics
