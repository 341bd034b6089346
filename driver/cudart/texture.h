// Copies between arrays and memory in three dimensions, for cudaMemcpy3D.
#pragma once

#include "driver/cudart/driver_api.h"
#include "driver/cudart/types.h"

namespace heddle::runtime {

/// A copy with at least one array: extents and the array's position count its elements.
cudaError_t copy_arrays(const cudaMemcpy3DParms& parameters, CUstream stream);

}  // namespace heddle::runtime
