// Source of kernels.ptx, which the tests run: nvcc -arch=sm_90 -O3 -ptx kernels.cu -o kernels.ptx
// (CUDA 13.0; kept as text so that the tests need no CUDA toolkit).
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" {

__global__ void saxpy(int n, float a, const float* __restrict__ x, float* __restrict__ y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

// C = A B, row-major, 16 x 16 tiles in shared memory.
__global__ void sgemm_tiled(int m, int n, int k, const float* a, const float* b, float* c) {
    __shared__ float tile_a[16][16];
    __shared__ float tile_b[16][17];
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int start = 0; start < k; start += 16) {
        const int ka = start + threadIdx.x, kb = start + threadIdx.y;
        tile_a[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
        tile_b[threadIdx.y][threadIdx.x] = kb < k && column < n ? b[kb * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum = fmaf(tile_a[threadIdx.y][i], tile_b[i][threadIdx.x], sum);
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

// Grid-stride sum: shuffles inside warps, shared memory across, one atomic per CTA.
__global__ void reduce_sum(int n, const int* x, int* result) {
    __shared__ int partial[32];
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0;
        for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(0xffffffffu, sum, offset);
        if (threadIdx.x == 0) atomicAdd(result, sum);
    }
}

__global__ void histogram(int n, const unsigned char* x, unsigned int* bins) {
    __shared__ unsigned int local_bins[256];
    for (int b = threadIdx.x; b < 256; b += blockDim.x) local_bins[b] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local_bins[x[i]], 1u);
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += blockDim.x) {
        if (local_bins[b] != 0) atomicAdd(&bins[b], local_bins[b]);
    }
}

__global__ void transpose(int rows, int columns, const float* x, float* y) {
    __shared__ float tile[32][33];
    int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) {
        if (row + i < rows && column < columns) tile[threadIdx.y + i][threadIdx.x] = x[(row + i) * columns + column];
    }
    __syncthreads();
    column = blockIdx.y * 32 + threadIdx.x;
    row = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) {
        if (row + i < columns && column < rows) y[(row + i) * rows + column] = tile[threadIdx.x][threadIdx.y + i];
    }
}

// Divergent: lanes take different numbers of steps.
__global__ void collatz(int n, const unsigned long long* x, int* steps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned long long value = x[i];
    int count = 0;
    while (value != 1) {
        if (value % 2 == 0) {
            value /= 2;
        } else {
            value = 3 * value + 1;
        }
        ++count;
    }
    steps[i] = count;
}

// Rows of up to 1024, one warp each: maximum, exponentials, sum, quotient.
__global__ void softmax_rows(int rows, int columns, const float* x, float* y) {
    const int row = blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= rows) return;
    float largest = -INFINITY;
    for (int c = threadIdx.x; c < columns; c += 32) largest = fmaxf(largest, x[row * columns + c]);
    for (int offset = 16; offset > 0; offset /= 2) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, offset));
    float sum = 0;
    for (int c = threadIdx.x; c < columns; c += 32) sum += expf(x[row * columns + c] - largest);
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    for (int c = threadIdx.x; c < columns; c += 32) y[row * columns + c] = expf(x[row * columns + c] - largest) / sum;
}

// Integer division, remainder, double precision, local arrays and a constant table.
__constant__ double coefficients[5] = {1.0, -0.5, 0.25, -0.125, 0.0625};
__global__ void mixed(int n, const int* x, const int* divisor, double* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int digits[8];
    int value = x[i];
    for (int d = 0; d < 8; ++d) {
        digits[d] = value % 10;
        value /= 10;
    }
    double sum = 0;
    for (int d = 0; d < 8; ++d) sum = sum * 3.0 + digits[(d * divisor[i]) & 7];
    for (int c = 0; c < 5; ++c) sum += coefficients[c] * (x[i] / divisor[i]);
    y[i] = sqrt(fabs(sum)) + (double)(unsigned long long)(x[i] & 0xffff) / 3.0;
}

__global__ void half_axpy(int n, __half a, const __half2* x, __half2* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = __hfma2(__half2half2(a), x[i], y[i]);
}

// The number of lanes below that agree, by ballot; and a search with a break.
__global__ void compact(int n, const int* x, int threshold, int* y, int* count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool keep = i < n && x[i] > threshold;
    const unsigned ballot = __ballot_sync(0xffffffffu, keep);
    int base = 0;
    if (threadIdx.x % 32 == 0) base = atomicAdd(count, __popc(ballot));
    base = __shfl_sync(0xffffffffu, base, 0);
    if (keep) y[base + __popc(ballot & ((1u << (threadIdx.x % 32)) - 1))] = x[i];
}

}  // extern "C"
