// The descriptors of cublasLt. They are opaque, but a program may hold them itself (cublasLt...Init), so that each fits in what its header
// reserves.
#pragma once

#include "driver/cublas/call.h"

namespace heddle::driver {

/// cublasLtMatrixLayout: 64 bytes are reserved.
struct Layout {
    std::uint64_t rows, columns;
    std::int64_t leading, stride;
    std::int32_t type, order, batch;  ///< cudaDataType; cublasLtOrder_t: 0 columns, 1 rows
};
/// cublasLtMatmulDesc: 256 bytes. Pointers are null where nothing is asked for.
struct MatmulDescription {
    std::int32_t compute_type, scale_type, pointer_mode, transa, transb, transc, fill_mode, epilogue, bias_type, auxiliary_type, fast_accumulation, sm_target;
    const void *bias, *auxiliary, *scale_a, *scale_b, *scale_c, *scale_d, *largest_d, *auxiliary_scale, *auxiliary_largest;
    std::int64_t bias_stride, auxiliary_leading, auxiliary_stride;
};
/// cublasLtMatrixTransformDesc: 64 bytes.
struct TransformDescription {
    std::int32_t scale_type, pointer_mode, transa, transb;
};
/// cublasLtMatmulPreference: 64 bytes.
struct Preference {
    std::uint64_t workspace_bytes;
};
static_assert(sizeof(Layout) <= 64 && sizeof(MatmulDescription) <= 256 && sizeof(TransformDescription) <= 64 && sizeof(Preference) <= 64);

}  // namespace heddle::driver
