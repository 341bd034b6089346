// Which ops are work of a device's matrix units.
#pragma once

#include "workloads/trace/trace.h"

namespace heddle::trace {

/// What a GPU gives to its tensor cores, a TPU to its systolic arrays: matrix products, convolutions,
/// attention, and their gradients.
bool is_product(OpKind kind);

}  // namespace heddle::trace
