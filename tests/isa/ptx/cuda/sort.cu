// Sorting and scanning.
// ptx: sort.ptx -arch=compute_90
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_scan.cuh>

extern "C" {

// Exclusive scan of 2 * blockDim.x values: up-sweep and down-sweep (Blelloch).
__global__ void blelloch_scan(const int* x, int* y, int n) {
    extern __shared__ int tree[];
    const int t = threadIdx.x;
    tree[2 * t] = 2 * t < n ? x[2 * t] : 0;
    tree[2 * t + 1] = 2 * t + 1 < n ? x[2 * t + 1] : 0;
    const int size = 2 * blockDim.x;
    int stride = 1;
    for (int d = size >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) tree[stride * (2 * t + 2) - 1] += tree[stride * (2 * t + 1) - 1];
        stride *= 2;
    }
    if (t == 0) tree[size - 1] = 0;
    for (int d = 1; d < size; d *= 2) {
        stride >>= 1;
        __syncthreads();
        if (t < d) {
            const int left = stride * (2 * t + 1) - 1, right = stride * (2 * t + 2) - 1;
            const int kept = tree[left];
            tree[left] = tree[right];
            tree[right] += kept;
        }
    }
    __syncthreads();
    if (2 * t < n) y[2 * t] = tree[2 * t];
    if (2 * t + 1 < n) y[2 * t + 1] = tree[2 * t + 1];
}

// Inclusive scan in one pass with decoupled look-back. `state` holds per tile: flag (0 nothing, 1 sum of the
// tile, 2 sum up to the tile) in the upper, value in the lower half. The tile number comes from a counter.
__global__ void lookback_scan(const unsigned* x, unsigned* y, int n, unsigned long long* state,
                              unsigned* counter) {
    __shared__ unsigned tile, before, warp_sums[32];
    if (threadIdx.x == 0) tile = atomicAdd(counter, 1u);
    __syncthreads();
    const int i = tile * blockDim.x + threadIdx.x;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    unsigned v = i < n ? x[i] : 0;
    for (int d = 1; d < 32; d *= 2) {
        const unsigned other = __shfl_up_sync(0xFFFFFFFFu, v, d);
        if (lane >= d) v += other;
    }
    if (lane == 31) warp_sums[warp] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned sum = 0;
        for (int w = 0; w < blockDim.x / 32; ++w) {
            const unsigned kept = warp_sums[w];
            warp_sums[w] = sum;
            sum += kept;
        }
        volatile unsigned long long* s = state;
        unsigned prefix = 0;
        if (tile > 0) {
            s[tile] = 1ull << 32 | sum;
            __threadfence();
            for (int t = tile - 1; t >= 0; --t) {
                unsigned long long seen;
                do {
                    seen = s[t];
                } while (seen >> 32 == 0);
                prefix += static_cast<unsigned>(seen);
                if (seen >> 32 == 2) break;
            }
        }
        s[tile] = 2ull << 32 | (prefix + sum);
        __threadfence();
        before = prefix;
    }
    __syncthreads();
    if (i < n) y[i] = v + warp_sums[warp] + before;
}

// Stable sort of 128 keys by 4 bits at a time, one thread per key.
__global__ void radix_sort(unsigned* keys) {
    __shared__ unsigned counts[16][4], offsets[16][4], sorted[128];
    const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
    unsigned key = keys[t];
    for (int shift = 0; shift < 32; shift += 4) {
        const unsigned digit = key >> shift & 15;
        unsigned same = 0xFFFFFFFFu;
        for (int b = 0; b < 4; ++b) {
            const unsigned votes = __ballot_sync(0xFFFFFFFFu, digit >> b & 1);
            same &= digit >> b & 1 ? votes : ~votes;
        }
        if (t < 64) counts[t >> 2][t & 3] = 0;
        __syncthreads();
        const unsigned rank = __popc(same & ((1u << lane) - 1));
        if (rank == 0) counts[digit][warp] = __popc(same);
        __syncthreads();
        if (t < 64) {
            unsigned sum = 0;
            for (int i = 0; i < t; ++i) sum += counts[i >> 2][i & 3];
            offsets[t >> 2][t & 3] = sum;
        }
        __syncthreads();
        sorted[offsets[digit][warp] + rank] = key;
        __syncthreads();
        key = sorted[t];
    }
    keys[t] = key;
}

// Bitonic sort of 256 floats in shared memory.
__global__ void bitonic_sort(float* x) {
    __shared__ float s[256];
    const int t = threadIdx.x;
    s[t] = x[blockIdx.x * 256 + t];
    for (int k = 2; k <= 256; k *= 2) {
        for (int j = k / 2; j > 0; j /= 2) {
            __syncthreads();
            const int other = t ^ j;
            if (other > t) {
                const float a = s[t], b = s[other];
                if ((a > b) == ((t & k) == 0)) {
                    s[t] = b;
                    s[other] = a;
                }
            }
        }
    }
    __syncthreads();
    x[blockIdx.x * 256 + t] = s[t];
}

// Four keys with a value each per thread.
__global__ void cub_radix_sort(int* keys, unsigned short* values) {
    using Sort = cub::BlockRadixSort<int, 64, 4, unsigned short>;
    __shared__ typename Sort::TempStorage storage;
    int k[4];
    unsigned short v[4];
    for (int i = 0; i < 4; ++i) {
        k[i] = keys[threadIdx.x * 4 + i];
        v[i] = values[threadIdx.x * 4 + i];
    }
    Sort(storage).Sort(k, v);
    for (int i = 0; i < 4; ++i) {
        keys[threadIdx.x * 4 + i] = k[i];
        values[threadIdx.x * 4 + i] = v[i];
    }
}

__global__ void cub_radix_sort_doubles(double* keys) {
    using Sort = cub::BlockRadixSort<double, 64, 2>;
    __shared__ typename Sort::TempStorage storage;
    double k[2] = {keys[threadIdx.x * 2], keys[threadIdx.x * 2 + 1]};
    Sort(storage).SortDescending(k);
    keys[threadIdx.x * 2] = k[0];
    keys[threadIdx.x * 2 + 1] = k[1];
}

__global__ void cub_scan_and_reduce(const int* x, int* inclusive, int* results) {
    using Scan = cub::BlockScan<int, 96>;
    using Reduce = cub::BlockReduce<int, 96>;
    using WarpScan = cub::WarpScan<int, 16>;
    __shared__ typename Scan::TempStorage scan_storage;
    __shared__ typename Reduce::TempStorage reduce_storage;
    __shared__ typename WarpScan::TempStorage warp_storage[6];
    const int v = x[threadIdx.x];
    int sum, total;
    Scan(scan_storage).InclusiveSum(v, sum, total);
    inclusive[threadIdx.x] = sum;
    const int largest = Reduce(reduce_storage).Reduce(v, [](int a, int b) { return a > b ? a : b; });
    if (threadIdx.x == 0) {
        results[0] = total;
        results[1] = largest;
    }
    int part;
    WarpScan(warp_storage[threadIdx.x / 16]).ExclusiveSum(v, part);
    results[2 + threadIdx.x] = part;
}

// k-th smallest by repeated partition of a copy in local memory.
__global__ void quick_select(const int* x, int n, int* y) {
    int a[32];
    for (int i = 0; i < n; ++i) a[i] = x[i];
    const int wanted = threadIdx.x % n;
    int low = 0, high = n - 1;
    while (low < high) {
        const int pivot = a[(low + high) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (a[i] < pivot) ++i;
            while (a[j] > pivot) --j;
            if (i <= j) {
                const int kept = a[i];
                a[i++] = a[j];
                a[j--] = kept;
            }
        }
        if (wanted <= j) {
            high = j;
        } else if (wanted >= i) {
            low = i;
        } else {
            break;
        }
    }
    y[threadIdx.x] = a[wanted];
}

}  // extern "C"
