// Elements of the types that cublasLt multiplies.
#pragma once

#include <library_types.h>

#include <cstddef>

namespace heddle::virtual_cuda {

unsigned size_of(cudaDataType_t type);  ///< bytes
double decoded(cudaDataType_t type, const std::byte* from);
void encode(cudaDataType_t type, double value, std::byte* to);  ///< rounded to nearest even
bool is_fp8(cudaDataType_t type);

}  // namespace heddle::virtual_cuda
