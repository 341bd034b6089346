// Types of the CUDA runtime interface that arrays, textures and surfaces need, as its headers declare them. tests/driver/interface_test.cpp compares them with
// the headers.
#pragma once

#include <cstddef>

struct Array;

struct cudaChannelFormatDesc {
    int x, y, z, w;  ///< bits of the channels
    int f;           ///< cudaChannelFormatKind: 0 signed, 1 unsigned, 2 floating point
};

struct cudaResourceDesc {
    int resType;  ///< as CUresourcetype
    union {
        Array* array;
        struct {
            void* devPtr;
            cudaChannelFormatDesc desc;
            std::size_t sizeInBytes;
        } linear;
        struct {
            void* devPtr;
            cudaChannelFormatDesc desc;
            std::size_t width, height, pitchInBytes;
        } pitch2D;
        int reserved[32];
    } res;
    unsigned flags;
};

struct cudaTextureDesc {
    int addressMode[3], filterMode;
    int readMode;  ///< 0: elements, 1: normalised numbers
    int sRGB;
    float borderColor[4];
    int normalizedCoords;
    unsigned maxAnisotropy;
    int mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int disableTrilinearOptimization, seamlessCubemap;
};
