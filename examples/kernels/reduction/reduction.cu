// The sum of an array in two launches: one number per block, then one block for those. Warps add by shuffles.
__device__ float warp_sum(float value) {
    for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffff, value, distance);
    return value;
}

extern "C" __global__ void reduce(const float* values, int count, float* sums) {
    __shared__ float of_warp[32];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) sum += values[i];
    sum = warp_sum(sum);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    if (lane == 0) of_warp[warp] = sum;
    __syncthreads();
    if (warp != 0) return;
    sum = warp_sum(lane < blockDim.x / 32 ? of_warp[lane] : 0.0f);
    if (lane == 0) sums[blockIdx.x] = sum;
}
