// The types of driver/*/types.h beside those of the installed CUDA toolkit: compiled, never run. Every layout must be the same.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace driver_types {
#include "driver/cuda/types.h"
}
namespace runtime_types {
// NOLINTNEXTLINE: in place of what the header declares
#define CUlaunchAttribute OurLaunchAttribute
#define cudaMemLocation OurMemLocation
#include "driver/cudart/types.h"
#undef CUlaunchAttribute
#undef cudaMemLocation
}

#define SAME_SIZE(OURS, THEIRS) static_assert(sizeof(OURS) == sizeof(THEIRS), #THEIRS)
#define SAME(OURS, THEIRS, MEMBER) static_assert(offsetof(OURS, MEMBER) == offsetof(THEIRS, MEMBER), #THEIRS "::" #MEMBER)

SAME_SIZE(driver_types::CUDA_MEMCPY2D, CUDA_MEMCPY2D);
SAME(driver_types::CUDA_MEMCPY2D, CUDA_MEMCPY2D, dstPitch);
SAME_SIZE(driver_types::CUmemLocation, CUmemLocation);
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
