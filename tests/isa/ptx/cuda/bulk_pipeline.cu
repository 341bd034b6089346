// A producer warp keeps several stages of shared memory full with tensor copies, consumer warps empty them:
// full and empty mbarriers, phases that flip when the ring wraps. The same with cuda::barrier and
// cuda::memcpy_async-style bulk copies.
// ptx: bulk_pipeline.ptx -arch=compute_90a
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda/std/utility>

namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kStages = 4, kTileRows = 16, kTileColumns = 32, kConsumers = 96;

// out[c] += sum of the rows of column c, over tiles of 16 x 32 of a matrix of `rows` x 32 floats.
extern "C" __global__ void column_sums(const __grid_constant__ CUtensorMap map, int tiles, float* out) {
    __shared__ alignas(1024) float stages[kStages][kTileRows][kTileColumns];
    __shared__ uint64_t full[kStages], empty[kStages];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (threadIdx.x == 0) {
        for (int s = 0; s < kStages; ++s) {
            ptx::mbarrier_init(&full[s], 1);
            ptx::mbarrier_init(&empty[s], kConsumers);
        }
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    }
    __syncthreads();
    if (warp == 0) {
        if (lane == 0) {
            for (int tile = 0; tile < tiles; ++tile) {
                const int s = tile % kStages, round = tile / kStages;
                while (!ptx::mbarrier_try_wait_parity(&empty[s], (round & 1) ^ 1)) {}
                ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[s],
                                               sizeof(stages[s]));
                const int coordinates[2] = {0, tile * kTileRows};
                ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, &stages[s], &map, coordinates,
                                          &full[s]);
            }
        }
        return;
    }
    float sum = 0;
    for (int tile = 0; tile < tiles; ++tile) {
        const int s = tile % kStages, round = tile / kStages;
        while (!ptx::mbarrier_try_wait_parity(&full[s], round & 1)) {}
        for (int row = (warp - 1); row < kTileRows; row += kConsumers / 32) {
            // Lines of 128 bytes, swizzled: chunk c of line r lies at c ^ (r % 8).
            const int chunk = (lane / 4) ^ (row % 8);
            sum += stages[s][row][chunk * 4 + lane % 4];
        }
        ptx::mbarrier_arrive(&empty[s]);
    }
    atomicAdd(&out[lane], sum);
}

// y = 2 x + 1 over blocks of 1024 ints: a bulk copy in, arithmetic, a bulk copy out.
extern "C" __global__ void scale_blocks(const int* x, int* y) {
    __shared__ alignas(128) int data[1024];
    __shared__ Barrier barrier;
    if (threadIdx.x == 0) {
        init(&barrier, blockDim.x);
        ptx::fence_proxy_async(ptx::space_shared);
    }
    __syncthreads();
    Barrier::arrival_token token;
    if (threadIdx.x == 0) {
        cuda::memcpy_async(data, x + blockIdx.x * 1024, cuda::aligned_size_t<16>(sizeof(data)), barrier);
        token = cuda::device::barrier_arrive_tx(barrier, 1, 0);
    } else {
        token = barrier.arrive();
    }
    barrier.wait(cuda::std::move(token));
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) data[i] = 2 * data[i] + 1;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, y + blockIdx.x * 1024, data, sizeof(data));
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

// Histogram of bytes by a cluster: every CTA counts its own part, then adds into the first one's table with
// red.async, whose mbarrier counts the bytes.
extern "C" __global__ void __cluster_dims__(4, 1, 1) cluster_histogram(const unsigned char* x, int count,
                                                                       unsigned* table) {
    __shared__ unsigned counts[256], total[256];
    __shared__ uint64_t done;
    const unsigned rank = blockIdx.x % 4;
    const int threads = blockDim.x;
    for (int i = threadIdx.x; i < 256; i += threads) counts[i] = total[i] = 0;
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&done, 1);
        ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
        if (rank == 0)
            ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &done, 4 * 256 * 4);
    }
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
    for (int i = rank * threads + threadIdx.x; i < count; i += 4 * threads) atomicAdd(&counts[x[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += threads) {
        unsigned* remote;
        uint64_t* barrier;
        asm("mapa.u64 %0, %1, 0;" : "=l"(remote) : "l"(&total[i]));
        asm("mapa.u64 %0, %1, 0;" : "=l"(barrier) : "l"(&done));
        ptx::red_async(ptx::op_add, remote, counts[i], barrier);
    }
    if (rank == 0) {
        while (!ptx::mbarrier_try_wait_parity(&done, 0)) {}
        for (int i = threadIdx.x; i < 256; i += threads) table[i] = total[i];
    }
    ptx::barrier_cluster_arrive();
    ptx::barrier_cluster_wait();
}
