// Launches of which each begins while the one before still runs (programmatic dependent launches). What needs nothing
// of the launch before comes first: here a table in shared memory.
extern "C" __global__ void step(const float* from, float* to, int count, float rate) {
    __shared__ float table[256];
    float value = threadIdx.x;
#pragma unroll 1
    for (int i = 0; i < 64; ++i) value = value * rate + 1;
    table[threadIdx.x] = value;
    __syncthreads();
    // The next launch may begin; its own wait keeps it from reading too early.
    asm volatile("griddepcontrol.launch_dependents;");
    asm volatile("griddepcontrol.wait;" ::: "memory");
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = from[i] + table[255 - threadIdx.x];
}
