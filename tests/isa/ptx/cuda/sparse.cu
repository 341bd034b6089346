// Irregular work: sparse matrices, graphs, histograms, cellular automata, strings.
// ptx: sparse.ptx -arch=compute_90
extern "C" {

// One warp per row.
__global__ void spmv_csr(int rows, const int* __restrict__ start, const int* __restrict__ column,
                         const double* __restrict__ value, const double* __restrict__ x, double* y) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x & 31;
    if (row >= rows) return;
    double sum = 0;
    for (int i = start[row] + lane; i < start[row + 1]; i += 32) sum += value[i] * x[column[i]];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xFFFFFFFFu, sum, d);
    if (lane == 0) y[row] = sum;
}

// One level of a breadth-first search: neighbours of the frontier that have no level yet make the next one.
__global__ void bfs_level(const int* start, const int* neighbour, const int* frontier, int frontier_size,
                          int* next, int* next_size, int* level, int depth) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= frontier_size) return;
    const int node = frontier[i];
    for (int e = start[node]; e < start[node + 1]; ++e) {
        const int other = neighbour[e];
        if (atomicCAS(&level[other], -1, depth) == -1) next[atomicAdd(next_size, 1)] = other;
    }
}

// Bins in shared memory, two copies per block, 64-bit totals.
__global__ void histogram(int n, const unsigned char* x, unsigned long long* bins) {
    __shared__ unsigned counts[2][64];
    for (int b = threadIdx.x; b < 128; b += blockDim.x) counts[b / 64][b % 64] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&counts[threadIdx.x & 1][x[i] >> 2], 1u);
    }
    __syncthreads();
    for (int b = threadIdx.x; b < 64; b += blockDim.x) {
        const unsigned long long sum = counts[0][b] + counts[1][b];
        if (sum != 0) atomicAdd(&bins[b], sum);
    }
}

// Every atomic of the language, on 32-bit and 64-bit words in global and shared memory.
__global__ void atomics(const int* x, int n, int* results, long long* wide, float* real, double* real64) {
    __shared__ int s[8];
    __shared__ unsigned u[4];
    __shared__ float f;
    if (threadIdx.x < 8) s[threadIdx.x] = threadIdx.x == 4 ? -1 : 0;
    if (threadIdx.x < 4) u[threadIdx.x] = 0;
    if (threadIdx.x == 0) f = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        const int v = x[i];
        atomicAdd(&s[0], v);
        atomicSub(&s[1], v);
        atomicMin(&s[2], v);
        atomicMax(&s[3], v);
        atomicAnd(&s[4], v | 0x0F0F0000);
        atomicOr(&s[5], v);
        atomicXor(&s[6], v);
        atomicInc(&u[0], 100u);
        atomicDec(&u[1], 77u);
        atomicMax(&u[2], static_cast<unsigned>(v));
        atomicAdd(&f, 0.5f);
        atomicMin(&wide[0], static_cast<long long>(v) << 20);
        atomicMax(&wide[1], static_cast<long long>(v) << 20);
        atomicXor(reinterpret_cast<unsigned long long*>(&wide[2]), static_cast<unsigned long long>(v) << 20);
        atomicAdd_block(&results[16], v);
        atomicAdd_system(&results[17], v);
        atomicAdd(real, 0.25f * (v & 3));
        atomicAdd(real64, 0.125 * v);
    }
    __syncthreads();
    if (threadIdx.x < 8) results[threadIdx.x] = s[threadIdx.x];
    if (threadIdx.x < 4) results[8 + threadIdx.x] = u[threadIdx.x];
    if (threadIdx.x == 0) results[12] = static_cast<int>(f * 2);
    // A maximum of doubles by compare-and-swap of their bits.
    unsigned long long* best = reinterpret_cast<unsigned long long*>(&wide[3]);
    const double mine = x[threadIdx.x % n] * 0.1;
    unsigned long long seen = *best;
    while (__longlong_as_double(seen) < mine) {
        const unsigned long long before = atomicCAS(best, seen, __double_as_longlong(mine));
        if (before == seen) break;
        seen = before;
    }
    if (threadIdx.x == 5) results[18] = atomicExch(&results[19], 1234);
}

__global__ void life(int width, int height, const unsigned char* cells, unsigned char* next) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    int alive = 0;
#pragma unroll
    for (int dy = -1; dy <= 1; ++dy) {
#pragma unroll
        for (int dx = -1; dx <= 1; ++dx) {
            if (dx == 0 && dy == 0) continue;
            alive += cells[(y + dy + height) % height * width + (x + dx + width) % width];
        }
    }
    const bool lives = cells[y * width + x];
    next[y * width + x] = alive == 3 || (lives && alive == 2);
}

// Positions of a word, found by every thread at its own place; the words differ in length.
__constant__ char words[3][8] = {"warp", "lane", "ab"};
__global__ void find_words(const char* text, int length, int* count, int* first) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < length; i += gridDim.x * blockDim.x) {
        for (int w = 0; w < 3; ++w) {
            int k = 0;
            while (words[w][k] != 0 && i + k < length && text[i + k] == words[w][k]) ++k;
            if (words[w][k] == 0) {
                atomicAdd(&count[w], 1);
                atomicMin(&first[w], i);
            }
        }
    }
}

// Edit distance of two strings, one diagonal after the other.
__global__ void edit_distance(const char* a, int m, const char* b, int n, int* result) {
    __shared__ int diagonals[3][130];
    for (int d = 0; d <= m + n; ++d) {
        int* now = diagonals[d % 3];
        const int *before = diagonals[(d + 2) % 3], *before2 = diagonals[(d + 1) % 3];
        const int i = threadIdx.x, j = d - i;
        if (i <= m && j >= 0 && j <= n) {
            if (i == 0 || j == 0) {
                now[i] = i + j;
            } else {
                const int same = before2[i - 1] + (a[i - 1] != b[j - 1]);
                now[i] = min(same, min(before[i - 1], before[i]) + 1);
            }
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) *result = diagonals[(m + n) % 3][m];
}

// Labels of connected components by union and find with path halving.
__device__ int root_of(int* parent, int i) {
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}
__global__ void unite(int edges, const int2* edge, int* parent) {
    const int e = blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= edges) return;
    int a = edge[e].x, b = edge[e].y;
    for (;;) {
        a = root_of(parent, a);
        b = root_of(parent, b);
        if (a == b) break;
        const int low = min(a, b), high = max(a, b);
        if (atomicCAS(&parent[high], high, low) == high) break;
    }
}

}  // extern "C"
