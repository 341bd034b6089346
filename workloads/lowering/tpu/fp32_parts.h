// The products that matrix units compute for operands of given types, and the parts of fp32 operands in each
// pass.
#pragma once

#include <utility>
#include <vector>

#include "isa/tpu/instruction.h"
#include "workloads/lowering/tpu/core_builder.h"

namespace heddle::lowering::on_tpu {

/// Parts of activations and weights multiplied in each of 1, 3 or 6 passes, the smallest products first.
inline std::vector<std::pair<tpu::Bf16Part, tpu::Bf16Part>> parts_of(unsigned passes) {
    using enum tpu::Bf16Part;
    if (passes == 3) return {{middle, high}, {high, middle}, {high, high}};
    if (passes == 6)
        return {{middle, middle}, {low, high}, {high, low}, {middle, high}, {high, middle}, {high, high}};
    return {{high, high}};
}

/// How the matrix units multiply operands of two types.
struct ProductTypes {
    tpu::ElementType popped = tpu::ElementType::fp32;  ///< as results leave the matrix units
    std::vector<std::pair<tpu::Bf16Part, tpu::Bf16Part>> passes;
};

/// Returns the types of a product. `passes` is the number of passes for two fp32 operands; others have one.
/// Throws Unsupported for types that cannot be combined.
inline ProductTypes product_types(tpu::ElementType activations, tpu::ElementType weights, unsigned passes) {
    using tpu::ElementType;
    const auto integer = [](ElementType type) {
        return type == ElementType::int8 || type == ElementType::int16;
    };
    const auto floating = [](ElementType type) { return value_type_of(type) == tpu::ValueType::floating; };
    if (integer(activations) && integer(weights)) return {ElementType::int32, parts_of(1)};
    if (!floating(activations) || !floating(weights))
        throw Unsupported{"matrix units multiply bf16 (from fp32, bf16 or fp8), or int8 and int16"};
    const bool wide = activations == ElementType::fp32 && weights == ElementType::fp32;
    return {ElementType::fp32, parts_of(wide ? passes : 1)};
}

}  // namespace heddle::lowering::on_tpu
