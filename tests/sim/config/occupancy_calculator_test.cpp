// Thread blocks per SM against NVIDIA's own occupancy calculator, cuda_occupancy.h of the CUDA toolkit, over
// a grid of launch shapes on every GPU that Heddle knows by name. Without the toolkit there is nothing to
// compare with.
#include <catch2/catch.hpp>
#include <optional>

#include "isa/common/error.h"
#include "models/gpu/occupancy.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"

#if __has_include(<cuda_occupancy.h>)
#include <cuda_occupancy.h>
#endif

#if __has_include(<cuda_occupancy.h>)
using namespace heddle;

namespace {

cudaOccDeviceProp properties_of(const models::gpu::GpuConfig& gpu) {
    cudaOccDeviceProp properties;
    properties.computeMajor = static_cast<int>(gpu.compute_capability / 10);
    properties.computeMinor = static_cast<int>(gpu.compute_capability % 10);
    properties.maxThreadsPerBlock = 1024;
    properties.maxThreadsPerMultiprocessor = static_cast<int>(gpu.sm.threads);
    properties.regsPerBlock = properties.regsPerMultiprocessor = static_cast<int>(gpu.sm.registers);
    properties.warpSize = 32;
    properties.sharedMemPerBlock = 48 << 10;
    properties.sharedMemPerMultiprocessor = gpu.shared.bytes;
    properties.numSms = static_cast<int>(gpu.sm.count);
    properties.sharedMemPerBlockOptin = gpu.shared.bytes_per_cta;
    properties.reservedSharedMemPerBlock = gpu.shared.reserved_per_cta;
    return properties;
}

/// What the calculator says; nothing when it refuses.
std::optional<cudaOccResult> calculated(const cudaOccDeviceProp& properties, unsigned threads,
                                        unsigned registers, std::size_t shared) {
    cudaOccFuncAttributes function;
    function.maxThreadsPerBlock = 1024;
    function.numRegs = static_cast<int>(registers);
    function.sharedSizeBytes = 0;
    function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    function.maxDynamicSharedSizeBytes = properties.sharedMemPerBlockOptin;
    function.numBlockBarriers = 1;
    cudaOccDeviceState state;
    cudaOccResult result;
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &function, &state,
                                                static_cast<int>(threads), shared) != CUDA_OCC_SUCCESS)
        return std::nullopt;
    return result;
}

}  // namespace

TEST_CASE("occupancy equals NVIDIA's calculator") {
    std::size_t compared = 0;
    for (const char* name : {"h100-sxm", "a100-sxm", "v100-sxm", "rtx-a6000"}) {
        const models::gpu::GpuConfig gpu = sim::gpu_config(sim::load_hardware(name));
        const cudaOccDeviceProp properties = properties_of(gpu);
        for (unsigned threads = 1; threads <= 1024; threads += threads < 32 ? 31 : 32) {
            for (unsigned registers = 16; registers <= 255; registers += 7) {
                for (const std::size_t shared :
                     {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{16} << 10,
                      std::size_t{33} << 10, std::size_t{48} << 10, std::size_t{90} << 10,
                      static_cast<std::size_t>(gpu.shared.bytes_per_cta)}) {
                    CAPTURE(name, threads, registers, shared);
                    const auto expected = calculated(properties, threads, registers, shared);
                    const bool none = !expected || expected->activeBlocksPerMultiprocessor == 0;
                    ++compared;
                    if (shared > gpu.shared.bytes_per_cta) continue;
                    if (none) {
                        REQUIRE_THROWS_AS(models::gpu::occupancy(gpu, threads, registers, shared), Error);
                    } else {
                        const auto ours = models::gpu::occupancy(gpu, threads, registers, shared);
                        REQUIRE(ours.ctas_per_sm ==
                                static_cast<unsigned>(expected->activeBlocksPerMultiprocessor));
                    }
                }
            }
        }
    }
    CHECK(compared > 30000);
}
#else
TEST_CASE("occupancy equals NVIDIA's calculator") {
    WARN("skipped: cuda_occupancy.h of the CUDA toolkit is not here");
}
#endif
