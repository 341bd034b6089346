// CUDA arrays as copies see them: rows in device memory.
#pragma once

#include "driver/cuda/array_types.h"
#include "driver/cuda/types.h"

namespace heddle::driver {

/// Puts memory with a pitch in the place of the arrays of a copy. CUDA_ERROR_INVALID_VALUE where it leaves an array, CUDA_ERROR_INVALID_HANDLE where
/// there is no such array.
CUresult resolve_arrays(CUDA_MEMCPY2D& copy);

}  // namespace heddle::driver
