// Tensor memory and tcgen05 as CUDA programs reach them, through the instructions' wrappers of the toolkit's own headers; conversions to
// and from 4-bit and 6-bit floats and scales.
// ptx: tensor_memory.ptx -arch=compute_100a
#include <cstdint>
#include <cuda/ptx>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

namespace ptx = cuda::ptx;

// Descriptor of a K-major operand in lines of 128 bytes, swizzled: 8 lines of 128 bytes to a group of 1,024.
__device__ std::uint64_t descriptor_of(const void* shared) {
    const std::uint64_t address = static_cast<std::uint64_t>(__cvta_generic_to_shared(shared));
    return (address & 0x3FFFF) >> 4 | std::uint64_t{1} << 16 | std::uint64_t{64} << 32 | std::uint64_t{1} << 46 | std::uint64_t{2} << 61;
}

// D[128][64] = A[128][64] B[64][64]^T, of halves, one thread block of 128 threads. Rows of A and B have 128 bytes.
extern "C" __global__ void __launch_bounds__(128) multiply(const uint4* a, const uint4* b, float* d) {
    __shared__ alignas(1024) uint4 a_tile[128 * 8];
    __shared__ alignas(1024) uint4 b_tile[64 * 8];
    __shared__ std::uint32_t slot;
    __shared__ std::uint64_t done;
    const unsigned thread = threadIdx.x, warp = thread / 32;
    for (unsigned i = thread; i < 128 * 8; i += 128) a_tile[i ^ (i / 8 % 8)] = a[i];
    for (unsigned i = thread; i < 64 * 8; i += 128) b_tile[i ^ (i / 8 % 8)] = b[i];
    if (thread == 0) ptx::mbarrier_init(&done, 1);
    if (warp == 0) {
        ptx::tcgen05_alloc(ptx::cta_group_1, &slot, 64);
        ptx::tcgen05_relinquish_alloc_permit(ptx::cta_group_1);
    }
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::tcgen05_fence_before_thread_sync();
    __syncthreads();
    ptx::tcgen05_fence_after_thread_sync();
    const std::uint32_t tensor = slot;
    if (thread == 0) {
        // f32 sums of f16, M = 128, N = 64.
        const std::uint32_t instruction = 1u << 4 | 64u / 8 << 17 | 128u / 16 << 24;
        for (unsigned step = 0; step < 4; ++step)
            ptx::tcgen05_mma(ptx::kind_f16, ptx::cta_group_1, tensor, descriptor_of(a_tile) + 2 * step, descriptor_of(b_tile) + 2 * step, instruction, step != 0);
        ptx::tcgen05_commit(ptx::cta_group_1, &done);
    }
    while (!ptx::mbarrier_try_wait_parity(&done, 0)) {}
    ptx::tcgen05_fence_after_thread_sync();
    std::uint32_t values[64];
    ptx::tcgen05_ld_32x32b(values, tensor + (warp * 32 << 16));
    ptx::tcgen05_wait_ld();
    for (unsigned i = 0; i < 64; ++i) d[thread * 64 + i] = __uint_as_float(values[i]);
    __syncthreads();
    if (warp == 0) ptx::tcgen05_dealloc(ptx::cta_group_1, tensor, 64);
}

// The same by a pair of thread blocks: D[256][64], of which each has 128 rows, and half of B.
extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(128) multiply_in_pairs(const uint4* a, const uint4* b, float* d) {
    __shared__ alignas(1024) uint4 a_tile[128 * 8];
    __shared__ alignas(1024) uint4 b_tile[32 * 8];
    __shared__ std::uint32_t slot;
    __shared__ std::uint64_t done;
    const unsigned thread = threadIdx.x, warp = thread / 32, rank = blockIdx.x % 2;
    for (unsigned i = thread; i < 128 * 8; i += 128) a_tile[i ^ (i / 8 % 8)] = a[rank * 128 * 8 + i];
    for (unsigned i = thread; i < 32 * 8; i += 128) b_tile[i ^ (i / 8 % 8)] = b[rank * 32 * 8 + i];
    if (thread == 0) ptx::mbarrier_init(&done, 1);
    if (warp == 0) {
        ptx::tcgen05_alloc(ptx::cta_group_2, &slot, 64);
        ptx::tcgen05_relinquish_alloc_permit(ptx::cta_group_2);
    }
    ptx::fence_proxy_async(ptx::space_shared);
    ptx::tcgen05_fence_before_thread_sync();
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
    ptx::tcgen05_fence_after_thread_sync();
    const std::uint32_t tensor = slot;
    if (thread == 0 && rank == 0) {
        const std::uint32_t instruction = 1u << 4 | 64u / 8 << 17 | 256u / 16 << 24;
        for (unsigned step = 0; step < 4; ++step)
            ptx::tcgen05_mma(ptx::kind_f16, ptx::cta_group_2, tensor, descriptor_of(a_tile) + 2 * step, descriptor_of(b_tile) + 2 * step, instruction, step != 0);
        ptx::tcgen05_commit_multicast(ptx::cta_group_2, &done, std::uint16_t{3});
    }
    while (!ptx::mbarrier_try_wait_parity(&done, 0)) {}
    ptx::tcgen05_fence_after_thread_sync();
    std::uint32_t values[64];
    ptx::tcgen05_ld_32x32b(values, tensor + (warp * 32 << 16));
    ptx::tcgen05_wait_ld();
    for (unsigned i = 0; i < 64; ++i) d[(rank * 128 + thread) * 64 + i] = __uint_as_float(values[i]);
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
    if (warp == 0) ptx::tcgen05_dealloc(ptx::cta_group_2, tensor, 64);
}

extern "C" __global__ void narrow(const float2* in, unsigned* out) {
    const float2 v = in[threadIdx.x];
    out[4 * threadIdx.x] = __nv_cvt_float2_to_fp4x2(v, __NV_E2M1, cudaRoundNearest);
    out[4 * threadIdx.x + 1] = __nv_cvt_float2_to_fp6x2(v, __NV_E2M3, cudaRoundNearest);
    out[4 * threadIdx.x + 2] = __nv_cvt_float2_to_e8m0x2(v, __NV_SATFINITE, cudaRoundPosInf);
    const __half2_raw h = __nv_cvt_fp4x2_to_halfraw2(static_cast<__nv_fp4x2_storage_t>(out[4 * threadIdx.x]), __NV_E2M1);
    out[4 * threadIdx.x + 3] = h.x | h.y << 16;
}
