// Products on tensor cores: the C++ interface of wmma, and mma with ldmatrix as libraries use them.
// ptx: matrix.ptx -arch=compute_90
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include <cstdint>

using namespace nvcuda;

// D = scale * (A B + C): one warp to a 16 x 16 tile, matrices of multiples of 16. `scale` and the addition
// work on the elements of fragments.
template <int M, int N, class LayoutA, class LayoutB>
__device__ void half_product(int m, int n, int k, const half* a, int lda, const half* b, int ldb,
                             const float* c, float* d, float scale) {
    const int row = blockIdx.y * M, column = blockIdx.x * N;
    constexpr bool row_a = std::is_same_v<LayoutA, wmma::row_major>,
                   row_b = std::is_same_v<LayoutB, wmma::row_major>;
    wmma::fragment<wmma::accumulator, M, N, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int l = 0; l < k; l += 16) {
        wmma::fragment<wmma::matrix_a, M, N, 16, half, LayoutA> fa;
        wmma::fragment<wmma::matrix_b, M, N, 16, half, LayoutB> fb;
        wmma::load_matrix_sync(fa, a + (row_a ? row * lda + l : l * lda + row), lda);
        wmma::load_matrix_sync(fb, b + (row_b ? l * ldb + column : column * ldb + l), ldb);
        wmma::mma_sync(sum, fa, fb, sum);
    }
    wmma::fragment<wmma::accumulator, M, N, 16, float> fc;
    wmma::load_matrix_sync(fc, c + row * n + column, n, wmma::mem_row_major);
    for (int i = 0; i < sum.num_elements; ++i) sum.x[i] = scale * (sum.x[i] + fc.x[i]);
    wmma::store_matrix_sync(d + row * n + column, sum, n, wmma::mem_row_major);
}

extern "C" {

__global__ void wmma_row_col(int m, int n, int k, const half* a, const half* b, const float* c, float* d,
                             float scale) {
    half_product<16, 16, wmma::row_major, wmma::col_major>(m, n, k, a, k, b, k, c, d, scale);
}
__global__ void wmma_col_row(int m, int n, int k, const half* a, const half* b, const float* c, float* d,
                             float scale) {
    half_product<32, 8, wmma::col_major, wmma::row_major>(m, n, k, a, m, b, n, c, d, scale);
}
__global__ void wmma_row_row(int m, int n, int k, const half* a, const half* b, const float* c, float* d,
                             float scale) {
    half_product<8, 32, wmma::row_major, wmma::row_major>(m, n, k, a, k, b, n, c, d, scale);
}

// Tiles of 64 x 64 by four warps, A and B through shared memory with padded rows; A is doubled in its
// fragments.
__global__ void wmma_shared(int n, int k, const __nv_bfloat16* a, const __nv_bfloat16* b, float* d) {
    constexpr int kPitch = 16 + 8;
    __shared__ __align__(32) __nv_bfloat16 tile_a[64 * kPitch], tile_b[64 * kPitch];
    __shared__ __align__(32) float result[64 * 68];
    const int warp = threadIdx.x / 32;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[4];
    for (auto& sum : sums) wmma::fill_fragment(sum, 0.0f);
    for (int l = 0; l < k; l += 16) {
        for (int i = threadIdx.x; i < 64 * 16; i += blockDim.x) {
            tile_a[i / 16 * kPitch + i % 16] = a[(blockIdx.y * 64 + i / 16) * k + l + i % 16];
            tile_b[i / 16 * kPitch + i % 16] = b[(blockIdx.x * 64 + i / 16) * k + l + i % 16];
        }
        __syncthreads();
        wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> fa;
        wmma::load_matrix_sync(fa, tile_a + warp * 16 * kPitch, kPitch);
        for (int i = 0; i < fa.num_elements; ++i) fa.x[i] = __hadd(fa.x[i], fa.x[i]);
        for (int j = 0; j < 4; ++j) {
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::col_major> fb;
            wmma::load_matrix_sync(fb, tile_b + j * 16 * kPitch, kPitch);
            wmma::mma_sync(sums[j], fa, fb, sums[j]);
        }
        __syncthreads();
    }
    for (int j = 0; j < 4; ++j)
        wmma::store_matrix_sync(result + warp * 16 * 68 + j * 16, sums[j], 68, wmma::mem_row_major);
    __syncthreads();
    for (int i = threadIdx.x; i < 64 * 64; i += blockDim.x)
        d[(blockIdx.y * 64 + i / 64) * n + blockIdx.x * 64 + i % 64] = result[i / 64 * 68 + i % 64];
}

// Other types, one tile each.
__global__ void wmma_types(const float* x, float* x_out, const double* y, double* y_out, const signed char* z,
                           int* z_out, const int* bits, int* bits_out) {
    {
        wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a;
        wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> b;
        wmma::fragment<wmma::accumulator, 16, 16, 8, float> sum;
        wmma::load_matrix_sync(a, x, 8);
        wmma::load_matrix_sync(b, x + 128, 8);
        for (int i = 0; i < a.num_elements; ++i) a.x[i] = wmma::__float_to_tf32(a.x[i]);
        for (int i = 0; i < b.num_elements; ++i) b.x[i] = wmma::__float_to_tf32(b.x[i]);
        wmma::fill_fragment(sum, 1.0f);
        wmma::mma_sync(sum, a, b, sum);
        wmma::store_matrix_sync(x_out, sum, 16, wmma::mem_col_major);
    }
    {
        wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> a;
        wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::col_major> b;
        wmma::fragment<wmma::accumulator, 8, 8, 4, double> sum;
        wmma::load_matrix_sync(a, y, 4);
        wmma::load_matrix_sync(b, y + 32, 4);
        wmma::fill_fragment(sum, -1.0);
        wmma::mma_sync(sum, a, b, sum);
        wmma::store_matrix_sync(y_out, sum, 8, wmma::mem_row_major);
    }
    {
        wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> a;
        wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::row_major> b;
        wmma::fragment<wmma::accumulator, 16, 16, 16, int> sum;
        wmma::load_matrix_sync(a, z, 16);
        wmma::load_matrix_sync(b, z + 256, 16);
        wmma::fill_fragment(sum, 5);
        wmma::mma_sync(sum, a, b, sum);
        wmma::store_matrix_sync(z_out, sum, 16, wmma::mem_row_major);
    }
    {
        namespace experimental = wmma::experimental;
        wmma::fragment<wmma::matrix_a, 8, 8, 128, experimental::precision::b1, wmma::row_major> a;
        wmma::fragment<wmma::matrix_b, 8, 8, 128, experimental::precision::b1, wmma::col_major> b;
        wmma::fragment<wmma::accumulator, 8, 8, 128, int> sum;
        wmma::load_matrix_sync(a, bits, 128);
        wmma::load_matrix_sync(b, bits + 32, 128);
        wmma::fill_fragment(sum, 0);
        wmma::bmma_sync(sum, a, b, sum, experimental::bmmaBitOpXOR);
        wmma::store_matrix_sync(bits_out, sum, 8, wmma::mem_row_major);
        wmma::fragment<wmma::matrix_a, 8, 8, 32, experimental::precision::s4, wmma::row_major> a4;
        wmma::fragment<wmma::matrix_b, 8, 8, 32, experimental::precision::s4, wmma::col_major> b4;
        wmma::fragment<wmma::accumulator, 8, 8, 32, int> sum4;
        wmma::load_matrix_sync(a4, bits, 32);
        wmma::load_matrix_sync(b4, bits + 32, 32);
        wmma::fill_fragment(sum4, 0);
        wmma::mma_sync(sum4, a4, b4, sum4);
        wmma::store_matrix_sync(bits_out + 64, sum4, 8, wmma::mem_row_major);
    }
}

// mma.m16n8k16 fed by ldmatrix, B transposed on the way, D through stmatrix: 32 x 32 by two warps, K of 32.
__global__ void mma_ldmatrix(const half* a, const half* b, half* d) {
    __shared__ __align__(16) half sa[32 * 40], sb[32 * 40], sd[32 * 40];
    for (int i = threadIdx.x; i < 32 * 32; i += blockDim.x) {
        sa[i / 32 * 40 + i % 32] = a[i];
        sb[i / 32 * 40 + i % 32] = b[i];  // by row: k, then column
    }
    __syncthreads();
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float sums[4][4] = {};
    for (int k = 0; k < 32; k += 16) {
        unsigned fa[4], fb[4][2];
        const auto pa = static_cast<unsigned>(
            __cvta_generic_to_shared(sa + (warp * 16 + lane % 16) * 40 + k + lane / 16 * 8));
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                     : "r"(pa));
        for (int j = 0; j < 4; ++j) {
            const auto pb =
                static_cast<unsigned>(__cvta_generic_to_shared(sb + (k + lane % 16) * 40 + 8 * j));
            asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                         : "=r"(fb[j][0]), "=r"(fb[j][1])
                         : "r"(pb));
            asm volatile(
                "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, "
                "%9}, "
                "{%0, %1, %2, %3};"
                : "+f"(sums[j][0]), "+f"(sums[j][1]), "+f"(sums[j][2]), "+f"(sums[j][3])
                : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[j][0]), "r"(fb[j][1]));
        }
    }
    for (int j = 0; j < 4; ++j) {
        const half2 upper = __floats2half2_rn(sums[j][0], sums[j][1]),
                    lower = __floats2half2_rn(sums[j][2], sums[j][3]);
        const auto pd =
            static_cast<unsigned>(__cvta_generic_to_shared(sd + (warp * 16 + lane % 16) * 40 + 8 * j));
        asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(pd),
                     "r"(reinterpret_cast<const unsigned&>(upper)),
                     "r"(reinterpret_cast<const unsigned&>(lower))
                     : "memory");
    }
    __syncthreads();
    for (int i = threadIdx.x; i < 32 * 32; i += blockDim.x) d[i] = sd[i / 32 * 40 + i % 32];
}

}  // extern "C"
