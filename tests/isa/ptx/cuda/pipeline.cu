// Barriers in shared memory: producers and consumers, pipelines of a block.

// ptx: pipeline.ptx -arch=compute_90
// ptx: pipeline_80.ptx -arch=compute_80
#include <cooperative_groups.h>

#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

extern "C" {

// cuda::barrier: arrive early, work, wait; the phases alternate between two halves of the block.
__global__ void split_barrier(const int* x, int rounds, int* y) {
    __shared__ cuda::barrier<cuda::thread_scope_block> ready;
    __shared__ int values[128];
    if (threadIdx.x == 0) init(&ready, blockDim.x);
    __syncthreads();
    int v = x[threadIdx.x];
    for (int r = 0; r < rounds; ++r) {
        values[threadIdx.x] = v;
        auto token = ready.arrive();
        int mine = 0;
        for (int i = 0; i < (threadIdx.x & 3); ++i) mine += i * r;
        ready.wait(std::move(token));
        const int next = values[(threadIdx.x + 1) % 128] + mine;
        ready.arrive_and_wait();
        v = next;
    }
    y[threadIdx.x] = v;
}

// Warp 0 produces, warps 1 ... 3 consume, two barriers per slot.
__global__ void producer_consumer(const int* x, int tiles, int* y) {
    using Barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ Barrier full[2], empty[2];
    __shared__ int slot[2][96];
    if (threadIdx.x < 2) {
        init(&full[threadIdx.x], 128);
        init(&empty[threadIdx.x], 128);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        for (int i = 0; i < tiles; ++i) {
            if (i >= 2) empty[i % 2].arrive_and_wait();
            for (int e = threadIdx.x; e < 96; e += 32) slot[i % 2][e] = x[i * 96 + e] * 2;
            (void)full[i % 2].arrive();
        }
    } else {
        int sum = 0;
        for (int i = 0; i < tiles; ++i) {
            full[i % 2].arrive_and_wait();
            sum += slot[i % 2][threadIdx.x - 32];
            if (i + 2 < tiles) (void)empty[i % 2].arrive();
        }
        y[threadIdx.x - 32] = sum;
    }
}

// cuda::pipeline shared by the block, with roles.
__global__ void block_pipeline(const int* x, int tiles, int* y) {
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    __shared__ int slot[2][64];
    const auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int fetched = 0, i = 0; i < tiles; ++i) {
        for (; fetched < tiles && fetched < i + 2; ++fetched) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, slot[fetched % 2], x + fetched * 64, sizeof(int) * 64, pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum += slot[i % 2][63 - threadIdx.x];
        pipe.consumer_release();
    }
    y[threadIdx.x] = sum;
}

}  // extern "C"
