// Kernels whose time depends on what the host wrote, by every way that a host has: a copy, rows with a pitch, a variable, pinned and managed memory. Each
// takes as many rounds as the memory says, so a recording that lost one of them would give another timeline.
#include "check.h"

__device__ int rounds_of_module;

// Sums as many terms as `rounds` says at this thread's place.
__global__ void rounds_from(const int *rounds, float *out) {
    float value = threadIdx.x;
    const int count = rounds[threadIdx.x];
    for (int i = 0; i < count; ++i) value = value * 0.5f + 1.0f;
    out[threadIdx.x] = value + count;
}

__global__ void rounds_from_module(float *out) {
    float value = threadIdx.x;
    for (int i = 0; i < rounds_of_module; ++i) value = value * 0.5f + 1.0f;
    out[threadIdx.x] = value + rounds_of_module;
}

// Writes what the next launch is steered by.
__global__ void halve(int *rounds) { rounds[threadIdx.x] /= 2; }

constexpr int kThreads = 64;

static float first(const float *out) {
    float value = 0;
    CHECK(cudaMemcpy(&value, out, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

int main() {
    float *out;
    int *device, *pinned, *managed, *pitched, counts[kThreads];
    std::size_t pitch = 0;
    CHECK(cudaMalloc(&out, kThreads * sizeof(float)));
    CHECK(cudaMalloc(&device, kThreads * sizeof(int)));
    CHECK(cudaMallocHost(&pinned, kThreads * sizeof(int)));
    CHECK(cudaMallocManaged(&managed, kThreads * sizeof(int)));
    CHECK(cudaMallocPitch(&pitched, &pitch, kThreads / 2 * sizeof(int), 20));
    bool right = true;
    for (int turn = 1; turn <= 3; ++turn) {
        for (int i = 0; i < kThreads; ++i) counts[i] = pinned[i] = managed[i] = 100 * turn;
        CHECK(cudaMemcpy(device, counts, sizeof counts, cudaMemcpyHostToDevice));
        rounds_from<<<1, kThreads>>>(device, out);
        right = right && first(out) == 100 * turn + 2;
        rounds_from<<<1, kThreads>>>(pinned, out);
        right = right && first(out) == 100 * turn + 2;
        rounds_from<<<1, kThreads>>>(managed, out);
        right = right && first(out) == 100 * turn + 2;
        halve<<<1, kThreads>>>(managed);
        rounds_from<<<1, kThreads>>>(managed, out);
        right = right && first(out) == 50 * turn + 2;
        const int rounds = 70 * turn;
        CHECK(cudaMemcpyToSymbol(rounds_of_module, &rounds, sizeof rounds));
        rounds_from_module<<<1, kThreads>>>(out);
        right = right && first(out) == 70 * turn + 2;
        // The last of the rows lies in another page than the first.
        int rows[20][kThreads / 2];
        for (auto &row : rows)
            for (int &count : row) count = 30 * turn;
        CHECK(cudaMemcpy2D(pitched, pitch, rows, sizeof rows[0], sizeof rows[0], 20, cudaMemcpyHostToDevice));
        rounds_from<<<1, kThreads / 2>>>(pitched + 19 * pitch / sizeof(int), out);
        right = right && first(out) == 30 * turn + 2;
    }
    return verdict(right, "steered kernels");
}
