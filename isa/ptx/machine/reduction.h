// Reductions that copies perform: cp.reduce.async.bulk, red.async.
#pragma once

#include <cstddef>
#include <cstdint>

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// How a copy changes what is in memory already.
enum class ReductionOperation : std::uint8_t {
    none,
    add,
    minimum,
    maximum,
    increment,
    decrement,
    and_,
    or_,
    exclusive_or,
};
/// none: the instruction does not reduce.
ReductionOperation reduction_operation(const Instruction& instruction);

/// Whether elements of this type can be combined like this. b32 and b64 stand for untyped integers.
bool can_reduce(ReductionOperation operation, Type type);

/// to[k] = to[k] op from[k] for each element in `bytes`, a multiple of the element's size.
///
/// Additions round to nearest even. Those of f32 flush subnormal inputs and results, like all f32 additions
/// in global memory (PTX manual, "red"), unless `keeps_subnormals`: tensors whose type is not .ftz; of f16
/// and bf16 do not (.noftz). Minimum and maximum of f16 and bf16 return the other operand when one is NaN,
/// the canonical NaN when both are, and take -0 to be below +0 (as min and max do).
void reduce_elements(ReductionOperation operation, Type type, std::byte* to, const std::byte* from,
                     std::size_t bytes, bool keeps_subnormals = false);

}  // namespace heddle::ptx
