// The sum over the ranks of a ring, in every rank: chunks go round twice, once to be added up and once to be handed out. Each thread block
// is a channel with a queue of slots in its neighbour's memory; counters there say how many have been filled, and here how many the
// neighbour has emptied. That is the way of NCCL's ring with its protocol "Simple".
//
// `to_neighbour` is the distance from an address of this rank to the same of the next one. A launch file that gives {peer: distance}
// simulates one rank whose neighbour is its mirror image; on real devices it is the distance between two windows of symmetric memory.

constexpr unsigned kSlots = 8;         // of a channel's queue
constexpr unsigned kCounterWords = 32;  // a line for each counter

__device__ unsigned acquire(const unsigned* counter) {
    unsigned value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(counter) : "memory");
    return value;
}
__device__ void release(unsigned* counter, unsigned value) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(counter), "r"(value) : "memory");
}
/// All threads wait until a counter has come to `value`.
__device__ void wait(const unsigned* counter, unsigned value) {
    if (threadIdx.x == 0)
        while (static_cast<int>(acquire(counter) - value) < 0) {
        }
    __syncthreads();
}
template <class T>
__device__ T* at_neighbour(T* address, unsigned long long distance) {
    return reinterpret_cast<T*>(reinterpret_cast<unsigned long long>(address) + distance);
}

/// `chunk`: of 16 bytes each, in a slot; a multiple of the threads of a block times 4. Every channel has `loops` times `ranks` chunks.
extern "C" __global__ void __launch_bounds__(512)
    ring_all_reduce(const float4* __restrict__ in, float4* __restrict__ out, float4* slots, unsigned* counters, unsigned long long to_neighbour,
                    unsigned ranks, unsigned loops, unsigned chunk) {
    constexpr unsigned kUnroll = 4;
    const unsigned channel = blockIdx.x;
    float4* const queue = slots + static_cast<size_t>(channel) * kSlots * chunk;
    float4* const next_queue = at_neighbour(queue, to_neighbour);
    unsigned* const filled = counters + 2 * channel * kCounterWords;
    unsigned* const emptied = filled + kCounterWords;
    unsigned sent = 0, received = 0;
    const unsigned last = 2 * ranks - 2;  // step in which the last chunk comes
    for (unsigned loop = 0; loop < loops; ++loop) {
        const size_t base = (static_cast<size_t>(channel) * loops + loop) * ranks * chunk;
        for (unsigned step = 0; step <= last; ++step) {
            const unsigned number = (2 * ranks - step) % ranks;  // of the chunk that this rank handles in the step
            const float4* const mine = in + base + static_cast<size_t>(number) * chunk;
            float4* const result = out + base + static_cast<size_t>(number) * chunk;
            const float4* const came = queue + (received % kSlots) * chunk;
            float4* const goes = next_queue + (sent % kSlots) * chunk;
            if (step > 0) wait(filled, ++received);
            if (step < last) wait(emptied, ++sent - kSlots);
            for (unsigned i = threadIdx.x; i < chunk; i += kUnroll * blockDim.x) {
                float4 value[kUnroll];
#pragma unroll
                for (unsigned u = 0; u < kUnroll; ++u) value[u] = step < ranks ? mine[i + u * blockDim.x] : make_float4(0, 0, 0, 0);
                if (step > 0) {
#pragma unroll
                    for (unsigned u = 0; u < kUnroll; ++u) {
                        const float4 other = __ldcv(came + i + u * blockDim.x);
                        value[u] = make_float4(value[u].x + other.x, value[u].y + other.y, value[u].z + other.z, value[u].w + other.w);
                    }
                }
                if (step < last) {
#pragma unroll
                    for (unsigned u = 0; u < kUnroll; ++u) goes[i + u * blockDim.x] = value[u];
                }
                if (step >= ranks - 1) {
#pragma unroll
                    for (unsigned u = 0; u < kUnroll; ++u) result[i + u * blockDim.x] = value[u];
                }
            }
            __syncthreads();
            if (threadIdx.x == 0) {
                __threadfence_system();
                if (step < last) release(at_neighbour(filled, to_neighbour), sent);
                if (step > 0) release(at_neighbour(emptied, to_neighbour), received);
            }
        }
    }
}
