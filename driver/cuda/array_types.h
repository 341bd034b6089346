// Types of the CUDA driver interface that arrays, textures and surfaces need, as its header declares them. tests/driver/interface_test.cpp compares them
// with the header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/cuda/types.h"

struct Array;
using CUarray = Array*;
using CUobject = unsigned long long;  ///< CUtexObject, CUsurfObject

struct CUDA_ARRAY_DESCRIPTOR {
    std::size_t Width, Height;
    unsigned Format, NumChannels;
};
struct CUDA_ARRAY3D_DESCRIPTOR {
    std::size_t Width, Height, Depth;
    unsigned Format, NumChannels, Flags;
};
constexpr unsigned kArrayLayered = 1, kArraySurface = 2, kArrayCube = 4, kArrayGather = 8;
constexpr unsigned kMemoryArray = 3, kMemoryUnified = 4;  ///< CUmemorytype

/// CUresourcetype
constexpr unsigned kResourceArray = 0, kResourceMipmapped = 1, kResourceLinear = 2, kResourcePitched = 3;
struct CUDA_RESOURCE_DESC {
    unsigned resType;
    union {
        CUarray array;
        struct {
            std::uint64_t devPtr;
            unsigned format, numChannels;
            std::size_t sizeInBytes;
        } linear;
        struct {
            std::uint64_t devPtr;
            unsigned format, numChannels;
            std::size_t width, height, pitchInBytes;
        } pitch2D;
        int reserved[32];
    } res;
    unsigned flags;
};

/// CU_TRSF_*
constexpr unsigned kTextureIntegers = 1, kTextureNormalized = 2, kTextureSrgb = 16, kTextureSeamlessCube = 64;
struct CUDA_TEXTURE_DESC {
    unsigned addressMode[3], filterMode, flags, maxAnisotropy, mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp, borderColor[4];
    int reserved[12];
};
