// Numerical programs in single and double precision.
// ptx: numeric.ptx -arch=compute_90
extern "C" {

// 16 x 16 tiles, each thread 2 x 2 results.
__global__ void dgemm(int m, int n, int k, double alpha, const double* a, const double* b, double beta,
                      double* c) {
    __shared__ double sa[16][17], sb[16][17];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * 16 + ty * 2, column = blockIdx.x * 16 + tx * 2;
    double sum[2][2] = {};
    for (int base = 0; base < k; base += 16) {
        for (int i = 0; i < 2; ++i) {
            for (int j = 0; j < 2; ++j) {
                const int r = ty * 2 + i, q = tx * 2 + j;
                sa[r][q] = row + i < m && base + q < k ? a[(row + i) * k + base + q] : 0;
                sb[r][q] = base + r < k && column + j < n ? b[(base + r) * n + column + j] : 0;
            }
        }
        __syncthreads();
#pragma unroll 4
        for (int l = 0; l < 16; ++l) {
            for (int i = 0; i < 2; ++i) {
                for (int j = 0; j < 2; ++j) sum[i][j] += sa[ty * 2 + i][l] * sb[l][tx * 2 + j];
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; ++i) {
        for (int j = 0; j < 2; ++j) {
            if (row + i < m && column + j < n) {
                double& out = c[(row + i) * n + column + j];
                out = alpha * sum[i][j] + beta * out;
            }
        }
    }
}

// Compensated summation, one chain per thread; contraction must not happen in it.
__global__ void kahan(int n, const float* x, float* y, float* naive) {
    float sum = 0, lost = 0, plain = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const float term = __fsub_rn(x[i], lost), total = __fadd_rn(sum, term);
        lost = __fsub_rn(__fsub_rn(total, sum), term);
        sum = total;
        plain += x[i];
    }
    y[threadIdx.x] = sum;
    naive[threadIdx.x] = plain;
}

// Roots of x^3 - 2x - a by Newton's method until nothing changes.
__global__ void newton(int n, const double* a, double* root, int* steps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    double x = 2 + fabs(a[i]);
    int count = 0;
    for (; count < 100; ++count) {
        const double next = x - (x * x * x - 2 * x - a[i]) / (3 * x * x - 2);
        if (fabs(next - x) <= 1e-15 * fabs(x)) break;
        x = next;
    }
    root[i] = x;
    steps[i] = count;
}

// Radix-2 transform of 256 points in shared memory, decimation in time.
__global__ void fft(const float2* x, float2* y, int inverse) {
    __shared__ float2 s[256];
    const int t = threadIdx.x;
    for (int i = t; i < 256; i += 128) s[__brev(i) >> 24] = x[blockIdx.x * 256 + i];
    for (int half = 1; half < 256; half *= 2) {
        __syncthreads();
        const int place = t & (half - 1), low = (t - place) * 2 + place, high = low + half;
        float sine, cosine;
        sincospif((inverse ? 1.0f : -1.0f) * place / half, &sine, &cosine);
        const float2 a = s[low], b = s[high];
        const float re = b.x * cosine - b.y * sine, im = b.x * sine + b.y * cosine;
        s[low] = make_float2(a.x + re, a.y + im);
        s[high] = make_float2(a.x - re, a.y - im);
    }
    __syncthreads();
    for (int i = t; i < 256; i += 128) y[blockIdx.x * 256 + i] = s[i];
}

__global__ void n_body(int n, const float4* body, float3* force) {
    __shared__ float4 tile[64];
    const int i = blockIdx.x * 64 + threadIdx.x;
    const float4 mine = i < n ? body[i] : make_float4(0, 0, 0, 0);
    float3 sum = make_float3(0, 0, 0);
    for (int base = 0; base < n; base += 64) {
        __syncthreads();
        tile[threadIdx.x] = base + threadIdx.x < n ? body[base + threadIdx.x] : make_float4(0, 0, 0, 0);
        __syncthreads();
        for (int j = 0; j < 64; ++j) {
            const float dx = tile[j].x - mine.x, dy = tile[j].y - mine.y, dz = tile[j].z - mine.z;
            const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            const float scale = tile[j].w * inverse * inverse * inverse;
            sum.x += dx * scale;
            sum.y += dy * scale;
            sum.z += dz * scale;
        }
    }
    if (i < n) force[i] = sum;
}

__global__ void mandelbrot(int width, int height, int limit, int* counts) {
    const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= width || py >= height) return;
    const double cx = -2.0 + 2.5 * px / width, cy = -1.25 + 2.5 * py / height;
    double x = 0, y = 0;
    int count = 0;
    while (count < limit && __dadd_rn(__dmul_rn(x, x), __dmul_rn(y, y)) < 4) {
        const double next = __dadd_rn(__dsub_rn(__dmul_rn(x, x), __dmul_rn(y, y)), cx);
        y = __dadd_rn(__dmul_rn(__dmul_rn(2, x), y), cy);
        x = next;
        ++count;
    }
    counts[py * width + px] = count;
}

// Seven-point stencil, planes in registers.
__global__ void stencil(int nx, int ny, int nz, const float* u, float* v) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || x >= nx - 1 || y < 1 || y >= ny - 1) return;
    const int plane = nx * ny;
    int i = y * nx + x;
    float below = u[i], here = u[i + plane];
    for (int z = 1; z < nz - 1; ++z) {
        i += plane;
        const float above = u[i + plane];
        v[i] = 0.5f * here + 0.25f * (below + above) + 0.125f * (u[i - 1] + u[i + 1]) +
               0.0625f * (u[i - nx] + u[i + nx]);
        below = here;
        here = above;
    }
}

// Transpose through a tile whose columns are swizzled instead of padded.
__global__ void swizzled_transpose(int n, const float* x, float* y) {
    __shared__ float tile[32 * 32];
    const int column = blockIdx.x * 32 + threadIdx.x;
    for (int r = threadIdx.y; r < 32; r += 8) {
        tile[r * 32 + (threadIdx.x ^ r)] = x[(blockIdx.y * 32 + r) * n + column];
    }
    __syncthreads();
    const int row = blockIdx.y * 32 + threadIdx.x;
    for (int r = threadIdx.y; r < 32; r += 8) {
        y[(blockIdx.x * 32 + r) * n + row] = tile[threadIdx.x * 32 + (r ^ threadIdx.x)];
    }
}

// Philox 4x32, ten rounds, and an estimate of pi.
__global__ void philox(unsigned seed, uint4* numbers, unsigned long long* inside) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    uint4 c = make_uint4(i, 0, 7, 0);
    unsigned k0 = seed, k1 = ~seed;
    for (int round = 0; round < 10; ++round) {
        const unsigned h0 = __umulhi(0xD2511F53u, c.x), l0 = 0xD2511F53u * c.x;
        const unsigned h1 = __umulhi(0xCD9E8D57u, c.z), l1 = 0xCD9E8D57u * c.z;
        c = make_uint4(h1 ^ c.y ^ k0, l1, h0 ^ c.w ^ k1, l0);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    numbers[i] = c;
    const float x = c.x * 0x1p-32f, y = c.y * 0x1p-32f;
    const unsigned votes = __ballot_sync(0xFFFFFFFFu, x * x + y * y < 1.0f);
    if ((threadIdx.x & 31) == 0) atomicAdd(inside, static_cast<unsigned long long>(__popc(votes)));
}

// Jacobi iterations until the largest change of the block is small.
__global__ void jacobi(int n, const double* a, const double* b, double* x, int* iterations) {
    __shared__ double now[64];
    const int t = threadIdx.x;
    now[t] = 0;
    __syncthreads();
    int count = 0;
    for (;;) {
        double sum = t < n ? b[t] : 0;
        for (int j = 0; j < n; ++j) {
            if (j != t && t < n) sum -= a[t * n + j] * now[j];
        }
        const double next = t < n ? sum / a[t * n + t] : 0;
        const int moving = __syncthreads_or(fabs(next - now[t]) > 1e-12);
        now[t] = next;
        ++count;
        __syncthreads();
        if (!moving) break;
    }
    if (t < n) x[t] = now[t];
    if (t == 0) *iterations = count;
}

}  // extern "C"
