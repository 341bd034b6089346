// Attributes of launches, also for nodes of graphs.
#pragma once

#include "driver/cuda/state.h"

extern "C" CUresult cuEventRecord(CUevent, CUstream);

namespace heddle::driver {

using Value = decltype(CUlaunchAttribute::value);

/// Changes what a launch does by an attribute (CUlaunchAttributeID). CUDA_ERROR_NOT_SUPPORTED where there is no such thing; what changes no time here is
/// named once.
CUresult set_attribute(Shape& shape, unsigned attribute, const Value& value);
/// Says what it is; zeros where it was not set.
CUresult get_attribute(const Shape& shape, unsigned attribute, Value& value);

}  // namespace heddle::driver
