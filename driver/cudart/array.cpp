// Arrays, and copies to and from them, as the runtime names them.
#include <algorithm>

#include "driver/cuda/per_thread.h"
#include "driver/cudart/texture.h"

using namespace heddle::runtime;

extern "C" {
CUresult cuArray3DCreate_v2(CUarray*, const CUDA_ARRAY3D_DESCRIPTOR*);
CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR*, CUarray);
CUresult cuArrayDestroy(CUarray);
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D*, CUstream);
CUresult cuMemcpyHtoAAsync_v2(CUarray, std::size_t, const void*, std::size_t, CUstream);
CUresult cuMemcpyAtoHAsync_v2(void*, CUarray, std::size_t, std::size_t, CUstream);
CUresult cuMemcpyAtoA_v2(CUarray, std::size_t, CUarray, std::size_t, std::size_t);
}

namespace heddle::runtime {
namespace {

constexpr int kSigned = 0, kUnsigned = 1, kFloat = 2;

}  // namespace

bool format_of(const cudaChannelFormatDesc& d, unsigned& format, unsigned& channels) {
    const int rest[] = {d.y, d.z, d.w};
    channels = 1;
    for (const int bits : rest) {
        if (bits == 0) break;
        ++channels;
    }
    for (unsigned c = 1; c < 4; ++c)
        if (rest[c - 1] != (c < channels ? d.x : 0)) return false;
    const int step = d.x == 8 ? 0 : d.x == 16 ? 1 : d.x == 32 ? 2 : -1;
    if (step < 0 || channels == 3) return false;
    switch (d.f) {
        case kSigned:
            format = 0x08u + static_cast<unsigned>(step);
            return true;
        case kUnsigned:
            format = 0x01u + static_cast<unsigned>(step);
            return true;
        case kFloat:
            format = step == 1 ? 0x10 : 0x20;
            return step != 0;
        default:
            return false;
    }
}

cudaChannelFormatDesc description_of(unsigned format, unsigned channels) {
    const bool is_float = format >= 0x10;
    const int bits = is_float ? (format == 0x10 ? 16 : 32) : 8 << ((format & 7u) - (format < 8 ? 1 : 0));
    const auto channel = [&](unsigned c) { return c < channels ? bits : 0; };
    return {channel(0), channel(1), channel(2), channel(3), is_float ? kFloat : format >= 8 ? kSigned : kUnsigned};
}

namespace {

/// An array's bytes of a texel and of a row.
struct ArraySizes {
    std::size_t texel = 0, row = 0;
};
cudaError_t sizes_of(const Array* array, ArraySizes& sizes) {
    CUDA_ARRAY3D_DESCRIPTOR d{};
    if (const CUresult status = cuArray3DGetDescriptor_v2(&d, const_cast<CUarray>(array)); status != CUDA_SUCCESS) return status;
    const cudaChannelFormatDesc channels = description_of(d.Format, d.NumChannels);
    sizes.texel = static_cast<std::size_t>(channels.x / 8) * d.NumChannels;
    sizes.row = sizes.texel * d.Width;
    return cudaSuccess;
}

/// One plane of an array and rows of memory.
cudaError_t copy_plane(Array* array, std::size_t x, std::size_t y, void* memory, std::size_t pitch, std::size_t width, std::size_t height, bool to_array, CUstream stream,
                       bool wait) {
    HEDDLE_CALL;
    if (width > pitch) return remember(cudaErrorInvalidPitchValue);
    CUDA_MEMCPY2D c{};
    c.WidthInBytes = width;
    c.Height = height;
    if (to_array) {
        c.srcMemoryType = kMemoryUnified, c.srcDevice = number(memory), c.srcPitch = pitch;
        c.dstMemoryType = kMemoryArray, c.dstArray = array, c.dstXInBytes = x, c.dstY = y;
    } else {
        c.dstMemoryType = kMemoryUnified, c.dstDevice = number(memory), c.dstPitch = pitch;
        c.srcMemoryType = kMemoryArray, c.srcArray = array, c.srcXInBytes = x, c.srcY = y;
    }
    const CUresult status = wait ? cuMemcpy2D_v2(&c) : cuMemcpy2DAsync_v2(&c, stream);
    return remember(status != CUDA_SUCCESS || !wait ? status : cuStreamSynchronize(nullptr));
}

/// Bytes in the order of an array's rows.
cudaError_t copy_rows_of(Array* array, std::size_t x, std::size_t y, void* memory, std::size_t bytes, bool to_array, CUstream stream, bool wait) {
    HEDDLE_CALL;
    ArraySizes sizes;
    if (const cudaError_t status = sizes_of(array, sizes); status != cudaSuccess) return remember(status);
    const std::size_t offset = y * sizes.row + x;
    const CUresult status = to_array ? cuMemcpyHtoAAsync_v2(array, offset, memory, bytes, stream) : cuMemcpyAtoHAsync_v2(memory, array, offset, bytes, stream);
    return remember(status != CUDA_SUCCESS || !wait ? status : cuStreamSynchronize(stream));
}

}  // namespace

cudaError_t copy_arrays(const cudaMemcpy3DParms& p, CUstream stream) {
    ArraySizes from, to;
    if (p.srcArray != nullptr)
        if (const cudaError_t status = sizes_of(static_cast<Array*>(p.srcArray), from); status != cudaSuccess) return remember(status);
    if (p.dstArray != nullptr)
        if (const cudaError_t status = sizes_of(static_cast<Array*>(p.dstArray), to); status != cudaSuccess) return remember(status);
    if (from.texel != 0 && to.texel != 0 && from.texel != to.texel) return remember(cudaErrorInvalidValue);
    CUDA_MEMCPY3D c{};
    c.WidthInBytes = p.extent.width * std::max(from.texel, to.texel);
    c.Height = p.extent.height;
    c.Depth = p.extent.depth;
    c.srcMemoryType = p.srcArray != nullptr ? kMemoryArray : kMemoryUnified;
    c.srcArray = p.srcArray;
    c.srcDevice = number(p.srcPtr.ptr);
    c.srcPitch = p.srcPtr.pitch;
    c.srcHeight = p.srcPtr.ysize;
    c.srcXInBytes = p.srcPos.x * std::max<std::size_t>(1, from.texel);
    c.srcY = p.srcPos.y;
    c.srcZ = p.srcPos.z;
    c.dstMemoryType = p.dstArray != nullptr ? kMemoryArray : kMemoryUnified;
    c.dstArray = p.dstArray;
    c.dstDevice = number(p.dstPtr.ptr);
    c.dstPitch = p.dstPtr.pitch;
    c.dstHeight = p.dstPtr.ysize;
    c.dstXInBytes = p.dstPos.x * std::max<std::size_t>(1, to.texel);
    c.dstY = p.dstPos.y;
    c.dstZ = p.dstPos.z;
    return remember(cuMemcpy3DAsync_v2(&c, stream));
}

}  // namespace heddle::runtime

HEDDLE_API cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int kind) { return {x, y, z, w, kind}; }

HEDDLE_API cudaError_t cudaMalloc3DArray(Array** array, const cudaChannelFormatDesc* channels, cudaExtent extent, unsigned flags) {
    HEDDLE_CALL;
    if (array == nullptr || channels == nullptr) return remember(cudaErrorInvalidValue);
    CUDA_ARRAY3D_DESCRIPTOR d{extent.width, extent.height, extent.depth, 0, 0, flags};
    if (!format_of(*channels, d.Format, d.NumChannels)) return remember(kErrorInvalidChannelDescriptor);
    return remember(cuArray3DCreate_v2(array, &d));
}
HEDDLE_API cudaError_t cudaMallocArray(Array** array, const cudaChannelFormatDesc* channels, std::size_t width, std::size_t height, unsigned flags) {
    return cudaMalloc3DArray(array, channels, {width, height, 0}, flags);
}
HEDDLE_API cudaError_t cudaFreeArray(Array* array) {
    HEDDLE_CALL;
    return remember(array == nullptr ? cudaSuccess : cuArrayDestroy(array));
}
HEDDLE_API cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* channels, cudaExtent* extent, unsigned* flags, Array* array) {
    HEDDLE_CALL;
    CUDA_ARRAY3D_DESCRIPTOR d{};
    if (const CUresult status = cuArray3DGetDescriptor_v2(&d, array); status != CUDA_SUCCESS) return remember(status);
    if (channels != nullptr) *channels = description_of(d.Format, d.NumChannels);
    if (extent != nullptr) *extent = {d.Width, d.Height, d.Depth};
    if (flags != nullptr) *flags = d.Flags;
    return cudaSuccess;
}
HEDDLE_API cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* channels, const Array* array) { return cudaArrayGetInfo(channels, nullptr, nullptr, const_cast<Array*>(array)); }

HEDDLE_API cudaError_t cudaMemcpy2DToArray(Array* to, std::size_t x, std::size_t y, const void* from, std::size_t pitch, std::size_t width, std::size_t height, int) {
    return copy_plane(to, x, y, const_cast<void*>(from), pitch, width, height, true, nullptr, true);
}
HEDDLE_API cudaError_t cudaMemcpy2DToArrayAsync(Array* to, std::size_t x, std::size_t y, const void* from, std::size_t pitch, std::size_t width, std::size_t height, int, CUstream stream) {
    return copy_plane(to, x, y, const_cast<void*>(from), pitch, width, height, true, stream, false);
}
HEDDLE_API cudaError_t cudaMemcpy2DFromArray(void* to, std::size_t pitch, const Array* from, std::size_t x, std::size_t y, std::size_t width, std::size_t height, int) {
    return copy_plane(const_cast<Array*>(from), x, y, to, pitch, width, height, false, nullptr, true);
}
HEDDLE_API cudaError_t cudaMemcpy2DFromArrayAsync(void* to, std::size_t pitch, const Array* from, std::size_t x, std::size_t y, std::size_t width, std::size_t height, int, CUstream stream) {
    return copy_plane(const_cast<Array*>(from), x, y, to, pitch, width, height, false, stream, false);
}
HEDDLE_API cudaError_t cudaMemcpy2DArrayToArray(Array* to, std::size_t to_x, std::size_t to_y, const Array* from, std::size_t from_x, std::size_t from_y, std::size_t width, std::size_t height, int) {
    HEDDLE_CALL;
    CUDA_MEMCPY2D c{};
    c.srcMemoryType = c.dstMemoryType = kMemoryArray;
    c.srcArray = const_cast<Array*>(from);
    c.dstArray = to;
    c.srcXInBytes = from_x, c.srcY = from_y;
    c.dstXInBytes = to_x, c.dstY = to_y;
    c.WidthInBytes = width;
    c.Height = height;
    return remember(cuMemcpy2D_v2(&c));
}
HEDDLE_API cudaError_t cudaMemcpyToArray(Array* to, std::size_t x, std::size_t y, const void* from, std::size_t bytes, int) {
    return copy_rows_of(to, x, y, const_cast<void*>(from), bytes, true, nullptr, true);
}
HEDDLE_API cudaError_t cudaMemcpyToArrayAsync(Array* to, std::size_t x, std::size_t y, const void* from, std::size_t bytes, int, CUstream stream) {
    return copy_rows_of(to, x, y, const_cast<void*>(from), bytes, true, stream, false);
}
HEDDLE_API cudaError_t cudaMemcpyFromArray(void* to, const Array* from, std::size_t x, std::size_t y, std::size_t bytes, int) {
    return copy_rows_of(const_cast<Array*>(from), x, y, to, bytes, false, nullptr, true);
}
HEDDLE_API cudaError_t cudaMemcpyFromArrayAsync(void* to, const Array* from, std::size_t x, std::size_t y, std::size_t bytes, int, CUstream stream) {
    return copy_rows_of(const_cast<Array*>(from), x, y, to, bytes, false, stream, false);
}
HEDDLE_API cudaError_t cudaMemcpyArrayToArray(Array* to, std::size_t to_x, std::size_t to_y, const Array* from, std::size_t from_x, std::size_t from_y, std::size_t bytes, int) {
    HEDDLE_CALL;
    ArraySizes target, source;
    if (const cudaError_t status = sizes_of(to, target); status != cudaSuccess) return remember(status);
    if (const cudaError_t status = sizes_of(from, source); status != cudaSuccess) return remember(status);
    return remember(cuMemcpyAtoA_v2(to, to_y * target.row + to_x, const_cast<Array*>(from), from_y * source.row + from_x, bytes));
}

// Also for the default streams of threads.
HEDDLE_PER_THREAD(cudaMemcpy2DArrayToArray, _ptds)
HEDDLE_PER_THREAD(cudaMemcpy2DFromArray, _ptds)
HEDDLE_PER_THREAD(cudaMemcpy2DFromArrayAsync, _ptsz)
HEDDLE_PER_THREAD(cudaMemcpy2DToArray, _ptds)
HEDDLE_PER_THREAD(cudaMemcpy2DToArrayAsync, _ptsz)
HEDDLE_PER_THREAD(cudaMemcpyArrayToArray, _ptds)
HEDDLE_PER_THREAD(cudaMemcpyFromArray, _ptds)
HEDDLE_PER_THREAD(cudaMemcpyFromArrayAsync, _ptsz)
HEDDLE_PER_THREAD(cudaMemcpyToArray, _ptds)
HEDDLE_PER_THREAD(cudaMemcpyToArrayAsync, _ptsz)
