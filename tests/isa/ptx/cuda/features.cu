// Source of features.ptx: nvcc -std=c++17 -arch=sm_90 -O3 -ptx features.cu -o features.ptx (CUDA 13.0).
// Kernels that use one feature of the language each.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

struct Pair {
    double low;
    int count;
};

// Functions that are called, one returns a structure; some lanes do not call.
__noinline__ __device__ double horner(double x, int terms) {
    double sum = 0;
    for (int i = terms; i > 0; --i) sum = sum * x + i;
    return sum;
}
__noinline__ __device__ Pair halve(double x) {
    Pair result = {x, 0};
    while (result.low >= 1.0) {
        result.low *= 0.5;
        ++result.count;
    }
    return result;
}

extern "C" {

__global__ void functions(int n, const double* x, double* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double result = x[i];
    if (i % 3 != 0) result = horner(x[i], i % 7);
    if (result > 2.0) {
        const Pair pair = halve(result);
        result = pair.low + pair.count;
    }
    y[i] = horner(result, 3);
}

// A dense switch.
__global__ void dispatch(int n, const int* x, int* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int v = x[i];
    for (int round = 0; round < 3; ++round) {
        switch ((v + round) & 15) {
            case 0: v = v * 3 + 1; y[i] += v; break;
            case 1: v = v ^ (v >> 3); y[i] -= v; break;
            case 2: v = v / 5; y[i] ^= v; break;
            case 3: v = v + round; y[i] |= v; break;
            case 4: v = ~v; y[i] += 2 * v; break;
            case 5: v = v << 2; y[i] -= 3 * v; break;
            case 6: v = v * v; y[i] += 7; break;
            case 7: v = v - 11; y[i] *= 3; break;
            case 8: v = v % 9; y[i] += v & 3; break;
            case 9: y[i] += 9; break;
            case 10: v = -v; y[i] -= 10; break;
            default: v += 1; y[i] += round; break;
        }
    }
}

__global__ void single_math(int n, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    float* out = y + 12 * i;
    out[0] = sinf(v);
    out[1] = cosf(v);
    out[2] = expf(v);
    out[3] = logf(fabsf(v));
    out[4] = powf(fabsf(v), 1.7f);
    out[5] = erff(v);
    out[6] = tanhf(v);
    out[7] = cbrtf(v);
    out[8] = atan2f(v, 2.0f);
    out[9] = expm1f(v);
    out[10] = fmodf(v, 0.7f);
    out[11] = rsqrtf(v * v + 1.0f);
}

__global__ void double_math(int n, const double* x, double* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double v = x[i];
    double* out = y + 8 * i;
    out[0] = sin(v);
    out[1] = exp(v);
    out[2] = log(fabs(v));
    out[3] = pow(fabs(v), 1.7);
    out[4] = erf(v);
    out[5] = tanh(v);
    out[6] = sqrt(fabs(v));
    out[7] = cos(1000.0 * v);
}

struct Box {
    int scale;
    float values[10];
    short bias;
};
__global__ void structure(Box box, int shift, float* y) {
    y[threadIdx.x] = box.values[(threadIdx.x + shift) % 10] * box.scale + box.bias;
}

__device__ int table[64];
__device__ float total = 0.5f;
__constant__ float weights[4] = {1.0f, 2.0f, 4.0f, 8.0f};
__global__ void globals(const float* x) {
    const int i = threadIdx.x;
    atomicAdd(&table[i % 64], i);
    atomicAdd(&total, x[i] * weights[i % 4]);
}

__global__ void wide_integers(const long long* x, const unsigned* u, long long* y) {
    const int i = threadIdx.x;
    const long long v = x[i];
    const unsigned w = u[i];
    const __int128 product = (__int128)v * v;
    long long* out = y + 8 * i;
    out[0] = v / (long long)(w | 1);
    out[1] = v % 1000;
    out[2] = (long long)(product >> 64);
    out[3] = __popcll(v) * 100 + __clzll(v);
    out[4] = __byte_perm(w, w * 3, 0x3214);
    out[5] = __funnelshift_l(w, w * 7, 13);
    out[6] = __dp4a((int)w, (int)(w * 5), 3);
    out[7] = (unsigned long long)v / 7 + __brev(w);
}

__global__ void dynamic_shared(int n, float* y) {
    extern __shared__ float values[];
    for (int i = threadIdx.x; i < n; i += blockDim.x) values[i] = i;
    __syncthreads();
    float result = values[n - 1 - threadIdx.x];
    result += 1000 * __syncthreads_count(threadIdx.x % 3 == 0);
    if (__syncthreads_or(threadIdx.x == 77)) result += 100000;
    if (__syncthreads_and(threadIdx.x != 77)) result += 500000;
    y[threadIdx.x] = result;
}

__global__ void narrow_math(int n, const __half* x, const __nv_bfloat16* z, float* y) {
    const int i = threadIdx.x;
    if (i >= n) return;
    y[4 * i] = __half2float(__hmax(x[i] * x[i], __float2half(0.5f)));
    y[4 * i + 1] = __bfloat162float(__hfma(z[i], z[i], __float2bfloat16(1.0f)));
    y[4 * i + 2] = __half2float(__float2half_rz(__half2float(x[i]) * 1.001f));
    y[4 * i + 3] = (float)__half2int_rn(x[i] * __float2half(10.0f)) + (x[i] < __float2half(0.0f) ? 100.0f : 0.0f);
}

}  // extern "C"
