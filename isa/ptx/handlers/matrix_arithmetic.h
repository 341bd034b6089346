// What the floating-point matrix instructions share. Included by the handler files only, see lanes.h.
#pragma once

#include "isa/numerics/dot_product_unit.h"
#include "isa/ptx/handlers/fragments.h"
#include "isa/target/generation.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {

/// What numerics::matrix_multiply_accumulate() takes for a format.
template <numerics::Format kFormat>
using StorageOf = std::conditional_t<
    numerics::traits(kFormat).storage_bits == 8, std::uint8_t,
    std::conditional_t<numerics::traits(kFormat).storage_bits == 16, std::uint16_t, std::uint32_t>>;

/// The arithmetic of the launch's device. Sum: float, or std::uint16_t for f16.
template <numerics::Format kA, numerics::Format kB, class Sum>
numerics::DotProductParameters tensor_core(const State& warp) {
    constexpr numerics::Format kSum = sizeof(Sum) == 2 ? numerics::Format::fp16 : numerics::Format::fp32;
    return numerics::parameters_for(target::generation_of(warp.cta->launch.compute_capability), kA, kB, kSum,
                                    numerics::Instruction::mma_sync);
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
