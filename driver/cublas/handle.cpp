// Handles of cuBLAS, their settings, and copies between host and device.
#include "driver/cublas/handle.h"

#include <cstdio>

extern "C" {
CUresult cuInit(unsigned);
CUresult cuCtxGetCurrent(CUcontext*);
CUresult cuCtxSetCurrent(CUcontext);
CUresult cuDevicePrimaryCtxRetain(CUcontext*, CUdevice);
CUresult cuMemAlloc_v2(CUdeviceptr*, std::size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemcpyAsync(CUdeviceptr, CUdeviceptr, std::size_t, CUstream);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D*);
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D*, CUstream);
CUresult cuStreamSynchronize(CUstream);
}

using namespace heddle::driver;

namespace heddle::driver {

namespace {

/// As in cuBLAS the primary context of the first device is made current where none is.
cublasStatus_t with_context() {
    CUcontext context = nullptr;
    cuCtxGetCurrent(&context);
    if (context != nullptr) return CUBLAS_STATUS_SUCCESS;
    if (cuInit(0) != CUDA_SUCCESS || cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS || cuCtxSetCurrent(context) != CUDA_SUCCESS)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    return CUBLAS_STATUS_SUCCESS;
}

/// Rows of `bytes` each, at distances of `from_pitch` and `to_pitch` bytes.
cublasStatus_t copy_rows(const void* from, std::size_t from_pitch, void* to, std::size_t to_pitch, std::size_t bytes, std::size_t rows, const CUstream* stream) {
    if (bytes == 0 || rows == 0) return CUBLAS_STATUS_SUCCESS;
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = copy.dstMemoryType = 4;  // unified: the address says which memory it is
    copy.srcDevice = address_of(from);
    copy.dstDevice = address_of(to);
    copy.srcPitch = from_pitch;
    copy.dstPitch = to_pitch;
    copy.WidthInBytes = bytes;
    copy.Height = rows;
    const CUresult status = stream == nullptr ? cuMemcpy2D_v2(&copy) : cuMemcpy2DAsync_v2(&copy, *stream);
    return status == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

template <class Int>
cublasStatus_t copy_vector(Int n, Int bytes, const void* from, Int from_increment, void* to, Int to_increment, const CUstream* stream) {
    if (n < 0 || bytes <= 0 || from_increment <= 0 || to_increment <= 0) return CUBLAS_STATUS_INVALID_VALUE;
    const auto size = static_cast<std::size_t>(bytes);
    return copy_rows(from, size * static_cast<std::size_t>(from_increment), to, size * static_cast<std::size_t>(to_increment), size, static_cast<std::size_t>(n), stream);
}

template <class Int>
cublasStatus_t copy_matrix(Int rows, Int columns, Int bytes, const void* from, Int from_leading, void* to, Int to_leading, const CUstream* stream) {
    if (rows < 0 || columns < 0 || bytes <= 0 || from_leading < rows || to_leading < rows) return CUBLAS_STATUS_INVALID_VALUE;
    const auto size = static_cast<std::size_t>(bytes);
    return copy_rows(from, size * static_cast<std::size_t>(from_leading), to, size * static_cast<std::size_t>(to_leading), size * static_cast<std::size_t>(rows),
                     static_cast<std::size_t>(columns), stream);
}

struct StatusText {
    cublasStatus_t code;
    const char *name, *text;
};
constexpr StatusText kStatusTexts[] = {
    {0, "CUBLAS_STATUS_SUCCESS", "success"},
    {1, "CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {3, "CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {7, "CUBLAS_STATUS_INVALID_VALUE", "an invalid value was used as an argument"},
    {8, "CUBLAS_STATUS_ARCH_MISMATCH", "the device does not have the feature"},
    {11, "CUBLAS_STATUS_MAPPING_ERROR", "an access to device memory failed"},
    {13, "CUBLAS_STATUS_EXECUTION_FAILED", "the program failed to execute"},
    {14, "CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {15, "CUBLAS_STATUS_NOT_SUPPORTED", "the functionality is not supported"},
    {16, "CUBLAS_STATUS_LICENSE_ERROR", "the license check failed"},
};

constexpr int kLibraryVersion = HEDDLE_CUBLAS * 10000;

}  // namespace
}  // namespace heddle::driver

CUdeviceptr cublasContext::workspace_of(std::size_t bytes) {
    if (bytes <= workspace_bytes) return workspace;
    if (workspace != 0) {
        cuStreamSynchronize(stream);
        cuMemFree_v2(workspace);
    }
    workspace_bytes = cuMemAlloc_v2(&workspace, bytes) == CUDA_SUCCESS ? bytes : 0;
    if (workspace_bytes == 0) workspace = 0;
    return workspace;
}

CUdeviceptr cublasContext::place_for(const void* result_pointer) {
    return on_device() ? address_of(result_pointer) : result;
}

cublasStatus_t cublasContext::fetch(void* result_pointer, std::size_t bytes) {
    if (on_device()) return CUBLAS_STATUS_SUCCESS;
    if (cuMemcpyAsync(address_of(result_pointer), result, bytes, stream) != CUDA_SUCCESS || cuStreamSynchronize(stream) != CUDA_SUCCESS)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    return CUBLAS_STATUS_SUCCESS;
}

HEDDLE_API cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
    if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (const cublasStatus_t status = with_context(); status != CUBLAS_STATUS_SUCCESS) return status;
    auto* const made = new cublasContext;
    if (cuMemAlloc_v2(&made->result, 64) != CUDA_SUCCESS) {
        delete made;
        return CUBLAS_STATUS_ALLOC_FAILED;
    }
    *handle = made;
    return CUBLAS_STATUS_SUCCESS;
}
HEDDLE_API cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    cuStreamSynchronize(handle->stream);
    if (handle->workspace != 0) cuMemFree_v2(handle->workspace);
    cuMemFree_v2(handle->result);
    delete handle;
    return CUBLAS_STATUS_SUCCESS;
}

// Arguments of these macros are types and names, which parentheses would spoil.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define HEDDLE_SETTING(set, get, type, member)                                   \
    HEDDLE_API cublasStatus_t set(cublasHandle_t handle, type value) {           \
        if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;             \
        handle->member = value;                                                  \
        return CUBLAS_STATUS_SUCCESS;                                            \
    }                                                                            \
    HEDDLE_API cublasStatus_t get(cublasHandle_t handle, type* value) {          \
        if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;             \
        if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;                \
        *value = handle->member;                                                 \
        return CUBLAS_STATUS_SUCCESS;                                            \
    }
HEDDLE_SETTING(cublasSetStream_v2, cublasGetStream_v2, CUstream, stream)
HEDDLE_SETTING(cublasSetPointerMode_v2, cublasGetPointerMode_v2, Enumeration, pointer_mode)
HEDDLE_SETTING(cublasSetAtomicsMode, cublasGetAtomicsMode, Enumeration, atomics)
HEDDLE_SETTING(cublasSetMathMode, cublasGetMathMode, Enumeration, math_mode)
HEDDLE_SETTING(cublasSetSmCountTarget, cublasGetSmCountTarget, int, sm_target)
#undef HEDDLE_SETTING
/// Kernels of ours take workspaces of the device's own memory.
HEDDLE_API cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void*, std::size_t) { return handle == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS; }
HEDDLE_API cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
    *version = kLibraryVersion;
    return CUBLAS_STATUS_SUCCESS;
}
/// `type`: 0 the major version, 1 the minor one, 2 the patch.
HEDDLE_API cublasStatus_t cublasGetProperty(int type, int* value) {
    *value = type == 0 ? kLibraryVersion / 10000 : 0;
    return CUBLAS_STATUS_SUCCESS;
}
HEDDLE_API std::size_t cublasGetCudartVersion() { return HEDDLE_CUBLAS * 1000; }
HEDDLE_API cublasStatus_t cublasLoggerConfigure(int, int, int, const char*) { return CUBLAS_STATUS_SUCCESS; }
HEDDLE_API const char* cublasGetStatusName(cublasStatus_t status) {
    for (const StatusText& text : kStatusTexts)
        if (text.code == status) return text.name;
    return "CUBLAS_STATUS_UNKNOWN";
}
HEDDLE_API const char* cublasGetStatusString(cublasStatus_t status) {
    for (const StatusText& text : kStatusTexts)
        if (text.code == status) return text.text;
    return "unknown status";
}

#define HEDDLE_COPIES(Int, suffix)                                                                                                                          \
    HEDDLE_API cublasStatus_t cublasSetVector##suffix(Int n, Int bytes, const void* x, Int incx, void* y, Int incy) {                                       \
        return copy_vector<Int>(n, bytes, x, incx, y, incy, nullptr);                                                                                       \
    }                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublasGetVector##suffix(Int n, Int bytes, const void* x, Int incx, void* y, Int incy) {                                       \
        return copy_vector<Int>(n, bytes, x, incx, y, incy, nullptr);                                                                                       \
    }                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublasSetVectorAsync##suffix(Int n, Int bytes, const void* x, Int incx, void* y, Int incy, CUstream stream) {                 \
        return copy_vector<Int>(n, bytes, x, incx, y, incy, &stream);                                                                                       \
    }                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublasGetVectorAsync##suffix(Int n, Int bytes, const void* x, Int incx, void* y, Int incy, CUstream stream) {                 \
        return copy_vector<Int>(n, bytes, x, incx, y, incy, &stream);                                                                                       \
    }                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublasSetMatrix##suffix(Int rows, Int columns, Int bytes, const void* a, Int lda, void* b, Int ldb) {                         \
        return copy_matrix<Int>(rows, columns, bytes, a, lda, b, ldb, nullptr);                                                                             \
    }                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublasGetMatrix##suffix(Int rows, Int columns, Int bytes, const void* a, Int lda, void* b, Int ldb) {                         \
        return copy_matrix<Int>(rows, columns, bytes, a, lda, b, ldb, nullptr);                                                                             \
    }                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublasSetMatrixAsync##suffix(Int rows, Int columns, Int bytes, const void* a, Int lda, void* b, Int ldb, CUstream stream) {   \
        return copy_matrix<Int>(rows, columns, bytes, a, lda, b, ldb, &stream);                                                                             \
    }                                                                                                                                                       \
    HEDDLE_API cublasStatus_t cublasGetMatrixAsync##suffix(Int rows, Int columns, Int bytes, const void* a, Int lda, void* b, Int ldb, CUstream stream) {   \
        return copy_matrix<Int>(rows, columns, bytes, a, lda, b, ldb, &stream);                                                                             \
    }
HEDDLE_COPIES(int, )
HEDDLE_COPIES(std::int64_t, _64)
#undef HEDDLE_COPIES
// NOLINTEND(bugprone-macro-parentheses)
