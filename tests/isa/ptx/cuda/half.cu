// Arithmetic and conversions of halves, bfloat16 and 8-bit floating point by the intrinsics of the headers.
// ptx: half.ptx -arch=compute_90
// ptx: half_75.ptx -arch=compute_75 -DNO_BF16
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" {

__global__ void half_arithmetic(const __half* a, const __half* b, const __half* c, __half* y) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const __half p = a[t], q = b[t], r = c[t];
    __half* out = y + t * 32;
    out[0] = __hadd(p, q);
    out[1] = __hsub(p, q);
    out[2] = __hmul(p, q);
    out[3] = __hfma(p, q, r);
    out[4] = __hdiv(p, q);
    out[5] = __hneg(p);
    out[6] = __habs(p);
    out[7] = __hadd_sat(p, q);
    out[8] = __hmul_sat(p, q);
    out[9] = __hfma_sat(p, q, r);
    out[10] = __hmax(p, q);
    out[11] = __hmin(p, q);
    out[12] = hfloor(p);
    out[13] = hceil(p);
    out[14] = htrunc(p);
    out[15] = hrint(p);
    out[16] = __hfma_relu(p, q, r);
    out[17] = __float2half(__half2float(p) * 1.5f);
    out[18] = __float2half_rz(__half2float(p) * 0.3f);
    out[19] = __float2half_ru(__half2float(p) * 0.3f);
    out[20] = __float2half_rd(__half2float(p) * 0.3f);
    out[21] = __int2half_rn(__half2int_rn(p) * 3);
    out[22] = __uint2half_rn(__half2uint_rz(__habs(p)));
    out[23] = __short2half_rn(__half2short_rd(p));
    out[24] = __double2half(static_cast<double>(__half2float(p)) / 3);
    out[25] = __ll2half_rn(__half2ll_ru(p));
    out[26] = __hlt(p, q) ? p : q;
    out[27] = __hgeu(p, q) ? p : r;
    out[28] = __heq(p, p) && !__hisnan(q) ? q : r;
    out[29] = __hmul_rn(p, r);
    out[30] = __hmax_nan(p, r);
    out[31] = __short_as_half(__half_as_short(p) ^ 0x0001);
}

// Pairs: every lane of a pair must do the same as one half.
__global__ void half_pairs(const __half2* a, const __half2* b, const __half2* c, __half2* y,
                           unsigned* masks) {
    const int t = threadIdx.x;
    const __half2 p = a[t], q = b[t], r = c[t];
    __half2* out = y + t * 12;
    out[0] = __hadd2(p, q);
    out[1] = __hmul2(p, q);
    out[2] = __hfma2(p, q, r);
    out[3] = __hmax2(p, q);
    out[4] = __hmin2(p, r);
    out[5] = __h2div(p, q);
    out[6] = __lowhigh2highlow(p);
    out[7] = __halves2half2(__high2half(p), __low2half(q));
    out[8] = __hgt2(p, q);
    out[9] = __hneg2(__habs2(p));
    out[10] = __floats2half2_rn(__low2float(p) + 1, __high2float(q) - 1);
    out[11] = __hfma2_sat(p, q, r);
    masks[t] = __hlt2_mask(p, q) ^ (__hbeq2(p, p) ? 1u : 0u);
}

// Functions of one half: within a unit in the last place, checked against the double.
__global__ void half_functions(const __half* a, __half* y) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const __half p = a[t];
    __half* out = y + t * 11;
    out[0] = hexp(p);
    out[1] = hexp2(p);
    out[2] = hlog(__habs(p));
    out[3] = hlog2(__habs(p));
    out[4] = hsqrt(__habs(p));
    out[5] = hrsqrt(__habs(p));
    out[6] = hrcp(p);
    out[7] = hsin(p);
    out[8] = hcos(p);
    out[9] = hexp10(p * __float2half(0.25f));
    out[10] = hlog10(__habs(p));
}

#ifndef NO_BF16
__global__ void bf16_arithmetic(const __nv_bfloat16* a, const __nv_bfloat16* b, const __nv_bfloat16* c,
                                __nv_bfloat16* y) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    const __nv_bfloat16 p = a[t], q = b[t], r = c[t];
    __nv_bfloat16* out = y + t * 16;
    out[0] = __hadd(p, q);
    out[1] = __hsub(p, q);
    out[2] = __hmul(p, q);
    out[3] = __hfma(p, q, r);
    out[4] = __hdiv(p, q);
    out[5] = __hmax(p, q);
    out[6] = __hmin(p, q);
    out[7] = __hneg(__habs(p));
    out[8] = __float2bfloat16_rz(__bfloat162float(p) * 0.3f);
    out[9] = __float2bfloat16_ru(__bfloat162float(p) * 0.3f);
    out[10] = __double2bfloat16(static_cast<double>(__bfloat162float(p)) / 3);
    out[11] = __int2bfloat16_rn(__bfloat162int_rz(p) * 5);
    out[12] = __hfma_relu(p, q, r);
    out[13] =
        __low2bfloat16(__hfma2(__halves2bfloat162(p, q), __halves2bfloat162(q, r), __halves2bfloat162(r, p)));
    out[14] = __high2bfloat16(__hadd2(__halves2bfloat162(p, q), __halves2bfloat162(q, r)));
    out[15] = hsqrt(__habs(p));
}

// All codes of both formats to floats, and floats to codes.
__global__ void fp8_conversions(const float* x, unsigned char* e4m3, unsigned char* e5m2, float* back) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    e4m3[t] = __nv_cvt_float_to_fp8(x[t], __NV_SATFINITE, __NV_E4M3);
    e5m2[t] = __nv_cvt_float_to_fp8(x[t], __NV_SATFINITE, __NV_E5M2);
    const __nv_fp8_e4m3 p(x[t] * 2);
    e4m3[256 + t] = p.__x;
    __nv_fp8_e4m3 code;
    code.__x = t;
    back[t] = static_cast<float>(code);
    __nv_fp8_e5m2 wide;
    wide.__x = t;
    back[256 + t] = static_cast<float>(wide);
}
#endif

}  // extern "C"
