// CUDA arrays, which lie in device memory as rows with a pitch, and texture and surface objects.
#include "driver/cuda/array.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "driver/cuda/per_thread.h"
#include "driver/cuda/state.h"

using namespace heddle::driver;

#define HEDDLE_CALL                                                  \
    const std::lock_guard<std::recursive_mutex> lock(Client::get().mutex); \
    if (const CUresult status = ready(); status != CUDA_SUCCESS) return status

extern "C" {
CUresult cuMemAlloc_v2(CUdeviceptr*, std::size_t);
CUresult cuMemFree_v2(CUdeviceptr);
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D*, CUstream);
CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D*);
CUresult cuStreamSynchronize(CUstream);
}

struct Array {
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    CUdeviceptr base = 0;
    std::size_t row_bytes = 0, rows = 1, planes = 1;
    std::size_t pitch = 0;
    std::size_t plane_pitch() const { return pitch * rows; }
};

namespace heddle::driver {
namespace {

constexpr std::size_t kArrayRowAlignment = 128;  // a row begins with a line of the caches
constexpr std::uint64_t kTextureAlignment = 512, kTexturePitchAlignment = 32;  // as the device's attributes say

std::set<const Array*>& arrays() {
    static auto* const all = new std::set<const Array*>;
    return *all;
}
const Array* array_of(const void* handle) {
    const auto found = arrays().find(static_cast<const Array*>(handle));
    return found == arrays().end() ? nullptr : *found;
}

/// Bytes of a channel, by CUarray_format; 0: there is no such format here.
unsigned channel_bytes(unsigned format) {
    switch (format) {
        case 0x01: case 0x08:
            return 1;
        case 0x02: case 0x09: case 0x10:
            return 2;
        case 0x03: case 0x0a: case 0x20:
            return 4;
        default:
            return 0;
    }
}

bool is_shape(const CUDA_ARRAY3D_DESCRIPTOR& d) {
    if (d.Width == 0 || (d.NumChannels != 1 && d.NumChannels != 2 && d.NumChannels != 4)) return false;
    const bool layered = (d.Flags & kArrayLayered) != 0, cube = (d.Flags & kArrayCube) != 0;
    if (cube) return d.Width == d.Height && d.Depth != 0 && (layered ? d.Depth % 6 == 0 : d.Depth == 6);
    if (layered) return d.Depth != 0;
    return d.Depth == 0 || d.Height != 0;
}

/// One side of a copy.
struct Place {
    unsigned type;
    std::uint64_t address;
    std::size_t pitch, plane_pitch;
};

Place place_of(const Array& array, std::size_t x, std::size_t y, std::size_t z) {
    return {kMemoryUnified, array.base + z * array.plane_pitch() + y * array.pitch + x, array.pitch, array.plane_pitch()};
}

bool lies_in(const Array& array, std::size_t x, std::size_t y, std::size_t z, std::size_t width, std::size_t height, std::size_t depth) {
    return x <= array.row_bytes && width <= array.row_bytes - x && y <= array.rows && height <= array.rows - y && z <= array.planes &&
           depth <= array.planes - z;
}

CUresult copy_places(const Place& to, const Place& from, std::size_t width, std::size_t height, std::size_t depth, CUstream stream, bool wait) {
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = copy.dstMemoryType = kMemoryUnified;
    copy.srcPitch = from.pitch;
    copy.dstPitch = to.pitch;
    copy.WidthInBytes = width;
    copy.Height = height;
    // Planes without gaps are rows.
    if (from.plane_pitch == from.pitch * height && to.plane_pitch == to.pitch * height) copy.Height *= std::exchange(depth, 1);
    for (std::size_t z = 0; z < depth; ++z) {
        copy.srcDevice = from.address + z * from.plane_pitch;
        copy.dstDevice = to.address + z * to.plane_pitch;
        if (const CUresult status = cuMemcpy2DAsync_v2(&copy, stream); status != CUDA_SUCCESS) return status;
    }
    return wait ? cuStreamSynchronize(stream) : CUDA_SUCCESS;
}

/// Bytes in the order of rows, from the one at `offset` on, from or to memory.
CUresult copy_run(const Array& array, std::size_t offset, std::uint64_t memory, std::size_t bytes, bool to_array, CUstream stream, bool wait) {
    if (offset > array.row_bytes * array.rows || bytes > array.row_bytes * array.rows - offset) return CUDA_ERROR_INVALID_VALUE;
    while (bytes != 0) {
        const std::size_t x = offset % array.row_bytes, y = offset / array.row_bytes;
        const bool whole = x == 0 && bytes >= array.row_bytes;
        const std::size_t width = whole ? array.row_bytes : std::min(bytes, array.row_bytes - x), height = whole ? bytes / array.row_bytes : 1;
        const Place inside = place_of(array, x, y, 0), outside{kMemoryUnified, memory, width, width * height};
        const CUresult status = to_array ? copy_places(inside, outside, width, height, 1, stream, false) : copy_places(outside, inside, width, height, 1, stream, false);
        if (status != CUDA_SUCCESS) return status;
        offset += width * height;
        memory += width * height;
        bytes -= width * height;
    }
    return wait ? cuStreamSynchronize(stream) : CUDA_SUCCESS;
}

CUresult copy_run_of(const Array* array, std::size_t offset, std::uint64_t memory, std::size_t bytes, bool to_array, CUstream stream, bool wait) {
    if (array_of(array) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return copy_run(*array, offset, memory, bytes, to_array, stream, wait);
}

std::uint64_t number_of(const void* address) {
    return reinterpret_cast<std::uintptr_t>(address);
}

struct Ends {
    Place to, from;
};

CUresult ends_of(const CUDA_MEMCPY3D& c, Ends& ends) {
    const auto end = [&](unsigned type, const void* handle, const void* host, std::uint64_t device, std::size_t pitch, std::size_t rows, std::size_t x, std::size_t y,
                         std::size_t z, Place& place) -> CUresult {
        if (type == kMemoryArray) {
            const Array* const array = array_of(handle);
            if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
            if (!lies_in(*array, x, y, z, c.WidthInBytes, c.Height, c.Depth)) return CUDA_ERROR_INVALID_VALUE;
            place = place_of(*array, x, y, z);
            return CUDA_SUCCESS;
        }
        if (pitch == 0) pitch = c.WidthInBytes;
        if (rows == 0) rows = c.Height;
        place = {kMemoryUnified, (type == 1 ? number_of(host) : device) + (z * rows + y) * pitch + x, pitch, pitch * rows};
        return CUDA_SUCCESS;
    };
    if (c.srcLOD != 0 || c.dstLOD != 0) return missing("copies of levels of mipmapped arrays");
    if (const CUresult status = end(c.srcMemoryType, c.srcArray, c.srcHost, c.srcDevice, c.srcPitch, c.srcHeight, c.srcXInBytes, c.srcY, c.srcZ, ends.from);
        status != CUDA_SUCCESS)
        return status;
    return end(c.dstMemoryType, c.dstArray, c.dstHost, c.dstDevice, c.dstPitch, c.dstHeight, c.dstXInBytes, c.dstY, c.dstZ, ends.to);
}

CUresult copy_3d(const CUDA_MEMCPY3D* c, CUstream stream, bool wait) {
    HEDDLE_CALL;
    if (c->WidthInBytes == 0 || c->Height == 0 || c->Depth == 0) return CUDA_SUCCESS;
    Ends ends{};
    if (const CUresult status = ends_of(*c, ends); status != CUDA_SUCCESS) return status;
    return copy_places(ends.to, ends.from, c->WidthInBytes, c->Height, c->Depth, stream, wait);
}

CUresult create_array(CUarray* handle, const CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
    constexpr unsigned kKnown = kArrayLayered | kArraySurface | kArrayCube | kArrayGather;
    const unsigned channel = channel_bytes(descriptor.Format);
    if (channel == 0) return missing("arrays of formats beyond integers and floating-point numbers");
    if ((descriptor.Flags & ~kKnown) != 0) return missing("arrays with flags beyond layers, cubes, surfaces and gathers");
    if (!is_shape(descriptor)) return CUDA_ERROR_INVALID_VALUE;
    auto array = std::make_unique<Array>();
    array->descriptor = descriptor;
    array->row_bytes = descriptor.Width * channel * descriptor.NumChannels;
    array->rows = std::max<std::size_t>(1, descriptor.Height);
    array->planes = std::max<std::size_t>(1, descriptor.Depth);
    array->pitch = (array->row_bytes + kArrayRowAlignment - 1) / kArrayRowAlignment * kArrayRowAlignment;
    if (const CUresult status = cuMemAlloc_v2(&array->base, array->plane_pitch() * array->planes); status != CUDA_SUCCESS) return status;
    *handle = array.release();
    arrays().insert(*handle);
    return CUDA_SUCCESS;
}

/// What is behind the objects, for those who ask.
struct Object {
    CUDA_RESOURCE_DESC resource{};
    CUDA_TEXTURE_DESC texture{};
    bool surface = false;
};
std::map<CUobject, Object>& objects() {
    static auto* const all = new std::map<CUobject, Object>;
    return *all;
}

void describe_array(const Array& array, ImageDescription& image) {
    const CUDA_ARRAY3D_DESCRIPTOR& d = array.descriptor;
    const bool layered = (d.Flags & kArrayLayered) != 0, cube = (d.Flags & kArrayCube) != 0;
    image.address = array.base;
    image.pitch = array.pitch;
    image.plane_pitch = array.plane_pitch();
    image.format = d.Format;
    image.channels = d.NumChannels;
    image.dimensions = d.Height == 0 ? 1 : d.Depth == 0 || layered || cube ? 2 : 3;
    image.layered = layered;
    image.cube = cube;
    image.width = static_cast<std::uint32_t>(d.Width);
    image.height = static_cast<std::uint32_t>(array.rows);
    image.planes = static_cast<std::uint32_t>(array.planes);
}

CUresult describe_resource(const CUDA_RESOURCE_DESC& resource, ImageDescription& image) {
    switch (resource.resType) {
        case kResourceArray: {
            const Array* const array = array_of(resource.res.array);
            if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
            describe_array(*array, image);
            return CUDA_SUCCESS;
        }
        case kResourceMipmapped:
            return missing("textures of mipmapped arrays");
        case kResourceLinear: {
            const auto& linear = resource.res.linear;
            const std::size_t texel = std::size_t{channel_bytes(linear.format)} * linear.numChannels;
            if (texel == 0 || linear.devPtr % kTextureAlignment != 0 || linear.sizeInBytes / texel > UINT32_MAX) return CUDA_ERROR_INVALID_VALUE;
            image.address = linear.devPtr;
            image.format = linear.format;
            image.channels = linear.numChannels;
            image.linear = 1;
            image.dimensions = image.height = image.planes = 1;
            image.width = static_cast<std::uint32_t>(linear.sizeInBytes / texel);
            return CUDA_SUCCESS;
        }
        case kResourcePitched: {
            const auto& rows = resource.res.pitch2D;
            const std::size_t texel = std::size_t{channel_bytes(rows.format)} * rows.numChannels;
            if (texel == 0 || rows.devPtr % kTextureAlignment != 0 || rows.pitchInBytes % kTexturePitchAlignment != 0 || rows.width > UINT32_MAX || rows.height > UINT32_MAX)
                return CUDA_ERROR_INVALID_VALUE;
            image.address = rows.devPtr;
            image.format = rows.format;
            image.channels = rows.numChannels;
            image.dimensions = 2;
            image.planes = 1;
            image.width = static_cast<std::uint32_t>(rows.width);
            image.height = static_cast<std::uint32_t>(rows.height);
            image.pitch = rows.pitchInBytes;
            return CUDA_SUCCESS;
        }
        default:
            return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult take_object(const Received& received, const Object& object, CUobject* handle) {
    if (received.status != CUDA_SUCCESS) return received.status;
    *handle = received.reader().get<std::uint64_t>();
    objects()[*handle] = object;
    return CUDA_SUCCESS;
}

CUresult destroy_object(CUobject handle, bool surface) {
    const auto found = objects().find(handle);
    if (found == objects().end() || found->second.surface != surface) return CUDA_ERROR_INVALID_HANDLE;
    objects().erase(found);
    return Client::get().tell(Call::destroy_texture, Writer().put(std::uint64_t{handle}));
}

}  // namespace

CUresult resolve_arrays(CUDA_MEMCPY2D& copy) {
    if (copy.srcMemoryType == kMemoryArray) {
        const Array* const array = array_of(copy.srcArray);
        if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if (!lies_in(*array, copy.srcXInBytes, copy.srcY, 0, copy.WidthInBytes, copy.Height, 1)) return CUDA_ERROR_INVALID_VALUE;
        copy.srcMemoryType = kMemoryUnified;
        copy.srcDevice = array->base;
        copy.srcPitch = array->pitch;
    }
    if (copy.dstMemoryType == kMemoryArray) {
        const Array* const array = array_of(copy.dstArray);
        if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
        if (!lies_in(*array, copy.dstXInBytes, copy.dstY, 0, copy.WidthInBytes, copy.Height, 1)) return CUDA_ERROR_INVALID_VALUE;
        copy.dstMemoryType = kMemoryUnified;
        copy.dstDevice = array->base;
        copy.dstPitch = array->pitch;
    }
    return CUDA_SUCCESS;
}

}  // namespace heddle::driver

HEDDLE_API CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
    HEDDLE_CALL;
    if (array == nullptr || descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return create_array(array, *descriptor);
}
HEDDLE_API CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* descriptor) {
    if (array == nullptr || descriptor == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const CUDA_ARRAY3D_DESCRIPTOR whole{descriptor->Width, descriptor->Height, 0, descriptor->Format, descriptor->NumChannels, 0};
    return cuArray3DCreate_v2(array, &whole);
}
HEDDLE_API CUresult cuArrayDestroy(CUarray array) {
    HEDDLE_CALL;
    if (arrays().erase(array) == 0) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult status = cuMemFree_v2(array->base);
    delete array;
    return status;
}
HEDDLE_API CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* descriptor, CUarray array) {
    HEDDLE_CALL;
    if (array_of(array) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *descriptor = array->descriptor;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* descriptor, CUarray array) {
    HEDDLE_CALL;
    if (array_of(array) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUDA_ARRAY3D_DESCRIPTOR& whole = array->descriptor;
    *descriptor = {whole.Width, whole.Height, whole.Format, whole.NumChannels};
    return CUDA_SUCCESS;
}

HEDDLE_API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* c) { return copy_3d(c, nullptr, true); }
HEDDLE_API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* c, CUstream stream) { return copy_3d(c, stream, false); }
HEDDLE_API CUresult cuMemcpyHtoA_v2(CUarray to, std::size_t offset, const void* from, std::size_t bytes) {
    HEDDLE_CALL;
    return copy_run_of(to, offset, number_of(from), bytes, true, nullptr, true);
}
HEDDLE_API CUresult cuMemcpyHtoAAsync_v2(CUarray to, std::size_t offset, const void* from, std::size_t bytes, CUstream stream) {
    HEDDLE_CALL;
    return copy_run_of(to, offset, number_of(from), bytes, true, stream, false);
}
HEDDLE_API CUresult cuMemcpyDtoA_v2(CUarray to, std::size_t offset, CUdeviceptr from, std::size_t bytes) {
    HEDDLE_CALL;
    return copy_run_of(to, offset, from, bytes, true, nullptr, false);
}
HEDDLE_API CUresult cuMemcpyAtoH_v2(void* to, CUarray from, std::size_t offset, std::size_t bytes) {
    HEDDLE_CALL;
    return copy_run_of(from, offset, number_of(to), bytes, false, nullptr, true);
}
HEDDLE_API CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray from, std::size_t offset, std::size_t bytes, CUstream stream) {
    HEDDLE_CALL;
    return copy_run_of(from, offset, number_of(to), bytes, false, stream, false);
}
HEDDLE_API CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, std::size_t offset, std::size_t bytes) {
    HEDDLE_CALL;
    return copy_run_of(from, offset, to, bytes, false, nullptr, false);
}
HEDDLE_API CUresult cuMemcpyAtoA_v2(CUarray to, std::size_t to_offset, CUarray from, std::size_t from_offset, std::size_t bytes) {
    HEDDLE_CALL;
    if (array_of(to) == nullptr || array_of(from) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (from_offset > from->row_bytes * from->rows || bytes > from->row_bytes * from->rows - from_offset) return CUDA_ERROR_INVALID_VALUE;
    while (bytes != 0) {  // a row of the source at a time
        const std::size_t x = from_offset % from->row_bytes, width = std::min(bytes, from->row_bytes - x);
        const std::uint64_t row = place_of(*from, x, from_offset / from->row_bytes, 0).address;
        if (const CUresult status = copy_run(*to, to_offset, row, width, true, nullptr, false); status != CUDA_SUCCESS) return status;
        from_offset += width;
        to_offset += width;
        bytes -= width;
    }
    return CUDA_SUCCESS;
}

HEDDLE_API CUresult cuTexObjectCreate(CUobject* object, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* texture, const void* view) {
    HEDDLE_CALL;
    if (object == nullptr || resource == nullptr || texture == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (view != nullptr) return missing("resource views of textures");
    if (texture->maxAnisotropy > 1) return missing("anisotropic filters of textures");
    if ((texture->flags & kTextureSeamlessCube) != 0) return missing("seamless cubes");
    ImageDescription image{};
    if (const CUresult status = describe_resource(*resource, image); status != CUDA_SUCCESS) return status;
    TextureDescription description{};
    for (unsigned d = 0; d < 3; ++d) {
        if (texture->addressMode[d] > 3) return CUDA_ERROR_INVALID_VALUE;
        description.address_modes[d] = texture->addressMode[d];
    }
    if (texture->filterMode > 1) return CUDA_ERROR_INVALID_VALUE;
    description.filters = texture->filterMode;
    description.normalized = (texture->flags & kTextureNormalized) != 0;
    description.integers = (texture->flags & kTextureIntegers) != 0;
    description.srgb = (texture->flags & kTextureSrgb) != 0;
    std::copy(std::begin(texture->borderColor), std::end(texture->borderColor), description.border);
    return take_object(Client::get().ask(Call::create_texture, Writer().put(image).put(description)), {*resource, *texture, false}, object);
}
HEDDLE_API CUresult cuTexObjectDestroy(CUobject object) {
    HEDDLE_CALL;
    return destroy_object(object, false);
}
HEDDLE_API CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUobject object) {
    HEDDLE_CALL;
    const auto found = objects().find(object);
    if (found == objects().end() || found->second.surface) return CUDA_ERROR_INVALID_HANDLE;
    *resource = found->second.resource;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* texture, CUobject object) {
    HEDDLE_CALL;
    const auto found = objects().find(object);
    if (found == objects().end() || found->second.surface) return CUDA_ERROR_INVALID_HANDLE;
    *texture = found->second.texture;
    return CUDA_SUCCESS;
}
HEDDLE_API CUresult cuSurfObjectCreate(CUobject* object, const CUDA_RESOURCE_DESC* resource) {
    HEDDLE_CALL;
    if (object == nullptr || resource == nullptr || resource->resType != kResourceArray) return CUDA_ERROR_INVALID_VALUE;
    const Array* const array = array_of(resource->res.array);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if ((array->descriptor.Flags & kArraySurface) == 0) {
        complain("a surface needs an array with the flag CUDA_ARRAY3D_SURFACE_LDST, or cudaArraySurfaceLoadStore");
        return CUDA_ERROR_INVALID_VALUE;
    }
    ImageDescription image{};
    describe_array(*array, image);
    return take_object(Client::get().ask(Call::create_surface, Writer().put(image)), {*resource, {}, true}, object);
}
HEDDLE_API CUresult cuSurfObjectDestroy(CUobject object) {
    HEDDLE_CALL;
    return destroy_object(object, true);
}
HEDDLE_API CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUobject object) {
    HEDDLE_CALL;
    const auto found = objects().find(object);
    if (found == objects().end() || !found->second.surface) return CUDA_ERROR_INVALID_HANDLE;
    *resource = found->second.resource;
    return CUDA_SUCCESS;
}

// Also for the default streams of threads.
HEDDLE_PER_THREAD(cuMemcpy3D_v2, _ptds)
HEDDLE_PER_THREAD(cuMemcpy3DAsync_v2, _ptsz)
HEDDLE_PER_THREAD(cuMemcpyHtoA_v2, _ptds)
HEDDLE_PER_THREAD(cuMemcpyHtoAAsync_v2, _ptsz)
HEDDLE_PER_THREAD(cuMemcpyDtoA_v2, _ptds)
HEDDLE_PER_THREAD(cuMemcpyAtoH_v2, _ptds)
HEDDLE_PER_THREAD(cuMemcpyAtoHAsync_v2, _ptsz)
HEDDLE_PER_THREAD(cuMemcpyAtoD_v2, _ptds)
HEDDLE_PER_THREAD(cuMemcpyAtoA_v2, _ptds)
