// Types of the cuBLAS interface, as its header declares them: numbers, and the state behind a handle.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/cuda/types.h"
#include "driver/protocol/blas.h"

using cublasStatus_t = unsigned;
constexpr cublasStatus_t CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_INITIALIZED = 1, CUBLAS_STATUS_ALLOC_FAILED = 3, CUBLAS_STATUS_INVALID_VALUE = 7,
                         CUBLAS_STATUS_MAPPING_ERROR = 11, CUBLAS_STATUS_EXECUTION_FAILED = 13, CUBLAS_STATUS_NOT_SUPPORTED = 15;

/// cublasOperation_t, cublasFillMode_t, cublasDiagType_t, cublasSideMode_t, cublasPointerMode_t, cublasMath_t, cudaDataType and
/// cublasComputeType_t, all of them C enumerations.
using Enumeration = int;
constexpr Enumeration kFillLower = 0, kFillUpper = 1, kUnitDiagonal = 1, kSideRight = 1, kPointersOnDevice = 1, kMathTensor = 1, kMathTf32 = 3;

namespace heddle::driver {

/// The element type of a cudaDataType; false: none of ours.
inline bool number_of(Enumeration data_type, Number* number) {
    switch (data_type) {
        case 0:
            *number = Number::f32;
            return true;
        case 1:
            *number = Number::f64;
            return true;
        case 2:
            *number = Number::f16;
            return true;
        case 3:
            *number = Number::i8;
            return true;
        case 8:
            *number = Number::u8;
            return true;
        case 10:
            *number = Number::i32;
            return true;
        case 14:
            *number = Number::bf16;
            return true;
        case 24:
            *number = Number::i64;
            return true;
        case 28:
            *number = Number::e4m3;
            return true;
        case 29:
            *number = Number::e5m2;
            return true;
        default:
            return false;
    }
}

inline unsigned bytes_of(Number number) {
    switch (number) {
        case Number::f64:
        case Number::i64:
            return 8;
        case Number::f32:
        case Number::i32:
            return 4;
        case Number::f16:
        case Number::bf16:
            return 2;
        default:
            return 1;
    }
}

/// What a cublasComputeType_t says: the type of alpha and beta, and whether f32 may be read as tf32.
struct ComputeRules {
    bool known = false, tf32 = false;
    Number scale = Number::f32;
};
inline ComputeRules compute_rules(Enumeration compute_type) {
    switch (compute_type) {
        case 64:  // CUBLAS_COMPUTE_16F
        case 65:
            return {true, false, Number::f16};
        case 68:  // CUBLAS_COMPUTE_32F
        case 69:
        case 78:  // EMULATED_16BFX9
            return {true, false, Number::f32};
        case 74:  // FAST_16F and FAST_16BF allow tf32, too
        case 75:
        case 77:  // FAST_TF32
            return {true, true, Number::f32};
        case 70:  // CUBLAS_COMPUTE_64F
        case 71:
            return {true, false, Number::f64};
        case 72:  // CUBLAS_COMPUTE_32I
        case 73:
            return {true, false, Number::i32};
        default:
            return {};
    }
}

/// A number of the host's memory.
double host_value(const void* value, Number type);
/// A scalar of a call, whose pointer leads to the host's memory or to the device's.
Factor factor_of(const void* value, Number type, bool on_device);

inline std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

}  // namespace heddle::driver
