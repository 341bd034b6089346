// All thread blocks of a grid meet, and those of a cluster reach each other's shared memory.
#include <cooperative_groups.h>

#include "check.h"

namespace cg = cooperative_groups;

__global__ void two_phases(int *values, int *total) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    values[i] = i;
    cg::this_grid().sync();
    if (i == 0)
        for (int k = 0; k < static_cast<int>(gridDim.x * blockDim.x); ++k) *total += values[k];
}

__global__ void __cluster_dims__(4, 1, 1) neighbours(int *out) {
    __shared__ int mine;
    const cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) mine = 10 * static_cast<int>(cluster.block_rank());
    cluster.sync();
    const unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    if (threadIdx.x == 0) out[blockIdx.x] = *cluster.map_shared_rank(&mine, next);
    cluster.sync();
}

int main() {
    int *values, *total, sum = 0, found[8];
    CHECK(cudaMalloc(&values, 32 * 64 * sizeof(int)));
    CHECK(cudaMalloc(&total, sizeof(int)));
    CHECK(cudaMemset(total, 0, sizeof(int)));
    void *arguments[] = {&values, &total};
    CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void *>(two_phases), dim3(32), dim3(64), arguments, 0, nullptr));
    CHECK(cudaMemcpy(&sum, total, sizeof sum, cudaMemcpyDeviceToHost));
    neighbours<<<8, 32>>>(values);
    CHECK(cudaMemcpy(found, values, sizeof found, cudaMemcpyDeviceToHost));
    bool good = sum == 2048 * 2047 / 2;
    for (int i = 0; i < 8; ++i) good = good && found[i] == 10 * ((i % 4 + 1) % 4);
    return verdict(good, "blocks that meet");
}
