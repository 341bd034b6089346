// Default streams that belong to threads (nvcc --default-stream per-thread): each thread has one of its own, and work in it runs beside that of other streams.
#include <thread>

#include "check.h"

__global__ void spin(float *out, int rounds) {
    float value = threadIdx.x;
    for (int i = 0; i < rounds; ++i) value = value * 0.999f + 1.0f;
    out[threadIdx.x] = value;
}
__global__ void fill(int *out, int value) {
    out[threadIdx.x] = value;
}

/// The numbers of a thread, in its default stream. Returns the stream's identity.
static unsigned long long work(int value, bool *good) {
    unsigned long long id = 0;
    int *memory, found[32];
    CHECK(cudaStreamGetId(0, &id));
    CHECK(cudaMalloc(&memory, sizeof found));
    fill<<<1, 32>>>(memory, value);
    CHECK(cudaMemcpyAsync(found, memory, sizeof found, cudaMemcpyDeviceToHost));
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
    for (int each : found) *good = *good && each == value;
    CHECK(cudaFree(memory));
    return id;
}

/// One kernel in a stream, one in another, in milliseconds until both have ended.
static float both(cudaStream_t first, cudaStream_t second, float *out) {
    cudaEvent_t begin, other, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&other));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventRecord(begin, first));
    spin<<<1, 32, 0, first>>>(out, 10000);
    spin<<<1, 32, 0, second>>>(out + 32, 10000);
    CHECK(cudaEventRecord(other, second));
    CHECK(cudaStreamWaitEvent(first, other, 0));
    CHECK(cudaEventRecord(end, first));
    CHECK(cudaEventSynchronize(end));
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    return milliseconds;
}

int main() {
    bool good = true, other_good = true;
    unsigned long long other = 0;
    const unsigned long long mine = work(3, &good);
    std::thread thread([&] { other = work(5, &other_good); });
    thread.join();
    float *out;
    cudaStream_t stream;
    CHECK(cudaMalloc(&out, 64 * sizeof(float)));
    CHECK(cudaStreamCreate(&stream));
    const float own = both(0, stream, out), legacy = both(cudaStreamLegacy, stream, out);
    std::printf("own stream beside another: %.1f us, legacy stream: %.1f us\n", own * 1e3, legacy * 1e3);
    return verdict(good && other_good && mine != other && own < 0.7f * legacy, "default streams of threads");
}
