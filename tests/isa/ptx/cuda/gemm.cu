// Matrix products in every type of the tensor cores, by mma.h and by inline PTX.
// ptx: gemm.ptx -arch=compute_90
// ptx: gemm_80.ptx -arch=compute_80 -DNO_FP8
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

// One warp per 16 x 16 tile of C = A B + C, everything row-major.
template <class Input, class Output, class Fragment>
__device__ void wmma_gemm(int n, int k, const Input* a, const Input* b, Output* c) {
    const int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, Fragment, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, Fragment, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 16, Output> fc;
    wmma::load_matrix_sync(fc, c + row * n + column, n, wmma::mem_row_major);
    for (int l = 0; l < k; l += 16) {
        wmma::load_matrix_sync(fa, a + row * k + l, k);
        wmma::load_matrix_sync(fb, b + l * n + column, n);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c + row * n + column, fc, n, wmma::mem_row_major);
}

extern "C" {

__global__ void gemm_half_float(int n, int k, const __half* a, const __half* b, float* c) {
    wmma_gemm<__half, float, __half>(n, k, a, b, c);
}
__global__ void gemm_half_half(int n, int k, const __half* a, const __half* b, __half* c) {
    wmma_gemm<__half, __half, __half>(n, k, a, b, c);
}
__global__ void gemm_bf16(int n, int k, const __nv_bfloat16* a, const __nv_bfloat16* b, float* c) {
    wmma_gemm<__nv_bfloat16, float, __nv_bfloat16>(n, k, a, b, c);
}
__global__ void gemm_int8(int n, int k, const signed char* a, const signed char* b, int* c) {
    wmma_gemm<signed char, int, signed char>(n, k, a, b, c);
}
__global__ void gemm_uint8(int n, int k, const unsigned char* a, const unsigned char* b, int* c) {
    wmma_gemm<unsigned char, int, unsigned char>(n, k, a, b, c);
}

// tf32: values are rounded in the fragments; B column-major, C through shared memory with a bias per column
// and a clamp, element by element.
__global__ void gemm_tf32(int n, int k, const float* a, const float* b, const float* bias, float* c) {
    __shared__ float tile[16 * 16];
    const int row = blockIdx.y * 16, column = blockIdx.x * 16;
    wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 16, 16, 8, float> fc;
    wmma::fill_fragment(fc, 0.0f);
    for (int l = 0; l < k; l += 8) {
        wmma::load_matrix_sync(fa, a + row * k + l, k);
        wmma::load_matrix_sync(fb, b + column * k + l, k);
        for (int i = 0; i < fa.num_elements; ++i) fa.x[i] = wmma::__float_to_tf32(fa.x[i]);
        for (int i = 0; i < fb.num_elements; ++i) fb.x[i] = wmma::__float_to_tf32(fb.x[i]);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    for (int i = 0; i < fc.num_elements; ++i) fc.x[i] = fminf(fc.x[i] * 0.5f, 1000.0f);
    wmma::store_matrix_sync(tile, fc, 16, wmma::mem_row_major);
    __syncwarp();
    for (int i = threadIdx.x; i < 256; i += 32) {
        c[(row + i / 16) * n + column + i % 16] = tile[i] + bias[column + i % 16];
    }
}

__global__ void gemm_double(int n, int k, const double* a, const double* b, double* c) {
    const int row = blockIdx.y * 8, column = blockIdx.x * 8;
    wmma::fragment<wmma::matrix_a, 8, 8, 4, double, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 4, double, wmma::row_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 4, double> fc;
    wmma::fill_fragment(fc, 0.0);
    for (int l = 0; l < k; l += 4) {
        wmma::load_matrix_sync(fa, a + row * k + l, k);
        wmma::load_matrix_sync(fb, b + l * n + column, n);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c + row * n + column, fc, n, wmma::mem_row_major);
}

// Other tile shapes: 8 x 32 and 32 x 8.
__global__ void gemm_shapes(int k, const __half* a, const __half* b, float* wide, float* tall) {
    wmma::fragment<wmma::matrix_a, 8, 32, 16, __half, wmma::col_major> wa;
    wmma::fragment<wmma::matrix_b, 8, 32, 16, __half, wmma::col_major> wb;
    wmma::fragment<wmma::accumulator, 8, 32, 16, float> wc;
    wmma::fragment<wmma::matrix_a, 32, 8, 16, __half, wmma::row_major> ta;
    wmma::fragment<wmma::matrix_b, 32, 8, 16, __half, wmma::row_major> tb;
    wmma::fragment<wmma::accumulator, 32, 8, 16, float> tc;
    wmma::fill_fragment(wc, 1.0f);
    wmma::fill_fragment(tc, -1.0f);
    for (int l = 0; l < k; l += 16) {
        wmma::load_matrix_sync(wa, a + l * 8, 8);  // A is 8 x k, column-major
        wmma::load_matrix_sync(wb, b + l, k);      // B is k x 32, column-major
        wmma::load_matrix_sync(ta, b + l, k);      // the same values: 32 x k, row-major
        wmma::load_matrix_sync(tb, a + l * 8, 8);  // k x 8, row-major
        wmma::mma_sync(wc, wa, wb, wc);
        wmma::mma_sync(tc, ta, tb, tc);
    }
    wmma::store_matrix_sync(wide, wc, 32, wmma::mem_row_major);
    wmma::store_matrix_sync(tall, tc, 32, wmma::mem_col_major);
}

// Four-bit integers and bits. A is 8 x k row-major, B k x 8 column-major.
__global__ void gemm_narrow(int k4, int k1, const unsigned* a4, const unsigned* b4, const unsigned* a1,
                            const unsigned* b1, int* c4, int* c1) {
    using namespace wmma::experimental;
    wmma::fragment<wmma::matrix_a, 8, 8, 32, precision::s4, wmma::row_major> fa;
    wmma::fragment<wmma::matrix_b, 8, 8, 32, precision::s4, wmma::col_major> fb;
    wmma::fragment<wmma::accumulator, 8, 8, 32, int> fc;
    wmma::fill_fragment(fc, 7);
    for (int l = 0; l < k4; l += 32) {
        wmma::load_matrix_sync(fa, a4 + l / 8, k4);
        wmma::load_matrix_sync(fb, b4 + l / 8, k4);
        wmma::mma_sync(fc, fa, fb, fc);
    }
    wmma::store_matrix_sync(c4, fc, 8, wmma::mem_row_major);
    wmma::fragment<wmma::matrix_a, 8, 8, 128, precision::b1, wmma::row_major> ba;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, precision::b1, wmma::col_major> bb;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> bc;
    wmma::fill_fragment(bc, 0);
    for (int l = 0; l < k1; l += 128) {
        wmma::load_matrix_sync(ba, a1 + l / 32, k1);
        wmma::load_matrix_sync(bb, b1 + l / 32, k1);
        wmma::bmma_sync(bc, ba, bb, bc, bmmaBitOpXOR);
        wmma::bmma_sync(bc, ba, bb, bc, bmmaBitOpAND);
    }
    wmma::store_matrix_sync(c1, bc, 8, wmma::mem_row_major);
}

// By inline PTX, fragments as the manual draws them: D (16 x 8) = A (16 x k) B (k x 8), B column-major.
__global__ void mma_int8(int k, const signed char* a, const signed char* b, int* d) {
    const int group = threadIdx.x / 4, within = threadIdx.x % 4;
    int c[4] = {};
    for (int l = 0; l < k; l += 32) {
        unsigned fa[4], fb[2];
        for (int i = 0; i < 4; ++i) {
            fa[i] =
                *reinterpret_cast<const unsigned*>(a + (group + i % 2 * 8) * k + l + within * 4 + i / 2 * 16);
        }
        for (int i = 0; i < 2; ++i) {
            fb[i] = *reinterpret_cast<const unsigned*>(b + group * k + l + within * 4 + i * 16);
        }
        asm volatile(
            "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
            "{%8,%9}, "
            "{%0,%1,%2,%3};"
            : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
            : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
    }
    for (int i = 0; i < 4; ++i) d[(group + i / 2 * 8) * 8 + within * 2 + i % 2] = c[i];
}

#ifndef NO_FP8
__global__ void mma_fp8(int k, const unsigned char* a, const unsigned char* b, float* d) {
    const int group = threadIdx.x / 4, within = threadIdx.x % 4;
    float c[4] = {};
    for (int l = 0; l < k; l += 32) {
        unsigned fa[4], fb[2];
        for (int i = 0; i < 4; ++i) {
            fa[i] =
                *reinterpret_cast<const unsigned*>(a + (group + i % 2 * 8) * k + l + within * 4 + i / 2 * 16);
        }
        for (int i = 0; i < 2; ++i) {
            fb[i] = *reinterpret_cast<const unsigned*>(b + group * k + l + within * 4 + i * 16);
        }
        asm volatile(
            "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
            "{%0,%1,%2,%3};"
            : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
    }
    for (int i = 0; i < 4; ++i) d[(group + i / 2 * 8) * 8 + within * 2 + i % 2] = c[i];
}
#endif

}  // extern "C"
