// Which part of the model does an op belong to?
#pragma once

#include <string>

#include "workloads/trace/trace.h"

namespace heddle::trace {

/// The module of the model that asked for the op, as PyTorch names it ("transformer.h.0.attn"). Any op may have it; recordings of
/// workloads/tracers do.
inline constexpr Text module_key{"module"};

/// Returns the op's module, in a name whose parts are divided by dots. Without the attribute it follows from the names that the zoo and
/// files of layers give: "block0.qkv" of "d block0.qkv.weight.copy of block0.qkv". Empty where nothing names one.
std::string module_of(const Op& op);

}  // namespace heddle::trace
