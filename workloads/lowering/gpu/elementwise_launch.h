// One elementwise launch over operands with strides, for all families of ops that can be expressed in this
// way.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/expression/expression.h"
#include "workloads/lowering/gpu/builder.h"

namespace heddle::lowering {

/// One operand of such a launch.
struct ElementwiseOperand {
    trace::ElementType type = trace::ElementType::f32;
    kernels::KernelArgument pointer;
    std::vector<std::int64_t>
        strides;  ///< elements, one per axis of the result; 0 where it repeats. Inputs only.
};

/// Describes input i of the current op, broadcast to `shape`.
ElementwiseOperand input_operand(const GpuProgramBuilder& builder, std::size_t i,
                                 const std::vector<std::int64_t>& shape);
/// Describes output i of the current op, which must be dense.
ElementwiseOperand output_operand(const GpuProgramBuilder& builder, std::size_t i);

/// y0, y1, ... = expression(x0, x1, ...; s0, s1, ...) over `shape`. The op's attributes "vector_width",
/// "elements_per_thread", "threads", "strided", "in_turn", "casting" and "chunk_elements" (from a recording) shape the
/// kernel. No elements: no
/// launch.
void launch_elementwise(GpuProgramBuilder& builder, const expression::Expression& expression,
                        const std::vector<double>& scalars, const std::vector<std::int64_t>& shape,
                        const std::vector<ElementwiseOperand>& inputs,
                        const std::vector<ElementwiseOperand>& outputs);

}  // namespace heddle::lowering
