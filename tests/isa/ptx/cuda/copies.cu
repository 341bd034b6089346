// Asynchronous copies in groups, by the primitives and classes of the headers.

// ptx: copies.ptx -arch=compute_90
// ptx: copies_80.ptx -arch=compute_80
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda_pipeline.h>

#include <cuda/pipeline>

namespace cg = cooperative_groups;

extern "C" {

// Three tiles of 64 floats in flight, by the primitives of cuda_pipeline.h. The last copy is short: zeros
// follow.
__global__ void primitives(const float* x, int tiles, int last, float* y) {
    __shared__ __align__(16) float tile[4][64];
    const int t = threadIdx.x;  // 16 threads of 16 bytes
    const auto fetch = [&](int i) {
        if (i < tiles) {
            const int bytes = i == tiles - 1 ? min(max(last - t * 4, 0), 4) * 4 : 16;
            __pipeline_memcpy_async(&tile[i % 4][t * 4], x + i * 64 + t * 4, 16, 16 - bytes);
        }
        __pipeline_commit();
    };
    fetch(0);
    fetch(1);
    fetch(2);
    float sum[4] = {};
    for (int i = 0; i < tiles; ++i) {
        __pipeline_wait_prior(2);
        __syncthreads();
        for (int e = 0; e < 4; ++e) sum[e] += tile[i % 4][63 - t * 4 - e] * (i + 1);
        fetch(i + 3);
    }
    for (int e = 0; e < 4; ++e) y[t * 4 + e] = sum[e];
}

// cuda::pipeline of one thread each.
__global__ void thread_pipeline(const int2* x, int n, int2* y) {
    __shared__ int2 stage[2][64];
    auto pipe = cuda::make_pipeline();
    const int t = threadIdx.x;
    pipe.producer_acquire();
    cuda::memcpy_async(&stage[0][t], x + t, cuda::aligned_size_t<8>(sizeof(int2)), pipe);
    pipe.producer_commit();
    int2 sum = make_int2(0, 0);
    for (int i = 0; i < n; ++i) {
        if (i + 1 < n) {
            pipe.producer_acquire();
            cuda::memcpy_async(&stage[(i + 1) % 2][t], x + (i + 1) * 64 + t,
                               cuda::aligned_size_t<8>(sizeof(int2)), pipe);
            pipe.producer_commit();
            cuda::pipeline_consumer_wait_prior<1>(pipe);
        } else {
            cuda::pipeline_consumer_wait_prior<0>(pipe);
        }
        sum.x += stage[i % 2][t].x;
        sum.y ^= stage[i % 2][t].y;
        pipe.consumer_release();
    }
    y[t] = sum;
}

// cg::memcpy_async by the whole block.
__global__ void group_copy(const int* x, int n, int* y) {
    __shared__ __align__(16) int tile[256];
    const auto block = cg::this_thread_block();
    int sum = 0;
    for (int base = 0; base < n; base += 256) {
        cg::memcpy_async(block, tile, x + base, cuda::aligned_size_t<16>(256 * sizeof(int)));
        cg::wait(block);
        sum += tile[255 - block.thread_rank()];
        block.sync();
    }
    y[block.thread_rank()] = sum;
}

}  // extern "C"
