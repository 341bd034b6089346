// The mathematical functions of one argument in single precision, each a kernel, and those of several.
// ptx: single_math.ptx -arch=compute_90
#define FUNCTION(name)                                                     \
    extern "C" __global__ void k_##name(int n, const float* x, float* y) { \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;               \
        if (i < n) y[i] = name(x[i]);                                      \
    }

FUNCTION(cbrtf)
FUNCTION(rcbrtf)
FUNCTION(expf)
FUNCTION(exp2f)
FUNCTION(exp10f)
FUNCTION(expm1f)
FUNCTION(logf)
FUNCTION(log2f)
FUNCTION(log10f)
FUNCTION(log1pf)
FUNCTION(sinf)
FUNCTION(cosf)
FUNCTION(tanf)
FUNCTION(sinpif)
FUNCTION(cospif)
FUNCTION(asinf)
FUNCTION(acosf)
FUNCTION(atanf)
FUNCTION(sinhf)
FUNCTION(coshf)
FUNCTION(tanhf)
FUNCTION(asinhf)
FUNCTION(acoshf)
FUNCTION(atanhf)
FUNCTION(erff)
FUNCTION(erfcf)
FUNCTION(erfinvf)
FUNCTION(erfcinvf)
FUNCTION(erfcxf)
FUNCTION(normcdff)
FUNCTION(normcdfinvf)
FUNCTION(lgammaf)
FUNCTION(tgammaf)
FUNCTION(j0f)
FUNCTION(j1f)
FUNCTION(y0f)
FUNCTION(rsqrtf)
FUNCTION(sqrtf)
FUNCTION(logbf)
FUNCTION(truncf)
FUNCTION(roundf)
FUNCTION(rintf)
FUNCTION(floorf)
FUNCTION(ceilf)

// Two arguments: y[row * n + i] is the row-th function of a[i], b[i].
extern "C" __global__ void two_arguments(int n, const float* a, const float* b, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[0 * n + i] = powf(a[i], b[i]);
    y[1 * n + i] = atan2f(a[i], b[i]);
    y[2 * n + i] = hypotf(a[i], b[i]);
    y[3 * n + i] = fmodf(a[i], b[i]);
    y[4 * n + i] = remainderf(a[i], b[i]);
    y[5 * n + i] = fdimf(a[i], b[i]);
    y[6 * n + i] = copysignf(a[i], b[i]);
    y[7 * n + i] = nextafterf(a[i], b[i]);
    y[8 * n + i] = fminf(a[i], b[i]);
    y[9 * n + i] = fmaxf(a[i], b[i]);
    y[10 * n + i] = rhypotf(a[i], b[i]);
}

extern "C" __global__ void several_results(int n, const float* x, float* y, int* z) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sine, cosine, whole;
    sincosf(x[i], &sine, &cosine);
    y[i] = sine;
    y[n + i] = cosine;
    y[2 * n + i] = modff(x[i], &whole);
    y[3 * n + i] = whole;
    y[4 * n + i] = frexpf(x[i], &z[i]);
    y[5 * n + i] = ldexpf(x[i], i % 40 - 20);
    y[6 * n + i] = remquof(x[i], float(0.75), &z[n + i]);
    y[7 * n + i] = norm3df(x[i], x[i] + 1, float(0.5));
    y[8 * n + i] = norm4df(x[i], x[i] + 1, float(0.5), x[i] * 2);
    y[9 * n + i] = fmaf(x[i], x[i], float(-1.5));
    y[10 * n + i] = scalbnf(x[i], -i % 60);
    z[2 * n + i] = ilogbf(x[i]);
    z[3 * n + i] = isnan(x[i]) + 2 * isinf(x[i]) + 4 * signbit(x[i]) + 8 * isfinite(x[i]);
    z[4 * n + i] = lroundf(x[i]);
    z[5 * n + i] = llrintf(x[i]);
}

// The functions that trade accuracy for speed, and sums with a rounding of their own.
extern "C" __global__ void fast(int n, const float* x, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    y[i] = __sinf(v);
    y[n + i] = __cosf(v);
    y[2 * n + i] = __expf(v);
    y[3 * n + i] = __logf(fabsf(v));
    y[4 * n + i] = __fdividef(v, 1.7f);
    y[5 * n + i] = __tanf(v);
    y[6 * n + i] = __powf(fabsf(v), 1.3f);
    y[7 * n + i] = __exp10f(v);
    y[8 * n + i] = __log2f(fabsf(v));
    y[9 * n + i] = __saturatef(v);
    y[10 * n + i] = __frsqrt_rn(fabsf(v));
}

extern "C" __global__ void rounded(int n, const float* a, const float* b, float* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float p = a[i], q = b[i];
    float* out = y + i * 24;
    out[0] = __fadd_rn(p, q);
    out[1] = __fadd_rz(p, q);
    out[2] = __fadd_ru(p, q);
    out[3] = __fadd_rd(p, q);
    out[4] = __fmul_rn(p, q);
    out[5] = __fmul_rz(p, q);
    out[6] = __fmul_ru(p, q);
    out[7] = __fmul_rd(p, q);
    out[8] = __fdiv_rn(p, q);
    out[9] = __fdiv_rz(p, q);
    out[10] = __fdiv_ru(p, q);
    out[11] = __fdiv_rd(p, q);
    out[12] = __fsub_rn(p, q);
    out[13] = __fsub_rz(p, q);
    out[14] = __fsub_ru(p, q);
    out[15] = __fsub_rd(p, q);
    out[16] = __fsqrt_rn(fabsf(p));
    out[17] = __fsqrt_rz(fabsf(p));
    out[18] = __fsqrt_ru(fabsf(p));
    out[19] = __fsqrt_rd(fabsf(p));
    out[20] = __fmaf_rn(p, q, p);
    out[21] = __fmaf_rz(p, q, p);
    out[22] = __fmaf_ru(p, q, p);
    out[23] = __fmaf_rd(p, q, p);
}
