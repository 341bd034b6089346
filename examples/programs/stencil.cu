// Smooths a line of numbers a hundred times, and says what one step takes: the program of the tutorial (docs/tutorial.md).
#include <utility>

#include "check.h"

__global__ void smooth(const float *from, float *to, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i > 0 && i + 1 < count) to[i] = 0.25f * from[i - 1] + 0.5f * from[i] + 0.25f * from[i + 1];
}

int main() {
    constexpr int kCount = 1 << 20, kSteps = 100;
    float *from, *to;
    CHECK(cudaMalloc(&from, kCount * sizeof(float)));
    CHECK(cudaMalloc(&to, kCount * sizeof(float)));
    const float one = 1;
    CHECK(cudaMemset(from, 0, kCount * sizeof(float)));
    CHECK(cudaMemset(to, 0, kCount * sizeof(float)));
    CHECK(cudaMemcpy(from + kCount / 2, &one, sizeof one, cudaMemcpyHostToDevice));
    cudaEvent_t start, stop;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventRecord(start));
    for (int step = 0; step < kSteps; ++step) {
        smooth<<<kCount / 256, 256>>>(from, to, kCount);
        std::swap(from, to);
    }
    CHECK(cudaEventRecord(stop));
    CHECK(cudaEventSynchronize(stop));
    float milliseconds = 0, middle = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    CHECK(cudaMemcpy(&middle, from + kCount / 2, sizeof middle, cudaMemcpyDeviceToHost));
    std::printf("%.2f us for a step, %.4f in the middle\n", milliseconds * 1000 / kSteps, middle);
    // A hundred steps of (1/4, 1/2, 1/4) leave the middle one of 200 tosses of a coin.
    return verdict(middle > 0.0563f && middle < 0.0564f, "sum");
}
