// The kernels of a transformer block: attention by blocks with a running softmax, normalisations,
// activations.

// ptx: attention.ptx -arch=compute_90
// ptx: attention_80.ptx -arch=compute_80
#include <cuda_fp16.h>

__device__ unsigned shared_address(const void* p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

__device__ void multiply_16x8x16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ void load_matrices(unsigned (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row)));
}

__device__ void load_matrices_transposed(unsigned (&r)[4], const void* row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row)));
}

__device__ void copy_async(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}

// Heads of 64 columns. A block: 4 warps with 16 queries each; keys and values come in tiles of 32, the next
// tile while this one is worked on.
constexpr int kHead = 64, kKeys = 32, kPitch = kHead + 8;
extern "C" __global__ void __launch_bounds__(128)
    flash_attention(const __half* q, const __half* k, const __half* v, __half* out, int length, float scale,
                    int causal) {
    __shared__ __align__(16) __half keys[2][kKeys][kPitch];
    __shared__ __align__(16) __half values[2][kKeys][kPitch];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const size_t head = static_cast<size_t>(blockIdx.y) * length * kHead;
    const int first_query = blockIdx.x * 64 + warp * 16;
    const int row = first_query + lane / 4, column = lane % 4 * 2;

    const auto load_tile = [&](int stage, int base) {
        for (int chunk = threadIdx.x; chunk < kKeys * kHead / 8; chunk += 128) {
            const int r = chunk / (kHead / 8), c = chunk % (kHead / 8) * 8;
            copy_async(&keys[stage][r][c], k + head + (base + r) * kHead + c);
            copy_async(&values[stage][r][c], v + head + (base + r) * kHead + c);
        }
        asm volatile("cp.async.commit_group;");
    };

    unsigned query[kHead / 16][4];
    for (int part = 0; part < kHead / 16; ++part) {
        const __half* at = q + head + row * kHead + part * 16 + column;
        query[part][0] = *reinterpret_cast<const unsigned*>(at);
        query[part][1] = *reinterpret_cast<const unsigned*>(at + 8 * kHead);
        query[part][2] = *reinterpret_cast<const unsigned*>(at + 8);
        query[part][3] = *reinterpret_cast<const unsigned*>(at + 8 * kHead + 8);
    }
    float result[kHead / 8][4] = {};
    float largest[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
    const int end = causal ? min(length, static_cast<int>(blockIdx.x + 1) * 64) : length;
    load_tile(0, 0);
    for (int base = 0, stage = 0; base < end; base += kKeys, stage ^= 1) {
        if (base + kKeys < end) {
            load_tile(stage ^ 1, base + kKeys);
            asm volatile("cp.async.wait_group 1;");
        } else {
            asm volatile("cp.async.wait_group 0;");
        }
        __syncthreads();
        float score[kKeys / 8][4] = {};
        for (int part = 0; part < kHead / 16; ++part) {
            for (int n = 0; n < kKeys / 16; ++n) {
                unsigned b[4];
                load_matrices(
                    b, &keys[stage][n * 16 + (lane & 7) + (lane >> 4) * 8][part * 16 + (lane >> 3 & 1) * 8]);
                multiply_16x8x16(score[2 * n], query[part], {b[0], b[1]});
                multiply_16x8x16(score[2 * n + 1], query[part], {b[2], b[3]});
            }
        }
        for (int half = 0; half < 2; ++half) {
            float top = largest[half];
            for (int n = 0; n < kKeys / 8; ++n) {
                for (int e = 0; e < 2; ++e) {
                    float& s = score[n][half * 2 + e];
                    s *= scale;
                    if (causal && base + n * 8 + column + e > row + half * 8) s = -INFINITY;
                    top = fmaxf(top, s);
                }
            }
            top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, 1));
            top = fmaxf(top, __shfl_xor_sync(0xFFFFFFFFu, top, 2));
            const float shrink = exp2f((largest[half] - top) * 1.44269504f);
            largest[half] = top;
            float part = 0;
            for (int n = 0; n < kKeys / 8; ++n) {
                for (int e = 0; e < 2; ++e) {
                    float& s = score[n][half * 2 + e];
                    s = exp2f((s - top) * 1.44269504f);
                    part += s;
                }
            }
            sum[half] = sum[half] * shrink + part;
            for (int n = 0; n < kHead / 8; ++n) {
                result[n][half * 2] *= shrink;
                result[n][half * 2 + 1] *= shrink;
            }
        }
        for (int part = 0; part < kKeys / 16; ++part) {
            unsigned a[4];
            for (int i = 0; i < 4; ++i) {
                const float* s = &score[2 * part + i / 2][i % 2 * 2];
                const __half2 packed = __floats2half2_rn(s[0], s[1]);
                a[i] = *reinterpret_cast<const unsigned*>(&packed);
            }
            for (int n = 0; n < kHead / 16; ++n) {
                unsigned b[4];
                load_matrices_transposed(b,
                                         &values[stage][part * 16 + (lane & 15)][n * 16 + (lane >> 4) * 8]);
                multiply_16x8x16(result[2 * n], a, {b[0], b[1]});
                multiply_16x8x16(result[2 * n + 1], a, {b[2], b[3]});
            }
        }
        __syncthreads();
    }
    for (int half = 0; half < 2; ++half) {
        float total = sum[half];
        total += __shfl_xor_sync(0xFFFFFFFFu, total, 1);
        total += __shfl_xor_sync(0xFFFFFFFFu, total, 2);
        const float inverse = 1.0f / total;
        for (int n = 0; n < kHead / 8; ++n) {
            *reinterpret_cast<__half2*>(out + head + (row + half * 8) * kHead + n * 8 + column) =
                __floats2half2_rn(result[n][half * 2] * inverse, result[n][half * 2 + 1] * inverse);
        }
    }
}

template <class T, int kThreads>
__device__ T block_sum(T v) {
    __shared__ T parts[kThreads / 32];
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xFFFFFFFFu, v, d);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
    __syncthreads();
    v = 0;
    for (int i = 0; i < kThreads / 32; ++i) v += parts[i];
    __syncthreads();
    return v;
}

extern "C" __global__ void layer_norm(const float* x, const float* gain, const float* bias, float* y,
                                      int columns) {
    const float* row = x + static_cast<size_t>(blockIdx.x) * columns;
    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += 128) sum += row[i];
    const float mean = block_sum<float, 128>(sum) / columns;
    float squares = 0;
    for (int i = threadIdx.x; i < columns; i += 128) squares += (row[i] - mean) * (row[i] - mean);
    const float inverse = rsqrtf(block_sum<float, 128>(squares) / columns + 1e-5f);
    for (int i = threadIdx.x; i < columns; i += 128) {
        y[static_cast<size_t>(blockIdx.x) * columns + i] = (row[i] - mean) * inverse * gain[i] + bias[i];
    }
}

// Softmax of a row in one pass: maximum and sum together.
extern "C" __global__ void online_softmax(const float* x, float* y, int columns) {
    const float* row = x + static_cast<size_t>(blockIdx.x) * columns;
    float top = -INFINITY, sum = 0;
    for (int i = threadIdx.x; i < columns; i += 32) {
        const float before = top;
        top = fmaxf(top, row[i]);
        sum = sum * expf(before - top) + expf(row[i] - top);
    }
    for (int d = 16; d > 0; d /= 2) {
        const float other_top = __shfl_xor_sync(0xFFFFFFFFu, top, d),
                    other = __shfl_xor_sync(0xFFFFFFFFu, sum, d);
        const float both = fmaxf(top, other_top);
        sum = sum * expf(top - both) + other * expf(other_top - both);
        top = both;
    }
    for (int i = threadIdx.x; i < columns; i += 32) y[blockIdx.x * columns + i] = expf(row[i] - top) / sum;
}

// Two of a time: rotary embedding of halves, then GELU and SiLU, stored as vectors.
extern "C" __global__ void activations(int n, const float4* x, float4* gelu, float4* silu, float2* rotary) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float4 v = __ldg(x + i);
    const auto gelu_of = [](float a) {
        return 0.5f * a * (1 + tanhf(0.797884561f * (a + 0.044715f * a * a * a)));
    };
    const auto silu_of = [](float a) { return a / (1 + __expf(-a)); };
    gelu[i] = make_float4(gelu_of(v.x), gelu_of(v.y), gelu_of(v.z), gelu_of(v.w));
    silu[i] = make_float4(silu_of(v.x), silu_of(v.y), silu_of(v.z), silu_of(v.w));
    float sine, cosine;
    sincosf(i * powf(10000.0f, -(i % 8) / 8.0f), &sine, &cosine);
    __stcs(rotary + i, make_float2(v.x * cosine - v.y * sine, v.x * sine + v.y * cosine));
}
