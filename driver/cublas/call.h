// How the stand-ins for cuBLAS and cublasLt send a request to the virtual GPU.
#pragma once

#include <cstring>
#include <string_view>

#include "driver/cublas/types.h"
#include "driver/protocol/protocol.h"

#define HEDDLE_API extern "C" __attribute__((visibility("default")))

extern "C" {
CUresult heddle_library_call(CUstream, const void*, std::size_t);
CUresult heddle_missing(const char*);
}

namespace heddle::driver {

/// What a status of the driver is called in cuBLAS.
inline cublasStatus_t blas_status(CUresult status) {
    if (status == CUDA_SUCCESS) return CUBLAS_STATUS_SUCCESS;
    if (status == CUDA_ERROR_NOT_SUPPORTED) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (status == CUDA_ERROR_NO_DEVICE || status == CUDA_ERROR_NOT_INITIALIZED) return CUBLAS_STATUS_NOT_INITIALIZED;
    return CUBLAS_STATUS_EXECUTION_FAILED;
}

/// `only_check`: asks whether there is a kernel, and launches nothing.
template <class Request>
cublasStatus_t send(const char* name, CUstream stream, BlasKind kind, const Request& request, std::string_view first = {}, std::string_view second = {},
                    bool only_check = false) {
    BlasHeader header;
    header.kind = kind;
    header.only_check = only_check;
    std::strncpy(header.name, name, sizeof header.name - 1);
    Writer content;
    content.put(header).put(request);
    if (kind == BlasKind::map || kind == BlasKind::reduce) content.put_text(first);
    if (kind == BlasKind::reduce) content.put_text(second);
    return blas_status(heddle_library_call(stream, content.bytes().data(), content.bytes().size()));
}

}  // namespace heddle::driver
