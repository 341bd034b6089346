// The mathematical functions of one argument in double precision, each a kernel, and those of several.
// ptx: double_math.ptx -arch=compute_90
#define FUNCTION(name)                                                       \
    extern "C" __global__ void k_##name(int n, const double* x, double* y) { \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                 \
        if (i < n) y[i] = name(x[i]);                                        \
    }

FUNCTION(cbrt)
FUNCTION(rcbrt)
FUNCTION(exp)
FUNCTION(exp2)
FUNCTION(exp10)
FUNCTION(expm1)
FUNCTION(log)
FUNCTION(log2)
FUNCTION(log10)
FUNCTION(log1p)
FUNCTION(sin)
FUNCTION(cos)
FUNCTION(tan)
FUNCTION(sinpi)
FUNCTION(cospi)
FUNCTION(asin)
FUNCTION(acos)
FUNCTION(atan)
FUNCTION(sinh)
FUNCTION(cosh)
FUNCTION(tanh)
FUNCTION(asinh)
FUNCTION(acosh)
FUNCTION(atanh)
FUNCTION(erf)
FUNCTION(erfc)
FUNCTION(erfinv)
FUNCTION(erfcinv)
FUNCTION(erfcx)
FUNCTION(normcdf)
FUNCTION(normcdfinv)
FUNCTION(lgamma)
FUNCTION(tgamma)
FUNCTION(j0)
FUNCTION(j1)
FUNCTION(y0)
FUNCTION(rsqrt)
FUNCTION(sqrt)
FUNCTION(logb)
FUNCTION(trunc)
FUNCTION(round)
FUNCTION(rint)
FUNCTION(floor)
FUNCTION(ceil)

// Two arguments: y[row * n + i] is the row-th function of a[i], b[i].
extern "C" __global__ void two_arguments(int n, const double* a, const double* b, double* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[0 * n + i] = pow(a[i], b[i]);
    y[1 * n + i] = atan2(a[i], b[i]);
    y[2 * n + i] = hypot(a[i], b[i]);
    y[3 * n + i] = fmod(a[i], b[i]);
    y[4 * n + i] = remainder(a[i], b[i]);
    y[5 * n + i] = fdim(a[i], b[i]);
    y[6 * n + i] = copysign(a[i], b[i]);
    y[7 * n + i] = nextafter(a[i], b[i]);
    y[8 * n + i] = fmin(a[i], b[i]);
    y[9 * n + i] = fmax(a[i], b[i]);
    y[10 * n + i] = rhypot(a[i], b[i]);
}

extern "C" __global__ void several_results(int n, const double* x, double* y, int* z) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double sine, cosine, whole;
    sincos(x[i], &sine, &cosine);
    y[i] = sine;
    y[n + i] = cosine;
    y[2 * n + i] = modf(x[i], &whole);
    y[3 * n + i] = whole;
    y[4 * n + i] = frexp(x[i], &z[i]);
    y[5 * n + i] = ldexp(x[i], i % 40 - 20);
    y[6 * n + i] = remquo(x[i], double(0.75), &z[n + i]);
    y[7 * n + i] = norm3d(x[i], x[i] + 1, double(0.5));
    y[8 * n + i] = norm4d(x[i], x[i] + 1, double(0.5), x[i] * 2);
    y[9 * n + i] = fma(x[i], x[i], double(-1.5));
    y[10 * n + i] = scalbn(x[i], -i % 60);
    z[2 * n + i] = ilogb(x[i]);
    z[3 * n + i] = isnan(x[i]) + 2 * isinf(x[i]) + 4 * signbit(x[i]) + 8 * isfinite(x[i]);
    z[4 * n + i] = lround(x[i]);
    z[5 * n + i] = llrint(x[i]);
}

extern "C" __global__ void rounded(int n, const double* a, const double* b, double* y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double p = a[i], q = b[i];
    double* out = y + i * 24;
    out[0] = __dadd_rn(p, q);
    out[1] = __dadd_rz(p, q);
    out[2] = __dadd_ru(p, q);
    out[3] = __dadd_rd(p, q);
    out[4] = __dmul_rn(p, q);
    out[5] = __dmul_rz(p, q);
    out[6] = __dmul_ru(p, q);
    out[7] = __dmul_rd(p, q);
    out[8] = __ddiv_rn(p, q);
    out[9] = __ddiv_rz(p, q);
    out[10] = __ddiv_ru(p, q);
    out[11] = __ddiv_rd(p, q);
    out[12] = __dsub_rn(p, q);
    out[13] = __dsub_rz(p, q);
    out[14] = __dsub_ru(p, q);
    out[15] = __dsub_rd(p, q);
    out[16] = __dsqrt_rn(fabs(p));
    out[17] = __dsqrt_rz(fabs(p));
    out[18] = __dsqrt_ru(fabs(p));
    out[19] = __dsqrt_rd(fabs(p));
    out[20] = __fma_rn(p, q, p);
    out[21] = __fma_rz(p, q, p);
    out[22] = __fma_ru(p, q, p);
    out[23] = __fma_rd(p, q, p);
}
