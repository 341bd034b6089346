#include "workloads/kernels/gemm_plan.h"

#include <algorithm>

#include "isa/common/error.h"
#include "isa/target/generation.h"

namespace heddle::kernels {
namespace {

using numerics::Element;
using numerics::ReductionPlan;

void set_output(ReductionPlan& plan, const GemmEpilogue& epilogue) {
    plan.d = epilogue.expression ? plan.accumulator : element_of(epilogue.output);
    plan.c = element_of(epilogue.c);
    plan.bias = element_of(epilogue.bias);
}

void set_split(ReductionPlan& plan, const GemmPartition& partition, unsigned k_per_split,
               const GemmEpilogue& own, const GemmEpilogue& reduced) {
    if (!partition.split_k) {
        set_output(plan, own);
        return;
    }
    if (k_per_split == 0)
        throw Error("the plan of a split-K kernel needs the k of one slice", {.key = "k_per_split"});
    plan.k_per_split = k_per_split;
    plan.merge = numerics::SliceMerge::accumulators;
    set_output(plan, reduced);
}

}  // namespace

Element element_of(ElementType type) {
    switch (type) {
        case ElementType::f64:
            return Element::fp64;
        case ElementType::f32:
            return Element::fp32;
        case ElementType::f16:
            return Element::fp16;
        case ElementType::bf16:
            return Element::bf16;
        case ElementType::e4m3:
            return Element::e4m3;
        case ElementType::e5m2:
            return Element::e5m2;
        case ElementType::i8:
            return Element::int8;
        case ElementType::i32:
            return Element::int32;
        default:
            throw Error("no matrix multiplication has elements of " + name_of(type));
    }
}

ReductionPlan plan_of(const GemmSimtSpec& spec, unsigned k_per_split, const GemmEpilogue& reduced) {
    ReductionPlan plan;
    plan.a = plan.b = plan.accumulator = element_of(spec.type);
    plan.arithmetic = numerics::Arithmetic::fused_multiply_add;
    plan.block_k = kGemmSimtTileK;
    plan.zero_fill = true;
    set_split(plan, spec.partition, k_per_split, spec.epilogue, reduced);
    return plan;
}

ReductionPlan plan_of(const GemmMmaSpec& spec, unsigned k_per_split, const GemmEpilogue& reduced) {
    ReductionPlan plan;
    plan.block_k = spec.tile.k;
    if (spec.type == ElementType::i8) {
        plan.a = plan.b = Element::int8;
        plan.accumulator = plan.d = Element::int32;
        plan.arithmetic = numerics::Arithmetic::integer;
        return plan;
    }
    if (spec.type == ElementType::f64) {
        plan.a = plan.b = plan.accumulator = Element::fp64;
        plan.arithmetic = numerics::Arithmetic::fused_multiply_add;
        plan.zero_fill = true;
        set_split(plan, spec.partition, k_per_split, spec.epilogue, reduced);
        return plan;
    }
    plan.a = plan.b = spec.type == ElementType::f32 ? Element::tf32 : element_of(spec.type);
    plan.accumulator = Element::fp32;
    plan.tensor_core = numerics::parameters_for(target::generation_of(spec.compute_capability),
                                                numerics::format_of(plan.a), numerics::Format::fp32);
    plan.instruction_k = target::nearest_generation(spec.compute_capability).mma_k(bytes_of(spec.type));
    set_split(plan, spec.partition, k_per_split, spec.epilogue, reduced);
    return plan;
}

ReductionPlan plan_of(const GemmWgmmaSpec& spec, unsigned k_per_split, const GemmEpilogue& reduced) {
    ReductionPlan plan;
    plan.instruction_k = 32 / bytes_of(spec.type);
    plan.block_k = wgmma_tile_k(spec.type);
    if (spec.type == ElementType::i8) {
        plan.a = plan.b = Element::int8;
        plan.accumulator = plan.d = Element::int32;
        plan.arithmetic = numerics::Arithmetic::integer;
        return plan;
    }
    plan.a = plan.b = spec.type == ElementType::f32 ? Element::tf32 : element_of(spec.type);
    plan.accumulator = Element::fp32;
    plan.tensor_core =
        numerics::parameters_for(target::generation_of(spec.compute_capability), numerics::format_of(plan.a),
                                 numerics::Format::fp32,
                                 multiplies_in_tensor_memory(spec) ? numerics::Instruction::tcgen05 : numerics::Instruction::wgmma);
    set_split(plan, spec.partition, k_per_split, spec.epilogue, reduced);
    return plan;
}

ReductionPlan plan_of(const GemvSpec& spec) {
    ReductionPlan plan;
    plan.a = plan.b = element_of(spec.type);
    plan.accumulator = spec.type == ElementType::f64 ? Element::fp64 : Element::fp32;
    plan.arithmetic = numerics::Arithmetic::fused_multiply_add;
    plan.accumulators = 32 * spec.warps;
    plan.accumulator_group = gemv_piece(spec.type);
    plan.block_k = plan.accumulators * plan.accumulator_group;  // one piece for each lane
    plan.combination =
        spec.warps == 1 ? numerics::Combination::halves_first : numerics::Combination::warps_then_forward;
    plan.zero_fill = true;
    set_output(plan, spec.epilogue);
    return plan;
}

ReductionPlan plan_of(const GemmChoice& choice, ElementType type, ElementType output,
                      unsigned compute_capability) {
    GemmEpilogue epilogue;
    epilogue.output = output;
    const GemmPartition partition{.batched = false, .split_k = choice.splits > 1};
    if (choice.gemv_warps != 0) {
        GemvSpec spec;
        spec.compute_capability = compute_capability;
        spec.type = type;
        spec.warps = choice.gemv_warps;
        spec.epilogue = epilogue;
        return plan_of(spec);
    }
    if (!choice.tensor_cores) {
        GemmSimtSpec spec;
        spec.compute_capability = compute_capability;
        spec.type = type;
        spec.partition = partition;
        spec.epilogue = epilogue;
        return plan_of(spec, choice.k_per_split, epilogue);
    }
    if (choice.wgmma) {
        GemmWgmmaSpec spec;
        spec.compute_capability = compute_capability;
        spec.type = type;
        spec.tile = *choice.wgmma;
        spec.partition = partition;
        spec.epilogue = epilogue;
        return plan_of(spec, choice.k_per_split, epilogue);
    }
    GemmMmaSpec spec;
    spec.compute_capability = compute_capability;
    spec.type = type;
    spec.tile = choice.tile;
    spec.partition = partition;
    spec.epilogue = epilogue;
    return plan_of(spec, choice.k_per_split, epilogue);
}

std::vector<PlannedPart> planned_parts(const GemmChoice& choice, const ReductionPlan& plan, std::uint32_t m,
                                       std::uint32_t n) {
    if (!choice.stream) return {{0, 0, m, n, plan}};
    std::vector<PlannedPart> parts;
    const GemmTile& tile = choice.tile;
    for (std::uint32_t row = 0; row < m; row += tile.m) {
        for (std::uint32_t column = 0; column < n; column += tile.n) {
            PlannedPart part{row, column, std::min(m - row, tile.m), std::min(n - column, tile.n), plan};
            part.plan.first_slice_k =
                choice.stream->first_stages(row / tile.m, column / tile.n) * plan.block_k;
            parts.push_back(part);
        }
    }
    return parts;
}

std::vector<std::byte> evaluate(const std::vector<PlannedPart>& parts,
                                const numerics::PlanOperands& operands) {
    std::vector<std::byte> d;
    for (const PlannedPart& part : parts) {
        const std::size_t size = numerics::bytes_of(part.plan.d);
        d.resize(operands.m * operands.n * size);
        numerics::PlanOperands own = operands;
        own.m = part.rows;
        own.n = part.columns;
        const auto rows_of = [&](std::span<const std::byte> all, std::size_t extent, std::size_t first,
                                 std::size_t count) {
            return all.subspan(all.size() / extent * first, all.size() / extent * count);
        };
        own.a = rows_of(operands.a, operands.m, part.row, part.rows);
        own.b = rows_of(operands.b, operands.n, part.column, part.columns);
        const std::vector<std::byte> values = numerics::evaluate(part.plan, own);
        for (std::size_t i = 0; i < part.rows; ++i) {
            const auto from = values.begin() + static_cast<std::ptrdiff_t>(i * part.columns * size);
            std::copy_n(
                from, part.columns * size,
                d.begin() + static_cast<std::ptrdiff_t>(((part.row + i) * operands.n + part.column) * size));
        }
    }
    return d;
}

}  // namespace heddle::kernels
