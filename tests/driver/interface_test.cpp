// The types of driver/*/types.h beside those of the installed CUDA toolkit: compiled, never run. Every layout must be the same.
#include <cuda.h>
#include <cuda_runtime_api.h>
#if __has_include(<nvml.h>)
#include <nvml.h>
#endif

#include <cstddef>
#include <cstdint>

namespace driver_types {
#include "driver/cuda/array_types.h"
#include "driver/cuda/types.h"
}
namespace runtime_types {
// NOLINTNEXTLINE: in place of what the header declares
#define CUlaunchAttribute OurLaunchAttribute
#define cudaMemLocation OurMemLocation
#include "driver/cudart/texture_types.h"
#include "driver/cudart/types.h"
#undef CUlaunchAttribute
#undef cudaMemLocation
}

#define SAME_SIZE(OURS, THEIRS) static_assert(sizeof(OURS) == sizeof(THEIRS), #THEIRS)
#define SAME(OURS, THEIRS, MEMBER) static_assert(offsetof(OURS, MEMBER) == offsetof(THEIRS, MEMBER), #THEIRS "::" #MEMBER)

SAME_SIZE(driver_types::CUDA_MEMCPY2D, CUDA_MEMCPY2D);
SAME(driver_types::CUDA_MEMCPY2D, CUDA_MEMCPY2D, dstPitch);
SAME_SIZE(driver_types::CUmemLocation, CUmemLocation);
SAME_SIZE(driver_types::CUDA_MEMCPY3D, CUDA_MEMCPY3D);
SAME(driver_types::CUDA_MEMCPY3D, CUDA_MEMCPY3D, dstPitch);
SAME_SIZE(driver_types::CUDA_MEMSET_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS_v1);
SAME(driver_types::CUDA_MEMSET_NODE_PARAMS, CUDA_MEMSET_NODE_PARAMS_v1, width);
SAME_SIZE(driver_types::CUDA_HOST_NODE_PARAMS, CUDA_HOST_NODE_PARAMS_v1);
SAME_SIZE(driver_types::CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v2);
SAME(driver_types::CUDA_KERNEL_NODE_PARAMS, CUDA_KERNEL_NODE_PARAMS_v2, extra);
SAME_SIZE(driver_types::CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS_v1);
SAME(driver_types::CUDA_MEM_ALLOC_NODE_PARAMS, CUDA_MEM_ALLOC_NODE_PARAMS_v1, dptr);
SAME(driver_types::CUmemPoolProps, CUmemPoolProps, usage);
SAME_SIZE(driver_types::CUgraphEdgeData, CUgraphEdgeData);
SAME_SIZE(driver_types::CUgraphExecUpdateResultInfo, CUgraphExecUpdateResultInfo);
SAME_SIZE(driver_types::CUlaunchConfig, CUlaunchConfig);
SAME(driver_types::CUlaunchConfig, CUlaunchConfig, numAttrs);
SAME_SIZE(driver_types::CUlaunchAttribute, CUlaunchAttribute);
SAME(driver_types::CUlaunchAttribute, CUlaunchAttribute, value);
static_assert(driver_types::kAttributeCooperative == CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
static_assert(driver_types::kAttributeCluster == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
static_assert(driver_types::kAttributeProgrammatic == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
static_assert(driver_types::CUDA_ERROR_NOT_SUPPORTED == CUDA_ERROR_NOT_SUPPORTED);
static_assert(driver_types::CUDA_ERROR_NOT_READY == CUDA_ERROR_NOT_READY);
static_assert(driver_types::CUDA_ERROR_INVALID_HANDLE == CUDA_ERROR_INVALID_HANDLE);

SAME_SIZE(runtime_types::cudaDeviceProp, cudaDeviceProp);
SAME(runtime_types::cudaDeviceProp, cudaDeviceProp, multiProcessorCount);
SAME(runtime_types::cudaDeviceProp, cudaDeviceProp, sharedMemPerMultiprocessor);
SAME(runtime_types::cudaDeviceProp, cudaDeviceProp, reservedSharedMemPerBlock);
SAME(runtime_types::cudaDeviceProp, cudaDeviceProp, clusterLaunch);
// The layout of CUDA 12, by the figures that its users have published: no header of 12 is here.
static_assert(sizeof(runtime_types::cudaDeviceProp12) == 1032);
static_assert(offsetof(runtime_types::cudaDeviceProp12, major) == 360);
static_assert(offsetof(runtime_types::cudaDeviceProp12, multiProcessorCount) == 388);
SAME_SIZE(runtime_types::cudaFuncAttributes, cudaFuncAttributes);
SAME(runtime_types::cudaFuncAttributes, cudaFuncAttributes, requiredClusterDepth);
SAME_SIZE(runtime_types::cudaPointerAttributes, cudaPointerAttributes);
SAME(runtime_types::cudaPointerAttributes, cudaPointerAttributes, hostPointer);
SAME_SIZE(runtime_types::cudaLaunchConfig, cudaLaunchConfig_t);
SAME_SIZE(runtime_types::cudaMemcpy3DParms, cudaMemcpy3DParms);
SAME(runtime_types::cudaMemcpy3DParms, cudaMemcpy3DParms, extent);
static_assert(runtime_types::cudaErrorInvalidConfiguration == cudaErrorInvalidConfiguration);
static_assert(runtime_types::cudaErrorInvalidSymbol == cudaErrorInvalidSymbol);
static_assert(runtime_types::cudaErrorInvalidDeviceFunction == cudaErrorInvalidDeviceFunction);

#if __has_include(<nvml.h>)
namespace board_types {
#include "driver/nvml/types.h"
}
SAME_SIZE(board_types::nvmlPciInfo_t, nvmlPciInfo_t);
SAME(board_types::nvmlPciInfo_t, nvmlPciInfo_t, busId);
SAME_SIZE(board_types::nvmlMemory_t, nvmlMemory_t);
SAME_SIZE(board_types::nvmlMemory_v2_t, nvmlMemory_v2_t);
SAME(board_types::nvmlMemory_v2_t, nvmlMemory_v2_t, used);
SAME_SIZE(board_types::nvmlUtilization_t, nvmlUtilization_t);
static_assert(board_types::NVML_ERROR_ARGUMENT_VERSION_MISMATCH == NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
#endif

SAME_SIZE(driver_types::CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY_DESCRIPTOR);
SAME(driver_types::CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY_DESCRIPTOR, NumChannels);
SAME_SIZE(driver_types::CUDA_ARRAY3D_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR);
SAME(driver_types::CUDA_ARRAY3D_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR, Flags);
SAME_SIZE(driver_types::CUDA_MEMCPY3D, CUDA_MEMCPY3D);
SAME(driver_types::CUDA_MEMCPY3D, CUDA_MEMCPY3D, srcHeight);
SAME(driver_types::CUDA_MEMCPY3D, CUDA_MEMCPY3D, dstArray);
SAME(driver_types::CUDA_MEMCPY3D, CUDA_MEMCPY3D, Depth);
SAME_SIZE(driver_types::CUDA_RESOURCE_DESC, CUDA_RESOURCE_DESC);
SAME(driver_types::CUDA_RESOURCE_DESC, CUDA_RESOURCE_DESC, res.linear.sizeInBytes);
SAME(driver_types::CUDA_RESOURCE_DESC, CUDA_RESOURCE_DESC, res.pitch2D.pitchInBytes);
SAME(driver_types::CUDA_RESOURCE_DESC, CUDA_RESOURCE_DESC, flags);
SAME_SIZE(driver_types::CUDA_TEXTURE_DESC, CUDA_TEXTURE_DESC);
SAME(driver_types::CUDA_TEXTURE_DESC, CUDA_TEXTURE_DESC, borderColor);
static_assert(driver_types::kArrayLayered == CUDA_ARRAY3D_LAYERED && driver_types::kArraySurface == CUDA_ARRAY3D_SURFACE_LDST);
static_assert(driver_types::kArrayCube == CUDA_ARRAY3D_CUBEMAP && driver_types::kArrayGather == CUDA_ARRAY3D_TEXTURE_GATHER);
static_assert(driver_types::kTextureIntegers == CU_TRSF_READ_AS_INTEGER && driver_types::kTextureNormalized == CU_TRSF_NORMALIZED_COORDINATES);
static_assert(driver_types::kTextureSrgb == CU_TRSF_SRGB && driver_types::kTextureSeamlessCube == CU_TRSF_SEAMLESS_CUBEMAP);
static_assert(driver_types::kResourceLinear == CU_RESOURCE_TYPE_LINEAR && driver_types::kResourcePitched == CU_RESOURCE_TYPE_PITCH2D);

SAME_SIZE(runtime_types::cudaChannelFormatDesc, cudaChannelFormatDesc);
SAME_SIZE(runtime_types::cudaResourceDesc, cudaResourceDesc);
SAME(runtime_types::cudaResourceDesc, cudaResourceDesc, res.linear.sizeInBytes);
SAME(runtime_types::cudaResourceDesc, cudaResourceDesc, res.pitch2D.pitchInBytes);
SAME(runtime_types::cudaResourceDesc, cudaResourceDesc, flags);
SAME_SIZE(runtime_types::cudaTextureDesc, cudaTextureDesc);
SAME(runtime_types::cudaTextureDesc, cudaTextureDesc, borderColor);
SAME(runtime_types::cudaTextureDesc, cudaTextureDesc, seamlessCubemap);
