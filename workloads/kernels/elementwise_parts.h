// Parts of the elementwise kernels that are of one form alone.
#pragma once

#include <functional>

#include "workloads/kernels/elementwise.h"

namespace heddle::kernels {

/// Whether any input has this access pattern.
bool has_access(const ElementwiseSpec& spec, AccessPattern access);

/// elementwise_kernel of PyTorch: results have offset calculators too, and the number of dimensions is an
/// argument.
bool counts_dimensions(const ElementwiseSpec& spec);

/// Casting kernels: emits the code of every type that PyTorch has, and goes to that of the type whose number
/// (c10::ScalarType) is in `type`.
void emit_by_type(PtxWriter& w, const Reg& type, const std::function<void(ElementType)>& code);
/// c10::ScalarType. Throws heddle::Error, naming the operand, for types that casting kernels do not know.
unsigned cast_number(ElementType type, const std::string& operand);

}  // namespace heddle::kernels
