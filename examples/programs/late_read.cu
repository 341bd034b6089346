// Sums of blocks as many programs write them: each thread reads the sum behind the barrier, and the next sum overwrites it with nothing between. That is a
// race (heddle run --check finds it), and no GPU shows it, because the warps of a block go on together behind a barrier.
#include "check.h"

__device__ float sum_of_block(float value) {
    __shared__ float sums[32];
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
    if (lane == 0) sums[warp] = value;
    __syncthreads();
    if (warp == 0) {
        value = lane < blockDim.x / 32 ? sums[lane] : 0;
        for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffff, value, offset);
        if (lane == 0) sums[0] = value;
    }
    __syncthreads();
    return sums[0];
}

__global__ void deviations(const float* x, float* mean, float* deviation, int count) {
    float sum = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) sum += x[i];
    const float middle = sum_of_block(sum) / count;
    sum = 0;
    for (int i = threadIdx.x; i < count; i += blockDim.x) sum += (x[i] - middle) * (x[i] - middle);
    const float square = sum_of_block(sum) / count;
    if (threadIdx.x % 32 == 0) {
        mean[threadIdx.x / 32] = middle;
        deviation[threadIdx.x / 32] = square;
    }
}

int main() {
    constexpr int kCount = 1024, kWarps = 8;
    float *x, *mean, *deviation;
    CHECK(cudaMallocManaged(&x, kCount * sizeof(float)));
    CHECK(cudaMallocManaged(&mean, kWarps * sizeof(float)));
    CHECK(cudaMallocManaged(&deviation, kWarps * sizeof(float)));
    for (int i = 0; i < kCount; ++i) x[i] = static_cast<float>(i % 4);
    deviations<<<1, 32 * kWarps>>>(x, mean, deviation, kCount);
    CHECK(cudaDeviceSynchronize());
    bool right = true;
    for (int i = 0; i < kWarps; ++i) right = right && mean[i] == 1.5f && deviation[i] == 1.25f;
    return verdict(right, "sums of a block");
}
