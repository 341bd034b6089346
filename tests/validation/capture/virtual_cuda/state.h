// A CUDA driver and a cublasLt without a GPU behind them, so that the part of the capture program that speaks
// to them can be tested anywhere: libcuda.so.1 and libcublasLt.so.13, built from these files, are put before
// the real ones on the library path. Kernels run on Heddle's functional machine; products are computed in
// double precision. Calls are checked more strictly than by the real libraries: an attribute of the wrong
// size, a pointer out of bounds or a descriptor that was destroyed is an error.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "isa/ptx/execution.h"
#include "isa/ptx/global_memory.h"

namespace heddle::virtual_cuda {

/// Work that a stream holds or a graph records.
struct Work {
    CUfunction function = nullptr;  ///< of a kernel
    unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
    unsigned shared_bytes = 0;
    std::function<void()> perform;
};

struct Driver {
    /// Streams, events, graphs and modules by handle. They are the context's, as with the real driver: what
    /// is not destroyed before goes with it.
    std::map<const void*, std::shared_ptr<void>> objects;
    unsigned retained = 0;         ///< how often the primary context was asked for
    unsigned library_handles = 0;  ///< of cublasLt, in use: they are to be given back before the context
    ptx::GlobalMemory memory;
    std::set<CUdeviceptr> allocations;
    std::uint64_t allocated_bytes = 0;
    std::map<CUdeviceptr, std::uint64_t> sizes;
    CUresult sticky = CUDA_SUCCESS;  ///< after a kernel that failed: every later call returns this
    double clock_ms = 0;             ///< each piece of work takes a microsecond
    bool initialised = false;
    CUcontext context = nullptr;  ///< the current one
};

Driver& driver();
/// The handle of an object that the context owns from now on.
template <typename Object>
Object* own(std::unique_ptr<Object> object) {
    Object* handle = object.get();
    driver().objects.emplace(handle, std::move(object));
    return handle;
}
/// CUDA_ERROR_INVALID_HANDLE for what is no object, or was destroyed before.
CUresult destroy(const void* handle);
/// Performs now, or records when the stream is being captured. Errors of `perform` become sticky.
CUresult submit(CUstream stream, Work work);
/// A kernel that only has a name: what a library launches.
CUfunction named_function(const std::string& name);

}  // namespace heddle::virtual_cuda

struct CUfunc_st {
    std::string name;
    std::shared_ptr<heddle::ptx::LoadedKernel> kernel;
    int dynamic_shared_limit = 48 << 10;
    bool non_portable_cluster = false;
};
struct CUgraphNode_st {
    heddle::virtual_cuda::Work work;
};
struct CUgraph_st {
    std::vector<std::unique_ptr<CUgraphNode_st>> nodes;
};
struct CUstream_st {
    std::unique_ptr<CUgraph_st> capturing;
};
