// Two small kernels on two streams take as long as one; on one stream as long as both. Events say so.
#include "check.h"

__global__ void spin(float *out, int rounds) {
    float value = threadIdx.x;
    for (int i = 0; i < rounds; ++i) value = value * 0.999f + 1.0f;
    out[threadIdx.x] = value;
}

static float milliseconds(cudaStream_t first, cudaStream_t second, float *a, float *b) {
    cudaEvent_t start, stop, between;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventCreateWithFlags(&between, cudaEventDisableTiming));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventRecord(start, first));
    CHECK(cudaStreamWaitEvent(second, start, 0));
    spin<<<1, 32, 0, first>>>(a, 20000);
    spin<<<1, 32, 0, second>>>(b, 20000);
    CHECK(cudaEventRecord(between, second));
    CHECK(cudaStreamWaitEvent(first, between, 0));
    CHECK(cudaEventRecord(stop, first));
    CHECK(cudaEventSynchronize(stop));
    float elapsed = 0;
    CHECK(cudaEventElapsedTime(&elapsed, start, stop));
    return elapsed;
}

int main() {
    float *a, *b;
    CHECK(cudaMalloc(&a, 128));
    CHECK(cudaMalloc(&b, 128));
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    const float together = milliseconds(first, second, a, b), apart = milliseconds(first, first, a, b);
    std::printf("two streams: %.1f us, one stream: %.1f us\n", together * 1000, apart * 1000);
    return verdict(apart > 1.8f * together && apart < 2.2f * together, "overlap");
}
