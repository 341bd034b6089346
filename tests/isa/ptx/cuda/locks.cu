// Lanes, warps, blocks and clusters that wait for one another.
// ptx: locks.ptx -arch=compute_90
// ptx: locks_75.ptx -arch=compute_75 -DNO_CLUSTERS
#include <cooperative_groups.h>

namespace cg = cooperative_groups;

extern "C" {

// A lock that the lanes of a warp take one after another: needs lanes that go their own ways.
__global__ void spin_lock(int* lock, int* value, int* order) {
    bool done = false;
    while (!done) {
        if (atomicCAS(lock, 0, 1) == 0) {
            __threadfence();
            const int v = *static_cast<volatile int*>(value);
            *static_cast<volatile int*>(value) = v + 1;
            order[v] = blockIdx.x * blockDim.x + threadIdx.x;
            __threadfence();
            atomicExch(lock, 0);
            done = true;
        }
    }
}

// The same without the flag: whoever fails goes round while the owner is still inside.
__global__ void spin_lock_tight(int* lock, int* value) {
    while (atomicCAS(lock, 0, 1) != 0) {
        __nanosleep(20);
    }
    *static_cast<volatile int*>(value) = *static_cast<volatile int*>(value) + threadIdx.x;
    __threadfence();
    atomicExch(lock, 0);
}

// Lane 0 waits for what lane 31 does.
__global__ void lane_waits_for_lane(volatile int* flag, int* y) {
    const int lane = threadIdx.x & 31;
    if (lane == 0) {
        while (*flag == 0) {
        }
        y[0] = *flag + 100;
    } else if (lane == 31) {
        *flag = 5;
    }
    __syncwarp();
    if (lane == 7) y[1] = y[0] + 1;
}

// A barrier of the whole grid by hand: sense reversal.
__device__ void grid_barrier(unsigned* arrived, volatile unsigned* sense, unsigned& mine) {
    __syncthreads();
    if (threadIdx.x == 0) {
        mine ^= 1;
        __threadfence();
        if (atomicAdd(arrived, 1u) == gridDim.x - 1) {
            *arrived = 0;
            __threadfence();
            *sense = mine;
        } else {
            while (*sense != mine) {
            }
        }
        __threadfence();
    }
    __syncthreads();
}

// Each round every block adds up what all blocks wrote in the round before.
__global__ void grid_rounds(int rounds, volatile int* values, unsigned* arrived, unsigned* sense) {
    unsigned mine = 0;
    for (int r = 0; r < rounds; ++r) {
        int sum = 0;
        for (int b = 0; b < gridDim.x; ++b) sum += values[b];
        grid_barrier(arrived, sense, mine);
        if (threadIdx.x == 0) values[blockIdx.x] = sum % 1000 + blockIdx.x;
        grid_barrier(arrived, sense, mine);
    }
}

// Tickets: blocks enter in the order of their numbers whatever the order in which they run.
__global__ void tickets(volatile int* turn, int* log, int* next) {
    if (threadIdx.x == 0) {
        while (*turn != static_cast<int>(gridDim.x - 1 - blockIdx.x)) __nanosleep(100);
        log[(*next)++] = blockIdx.x;
        __threadfence();
        *turn = *turn + 1;
    }
}

__global__ void clocks(long long* y) {
    const long long a = clock64();
    const unsigned b = clock();
    __nanosleep(10);
    const unsigned long long g = [] {
        unsigned long long t;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
        return t;
    }();
    const long long c = clock64();
    y[threadIdx.x * 3] = c - a;
    y[threadIdx.x * 3 + 1] = b;
    y[threadIdx.x * 3 + 2] = g;
}

#ifndef NO_CLUSTERS
// A histogram whose bins are spread over the shared memory of a cluster.
__global__ void cluster_histogram(const int* x, int n, int bins_per_block, int* bins) {
    extern __shared__ int mine[];
    const cg::cluster_group cluster = cg::this_cluster();
    for (int b = threadIdx.x; b < bins_per_block; b += blockDim.x) mine[b] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const int bin = x[i];
        int* other = cluster.map_shared_rank(mine, bin / bins_per_block);
        atomicAdd(other + bin % bins_per_block, 1);
    }
    cluster.sync();
    for (int b = threadIdx.x; b < bins_per_block; b += blockDim.x) {
        atomicAdd(&bins[cluster.block_rank() * bins_per_block + b], mine[b]);
    }
}

// The sum of a cluster, read from every block's shared memory.
__global__ void __cluster_dims__(4, 1, 1) cluster_sum(const float* x, float* y, unsigned* ranks) {
    __shared__ float part;
    const cg::cluster_group cluster = cg::this_cluster();
    float v = x[blockIdx.x * 32 + threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xFFFFFFFFu, v, d);
    if (threadIdx.x == 0) part = v;
    cluster.sync();
    float sum = 0;
    for (unsigned r = 0; r < cluster.num_blocks(); ++r) sum += *cluster.map_shared_rank(&part, r);
    if (threadIdx.x == 0) {
        y[blockIdx.x] = sum;
        ranks[blockIdx.x] = cluster.block_rank() * 100 + cluster.num_blocks() * 10 +
                            cluster.query_shared_rank(cluster.map_shared_rank(&part, 2));
    }
    cluster.sync();
}

// Each block writes into its right neighbour.
__global__ void ring(int rounds, int* y) {
    __shared__ int inbox[2];
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned rank = cluster.block_rank(), count = cluster.num_blocks();
    int token = rank;
    for (int r = 0; r < rounds; ++r) {
        if (threadIdx.x == 0) *cluster.map_shared_rank(&inbox[r & 1], (rank + 1) % count) = token * 2 + 1;
        cluster.barrier_arrive();
        cluster.barrier_wait();
        token = inbox[r & 1];
    }
    if (threadIdx.x == 0) y[blockIdx.x] = token;
    cluster.sync();
}
#endif

}  // extern "C"
