// Texture and surface objects, as the runtime describes them.
#include "driver/cudart/texture.h"

#include <algorithm>

using namespace heddle::runtime;

extern "C" {
CUresult cuTexObjectCreate(CUobject*, const CUDA_RESOURCE_DESC*, const CUDA_TEXTURE_DESC*, const void*);
CUresult cuTexObjectDestroy(CUobject);
CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC*, CUobject);
CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC*, CUobject);
CUresult cuSurfObjectCreate(CUobject*, const CUDA_RESOURCE_DESC*);
CUresult cuSurfObjectDestroy(CUobject);
CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC*, CUobject);
}

namespace {

cudaError_t resource_of(const cudaResourceDesc& given, CUDA_RESOURCE_DESC& resource) {
    resource = {};
    resource.resType = static_cast<unsigned>(given.resType);
    resource.flags = given.flags;
    switch (resource.resType) {
        case kResourceLinear: {
            auto& linear = resource.res.linear;
            if (!format_of(given.res.linear.desc, linear.format, linear.numChannels)) return kErrorInvalidChannelDescriptor;
            linear.devPtr = number(given.res.linear.devPtr);
            linear.sizeInBytes = given.res.linear.sizeInBytes;
            return cudaSuccess;
        }
        case kResourcePitched: {
            auto& rows = resource.res.pitch2D;
            if (!format_of(given.res.pitch2D.desc, rows.format, rows.numChannels)) return kErrorInvalidChannelDescriptor;
            rows.devPtr = number(given.res.pitch2D.devPtr);
            rows.width = given.res.pitch2D.width;
            rows.height = given.res.pitch2D.height;
            rows.pitchInBytes = given.res.pitch2D.pitchInBytes;
            return cudaSuccess;
        }
        default:
            resource.res.array = given.res.array;
            return cudaSuccess;
    }
}

void resource_back(const CUDA_RESOURCE_DESC& resource, cudaResourceDesc& given) {
    given = {};
    given.resType = static_cast<int>(resource.resType);
    given.flags = resource.flags;
    if (resource.resType == kResourceLinear) {
        const auto& linear = resource.res.linear;
        given.res.linear = {reinterpret_cast<void*>(linear.devPtr), description_of(linear.format, linear.numChannels), linear.sizeInBytes};
    } else if (resource.resType == kResourcePitched) {
        const auto& rows = resource.res.pitch2D;
        given.res.pitch2D = {reinterpret_cast<void*>(rows.devPtr), description_of(rows.format, rows.numChannels), rows.width, rows.height, rows.pitchInBytes};
    } else {
        given.res.array = resource.res.array;
    }
}

CUDA_TEXTURE_DESC texture_of(const cudaTextureDesc& given) {
    CUDA_TEXTURE_DESC texture{};
    for (unsigned d = 0; d < 3; ++d) texture.addressMode[d] = static_cast<unsigned>(given.addressMode[d]);
    texture.filterMode = static_cast<unsigned>(given.filterMode);
    texture.flags = (given.readMode == 0 ? kTextureIntegers : 0) | (given.normalizedCoords != 0 ? kTextureNormalized : 0) | (given.sRGB != 0 ? kTextureSrgb : 0) |
                    (given.seamlessCubemap != 0 ? kTextureSeamlessCube : 0);
    texture.maxAnisotropy = given.maxAnisotropy;
    texture.mipmapFilterMode = static_cast<unsigned>(given.mipmapFilterMode);
    texture.mipmapLevelBias = given.mipmapLevelBias;
    texture.minMipmapLevelClamp = given.minMipmapLevelClamp;
    texture.maxMipmapLevelClamp = given.maxMipmapLevelClamp;
    std::copy(std::begin(given.borderColor), std::end(given.borderColor), texture.borderColor);
    return texture;
}

void texture_back(const CUDA_TEXTURE_DESC& texture, cudaTextureDesc& given) {
    given = {};
    for (unsigned d = 0; d < 3; ++d) given.addressMode[d] = static_cast<int>(texture.addressMode[d]);
    given.filterMode = static_cast<int>(texture.filterMode);
    given.readMode = (texture.flags & kTextureIntegers) != 0 ? 0 : 1;
    given.normalizedCoords = (texture.flags & kTextureNormalized) != 0;
    given.sRGB = (texture.flags & kTextureSrgb) != 0;
    given.maxAnisotropy = texture.maxAnisotropy;
    given.mipmapFilterMode = static_cast<int>(texture.mipmapFilterMode);
    given.mipmapLevelBias = texture.mipmapLevelBias;
    given.minMipmapLevelClamp = texture.minMipmapLevelClamp;
    given.maxMipmapLevelClamp = texture.maxMipmapLevelClamp;
    std::copy(std::begin(texture.borderColor), std::end(texture.borderColor), given.borderColor);
}

}  // namespace

HEDDLE_API cudaError_t cudaCreateTextureObject(CUobject* object, const cudaResourceDesc* given, const cudaTextureDesc* texture, const void* view) {
    HEDDLE_CALL;
    if (object == nullptr || given == nullptr || texture == nullptr) return remember(cudaErrorInvalidValue);
    CUDA_RESOURCE_DESC resource;
    if (const cudaError_t status = resource_of(*given, resource); status != cudaSuccess) return remember(status);
    const CUDA_TEXTURE_DESC description = texture_of(*texture);
    return remember(cuTexObjectCreate(object, &resource, &description, view));
}
HEDDLE_PASS(cudaDestroyTextureObject, (CUobject object), cuTexObjectDestroy(object))
HEDDLE_API cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* given, CUobject object) {
    HEDDLE_CALL;
    CUDA_RESOURCE_DESC resource{};
    const CUresult status = cuTexObjectGetResourceDesc(&resource, object);
    if (status == CUDA_SUCCESS) resource_back(resource, *given);
    return remember(status);
}
HEDDLE_API cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* given, CUobject object) {
    HEDDLE_CALL;
    CUDA_TEXTURE_DESC texture{};
    const CUresult status = cuTexObjectGetTextureDesc(&texture, object);
    if (status == CUDA_SUCCESS) texture_back(texture, *given);
    return remember(status);
}
HEDDLE_API cudaError_t cudaCreateSurfaceObject(CUobject* object, const cudaResourceDesc* given) {
    HEDDLE_CALL;
    if (object == nullptr || given == nullptr) return remember(cudaErrorInvalidValue);
    CUDA_RESOURCE_DESC resource;
    if (const cudaError_t status = resource_of(*given, resource); status != cudaSuccess) return remember(status);
    return remember(cuSurfObjectCreate(object, &resource));
}
HEDDLE_PASS(cudaDestroySurfaceObject, (CUobject object), cuSurfObjectDestroy(object))
HEDDLE_API cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* given, CUobject object) {
    HEDDLE_CALL;
    CUDA_RESOURCE_DESC resource{};
    const CUresult status = cuSurfObjectGetResourceDesc(&resource, object);
    if (status == CUDA_SUCCESS) resource_back(resource, *given);
    return remember(status);
}
