// Ranges that a program marks by NVTX: they name the parts of its run, and `heddle run --range update` times one of them alone.
#include <nvtx3/nvToolsExt.h>

#include "check.h"

__global__ void add_to(float *values, float amount) {
    values[blockIdx.x * blockDim.x + threadIdx.x] += amount;
}

int main() {
    constexpr int kCount = 1 << 16;
    float *values = nullptr;
    CHECK(cudaMalloc(&values, kCount * sizeof(float)));
    CHECK(cudaMemset(values, 0, kCount * sizeof(float)));
    for (int step = 0; step < 3; ++step) {
        nvtxRangePushA("step");
        nvtxRangePushA("forward");
        add_to<<<kCount / 256, 256>>>(values, 1);
        nvtxRangePop();
        const nvtxRangeId_t update = nvtxRangeStartA("update");
        add_to<<<kCount / 256, 256>>>(values, 2);
        nvtxRangeEnd(update);
        nvtxRangePop();
    }
    float first = 0;
    CHECK(cudaMemcpy(&first, values, sizeof first, cudaMemcpyDeviceToHost));
    return verdict(first == 9, "sums in ranges");
}
