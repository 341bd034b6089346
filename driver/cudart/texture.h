// What arrays and textures of the runtime share: formats of texels in both descriptions, and copies of arrays for cudaMemcpy3D.
#pragma once

#include "driver/cuda/array_types.h"
#include "driver/cudart/driver_api.h"
#include "driver/cudart/runtime.h"
#include "driver/cudart/texture_types.h"
#include "driver/cudart/types.h"

namespace heddle::runtime {

constexpr cudaError_t kErrorInvalidChannelDescriptor = 20;

/// CUarray_format and the number of channels; false: there are none for it.
bool format_of(const cudaChannelFormatDesc& description, unsigned& format, unsigned& channels);
/// The other way round.
cudaChannelFormatDesc description_of(unsigned format, unsigned channels);

/// A copy with at least one array: extents and the array's position count its elements.
cudaError_t copy_arrays(const cudaMemcpy3DParms& parameters, CUstream stream);

}  // namespace heddle::runtime
