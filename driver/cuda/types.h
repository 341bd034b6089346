// Types of the CUDA driver interface, as its header declares them: names, numbers and layouts, so that libcuda.so.1 builds where no CUDA toolkit is.
// tests/driver/interface_test.cu compares them with the header.
#pragma once

#include <cstddef>
#include <cstdint>

using CUresult = unsigned;
using CUdevice = int;
using CUdeviceptr = std::uint64_t;

struct Context;
struct Module;
struct Function;
struct Stream;
struct Event;
struct Graph;
struct GraphExec;
using CUcontext = Context*;
using CUmodule = Module*;
using CUfunction = Function*;
using CUstream = Stream*;
using CUevent = Event*;

constexpr CUresult CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1, CUDA_ERROR_OUT_OF_MEMORY = 2, CUDA_ERROR_NOT_INITIALIZED = 3,
                   CUDA_ERROR_NO_DEVICE = 100, CUDA_ERROR_INVALID_DEVICE = 101, CUDA_ERROR_INVALID_IMAGE = 200, CUDA_ERROR_INVALID_CONTEXT = 201,
                   CUDA_ERROR_INVALID_HANDLE = 400, CUDA_ERROR_NOT_FOUND = 500, CUDA_ERROR_NOT_READY = 600, CUDA_ERROR_NOT_SUPPORTED = 801,
                   CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = 901, CUDA_ERROR_ILLEGAL_STATE = 401, CUDA_ERROR_UNKNOWN = 999;

struct CUuuid {
    char bytes[16];
};

/// Where memory is: type 1: the device of that number; 2: the host; 3, 4: a node of the host.
struct CUmemLocation {
    int type, id;
};

/// CUDA_MEMCPY2D and CUDA_MEMCPY3D; memory types: 1 host, 2 device, 3 array, 4 unified.
struct CUDA_MEMCPY2D {
    std::size_t srcXInBytes, srcY;
    unsigned srcMemoryType;
    const void* srcHost;
    CUdeviceptr srcDevice;
    void* srcArray;
    std::size_t srcPitch, dstXInBytes, dstY;
    unsigned dstMemoryType;
    void* dstHost;
    CUdeviceptr dstDevice;
    void* dstArray;
    std::size_t dstPitch, WidthInBytes, Height;
};

struct CUDA_MEMCPY3D {
    std::size_t srcXInBytes, srcY, srcZ, srcLOD;
    unsigned srcMemoryType;
    const void* srcHost;
    CUdeviceptr srcDevice;
    void *srcArray, *reserved0;
    std::size_t srcPitch, srcHeight, dstXInBytes, dstY, dstZ, dstLOD;
    unsigned dstMemoryType;
    void* dstHost;
    CUdeviceptr dstDevice;
    void *dstArray, *reserved1;
    std::size_t dstPitch, dstHeight, WidthInBytes, Height, Depth;
};
struct CUDA_MEMSET_NODE_PARAMS {
    CUdeviceptr dst;
    std::size_t pitch;
    unsigned value, elementSize;
    std::size_t width, height;
};
struct CUDA_HOST_NODE_PARAMS {
    void (*fn)(void*);
    void* userData;
};
/// CUDA_KERNEL_NODE_PARAMS of both versions: the second has a kernel and a context behind.
struct CUDA_KERNEL_NODE_PARAMS {
    CUfunction func;
    unsigned grid[3], block[3], sharedMemBytes;
    void **kernelParams, **extra;
    CUfunction kern;
    CUcontext ctx;
};
struct CUmemPoolProps {
    int allocType, handleTypes;
    CUmemLocation location;
    void* win32SecurityAttributes;
    std::size_t maxSize;
    unsigned short usage;
    unsigned char reserved[54];
};
struct CUDA_MEM_ALLOC_NODE_PARAMS {
    CUmemPoolProps poolProps;
    const void* accessDescs;
    std::size_t accessDescCount, bytesize;
    CUdeviceptr dptr;
};
struct CUgraphEdgeData {
    unsigned char from_port, to_port, type, reserved[5];
};
struct CUgraphExecUpdateResultInfo {
    unsigned result;
    void *errorNode, *errorFromNode;
};

struct CUlaunchAttribute {
    unsigned id;
    char pad[4];
    union {
        char bytes[64];
        int cooperative;
        unsigned cluster[3];
        int programmatic, priority;
        CUevent event;  ///< of the two kinds of events, first
        struct {
            void* base_ptr;
            std::size_t num_bytes;
            float hitRatio;
            unsigned hitProp, missProp;
        } window;
    } value;
};
constexpr unsigned kAttributeWindow = 1, kAttributeCooperative = 2, kAttributeCluster = 4, kAttributeProgrammatic = 6, kAttributeProgrammaticEvent = 7, kAttributePriority = 8,
                   kAttributeCompletionEvent = 12;

struct CUlaunchConfig {
    unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
    CUstream hStream;
    CUlaunchAttribute* attrs;
    unsigned numAttrs;
};
