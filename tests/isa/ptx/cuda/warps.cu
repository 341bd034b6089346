// What the lanes of a warp do together, and the barriers of a block.
// ptx: warps.ptx -arch=compute_90
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" {

__global__ void shuffles(const int* x, int* y) {
    const int lane = threadIdx.x;
    const int v = x[lane];
    int* out = y + lane * 12;
    const unsigned all = 0xFFFFFFFFu;
    out[0] = __shfl_sync(all, v, 5);
    out[1] = __shfl_sync(all, v, lane * 7);
    out[2] = __shfl_up_sync(all, v, 3);
    out[3] = __shfl_down_sync(all, v, 9);
    out[4] = __shfl_xor_sync(all, v, 21);
    out[5] = __shfl_sync(all, v, 2, 8);
    out[6] = __shfl_up_sync(all, v, 2, 4);
    out[7] = __shfl_down_sync(all, v, 1, 16);
    const long long wide = __shfl_xor_sync(all, static_cast<long long>(v) << 33 | lane, 1);
    out[8] = static_cast<int>(wide >> 33);
    out[9] = static_cast<int>(wide);
    const double real = __shfl_down_sync(all, v * 0.5, 2);
    out[10] = static_cast<int>(real * 2);
    out[11] = __shfl_xor_sync(all, static_cast<float>(v), 8) > 0;
}

__global__ void votes(const int* x, unsigned* y) {
    const int lane = threadIdx.x;
    const int v = x[lane];
    const unsigned all = 0xFFFFFFFFu;
    unsigned* out = y + lane * 12;
    out[0] = __ballot_sync(all, v > 3);
    out[1] = __any_sync(all, v == 7);
    out[2] = __all_sync(all, v > -100);
    out[3] = __match_any_sync(all, v & 3);
    int uniform;
    out[4] = __match_all_sync(all, v >> 8, &uniform);
    out[5] = uniform;
    out[6] = __reduce_add_sync(all, v);
    out[7] = __reduce_min_sync(all, v);
    out[8] = __reduce_max_sync(all, static_cast<unsigned>(v));
    out[9] = __reduce_xor_sync(all, static_cast<unsigned>(v));
    out[10] = 0;
    // Only some lanes take part, and each half for itself.
    if (lane & 1) {
        out[10] = __ballot_sync(0xAAAAAAAAu, v > 0);
    } else {
        out[10] = __reduce_or_sync(0x55555555u, static_cast<unsigned>(v & 0xFF));
    }
    out[11] = __match_any_sync(all, static_cast<unsigned long long>(v % 5) << 40);
}

__global__ void block_votes(const int* x, int* y) {
    const int v = x[threadIdx.x];
    const int count = __syncthreads_count(v > 0), every = __syncthreads_and(v > -50),
              some = __syncthreads_or(v == 17);
    y[threadIdx.x] = count * 100 + every * 10 + some;
}

// A group per tile of 8; a group of those that passed a test; groups by label.
__global__ void groups(const int* x, int* y) {
    const cg::thread_block block = cg::this_thread_block();
    const auto warp = cg::tiled_partition<32>(block);
    const auto tile = cg::tiled_partition<8>(warp);
    const int t = block.thread_rank();
    const int v = x[t];
    int* out = y + t * 8;
    out[0] = cg::reduce(tile, v, cg::plus<int>());
    out[1] = cg::reduce(warp, v, cg::greater<int>());
    out[2] = cg::inclusive_scan(tile, v);
    if (v % 3 == 0) {
        const auto together = cg::coalesced_threads();
        out[3] = together.size() * 1000 + together.thread_rank();
        out[4] = cg::reduce(together, v, cg::plus<int>());
    } else {
        out[3] = out[4] = -1;
    }
    const auto label = cg::labeled_partition(warp, v & 3);
    out[5] = cg::reduce(label, v, cg::less<int>()) * 100 + label.size();
    const auto pair = cg::binary_partition(tile, v > 0);
    out[6] = pair.size() * 10 + pair.thread_rank();
    out[7] = tile.shfl(v, 3) + tile.any(v == 5) * 1000 + tile.meta_group_rank() * 100000;
    block.sync();
}

// A sum of the whole block by tiles, with partial sums in shared memory. 64 lanes may be one tile too.
__global__ void group_sum(const float* x, int n, float* y) {
    __shared__ float partial[32];
    const cg::thread_block block = cg::this_thread_block();
    const auto tile = cg::tiled_partition<32>(block);
    float sum = 0;
    for (int i = cg::this_grid().thread_rank(); i < n; i += cg::this_grid().size()) sum += x[i];
    sum = cg::reduce(tile, sum, cg::plus<float>());
    if (tile.thread_rank() == 0) partial[tile.meta_group_rank()] = sum;
    block.sync();
    if (tile.meta_group_rank() == 0) {
        float v = tile.thread_rank() < tile.meta_group_size() ? partial[tile.thread_rank()] : 0;
        v = cg::reduce(tile, v, cg::plus<float>());
        if (tile.thread_rank() == 0) atomicAdd(y, v);
    }
}

// One atomic per warp: the lanes that pass are counted first.
__global__ void aggregate(const int* x, int n, int* count, int* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0) {
        const auto active = cg::coalesced_threads();
        int base;
        if (active.thread_rank() == 0) base = atomicAdd(count, static_cast<int>(active.size()));
        base = active.shfl(base, 0);
        out[base + active.thread_rank()] = x[i];
    }
}

// Loops of different length around warp-level instructions of the lanes that are still in the loop.
__global__ void ragged(const int* x, int* y) {
    const int lane = threadIdx.x;
    int sum = 0;
    for (int i = 0; i < x[lane]; ++i) {
        const unsigned here = __activemask();
        sum += __popc(__ballot_sync(here, (i + lane) & 1)) + __shfl_sync(here, lane, __ffs(here) - 1);
    }
    y[lane] = sum;
}

// Named barriers: two halves of the block hand data to each other.
__global__ void halves(const int* x, int* y) {
    __shared__ int s[64];
    const int t = threadIdx.x;
    if (t < 64) {
        s[t] = x[t] * 3;
        asm volatile("bar.arrive 1, 128;" ::: "memory");
        asm volatile("bar.sync 2, 128;" ::: "memory");
        y[t] = s[63 - t];
    } else {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        const int v = s[127 - t];
        asm volatile("bar.sync 3, 64;" ::: "memory");
        s[t - 64] = v + 1;
        asm volatile("bar.arrive 2, 128;" ::: "memory");
        y[t] = v;
    }
}

// Warp 2 arrives and exits at once, warp 3 works for long before it arrives.
__global__ void early_leavers(const unsigned* x, unsigned* y) {
    __shared__ unsigned s[32];
    const int lane = threadIdx.x & 31;
    if (threadIdx.x < 64) {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        y[threadIdx.x] = s[lane];
    } else {
        if (threadIdx.x >= 96) {
            unsigned v = x[lane];
#pragma unroll 1
            for (int i = 0; i < 1000; ++i) v = (v ^ v >> 3) * 3 + 1;
            s[lane] = v;
        }
        asm volatile("bar.arrive 1, 128;" ::: "memory");
    }
}

}  // extern "C"
