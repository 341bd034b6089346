// What a launch may ask for beside its shape, seen in simulated time: a programmatic dependent launch begins beside the kernel before it, lines of a window
// stay in L2, a stream of high priority goes first; and %globaltimer goes on from launch to launch.
#include <cstdio>

#include "check.h"

__device__ unsigned long long now() {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}
__device__ float turn(float x, int turns) {
    for (int i = 0; i < turns; ++i) x = x * 0.999f + 1;
    return x;
}

/// Lets the next one begin, and then works on.
__global__ void first(float* x, int turns) {
    cudaTriggerProgrammaticLaunchCompletion();
    const float y = turn(static_cast<float>(threadIdx.x), turns);
    x[blockIdx.x * blockDim.x + threadIdx.x] = y;
}
/// Works, and needs then what the one before has left.
__global__ void second(const float* x, float* y, int turns) {
    const float own = turn(1, turns);
    cudaGridDependencySynchronize();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] + own;
}
__global__ void read_timer(unsigned long long* to) { *to = now(); }
__global__ void fill_device(float* x, int turns) { x[blockIdx.x * blockDim.x + threadIdx.x] = turn(1, turns); }

constexpr int kBlocks = 132, kThreads = 128, kTurns = 3000;

int main() {
    float *x = nullptr, *y = nullptr;
    unsigned long long* times = nullptr;
    CHECK(cudaMalloc(&x, 4 * kBlocks * kThreads));
    CHECK(cudaMalloc(&y, 4 * kBlocks * kThreads));
    CHECK(cudaMallocManaged(&times, 64));
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    bool right = true;
    const auto expect = [&](bool is, const char* what) {
        if (!is) std::printf("wrong: %s\n", what);
        right = right && is;
    };

    // Two kernels of the same length: beside one another they take little longer than one.
    const auto pair = [&](bool programmatic) {
        cudaLaunchAttribute attribute{};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = programmatic;
        cudaLaunchConfig_t config{};
        config.gridDim = kBlocks;
        config.blockDim = kThreads;
        config.stream = stream;
        config.attrs = &attribute;
        config.numAttrs = 1;
        CHECK(cudaDeviceSynchronize());
        CHECK(cudaEventRecord(begin, stream));
        first<<<kBlocks, kThreads, 0, stream>>>(x, kTurns);
        CHECK(cudaLaunchKernelEx(&config, second, static_cast<const float*>(x), y, kTurns));
        CHECK(cudaEventRecord(end, stream));
        CHECK(cudaStreamSynchronize(stream));
        float milliseconds = 0;
        CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
        return 1e3 * milliseconds;
    };
    const double apart = pair(false), beside = pair(true);
    std::printf("apart %.1f us, beside %.1f us\n", apart, beside);
    expect(beside < 0.75 * apart && beside > 0.45 * apart, "a programmatic launch overlaps");

    // The timer of two launches goes on by at least the work between them.
    read_timer<<<1, 1, 0, stream>>>(times);
    CHECK(cudaEventRecord(begin, stream));
    fill_device<<<kBlocks, kThreads, 0, stream>>>(x, kTurns);
    CHECK(cudaEventRecord(end, stream));
    read_timer<<<1, 1, 0, stream>>>(times + 1);
    CHECK(cudaDeviceSynchronize());
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
    const double ticks = static_cast<double>(times[1] - times[0]);
    std::printf("timer %.0f ns, events %.0f ns\n", ticks, 1e6 * milliseconds);
    expect(ticks >= 1e6 * milliseconds && ticks < 1e6 * milliseconds + 20e3, "%globaltimer is simulated time");

    // Two kernels of which each fills the device: that of the high priority, launched last, ends first.
    int least = 0, greatest = 0;
    CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    cudaStream_t low, high;
    cudaEvent_t low_end, high_end;
    CHECK(cudaEventCreate(&low_end));
    CHECK(cudaEventCreate(&high_end));
    CHECK(cudaStreamCreateWithPriority(&low, cudaStreamNonBlocking, least));
    CHECK(cudaStreamCreateWithPriority(&high, cudaStreamNonBlocking, greatest));
    constexpr int kShared = 200 << 10;
    CHECK(cudaFuncSetAttribute(fill_device, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
    CHECK(cudaEventRecord(begin, low));
    fill_device<<<kBlocks, kThreads, kShared, low>>>(x, 20000);
    CHECK(cudaEventRecord(low_end, low));
    fill_device<<<kBlocks, kThreads, kShared, high>>>(y, 20000);
    CHECK(cudaEventRecord(high_end, high));
    CHECK(cudaDeviceSynchronize());
    float of_low = 0, of_high = 0;
    CHECK(cudaEventElapsedTime(&of_low, begin, low_end));
    CHECK(cudaEventElapsedTime(&of_high, begin, high_end));
    std::printf("low %.1f us, high %.1f us\n", 1e3 * of_low, 1e3 * of_high);
    expect(of_high < of_low, "a high priority goes first");

    // A window of a stream is kept and given back.
    cudaStreamAttrValue value{}, back{};
    value.accessPolicyWindow.base_ptr = x;
    value.accessPolicyWindow.num_bytes = 4096;
    value.accessPolicyWindow.hitRatio = 0.5f;
    value.accessPolicyWindow.hitProp = cudaAccessPropertyPersisting;
    value.accessPolicyWindow.missProp = cudaAccessPropertyStreaming;
    CHECK(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value));
    CHECK(cudaStreamGetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &back));
    expect(back.accessPolicyWindow.num_bytes == 4096 && back.accessPolicyWindow.hitProp == cudaAccessPropertyPersisting, "a window is kept");
    value.accessPolicyWindow.hitRatio = 2;
    expect(cudaStreamSetAttribute(stream, cudaStreamAttributeAccessPolicyWindow, &value) == cudaErrorInvalidValue, "a ratio above 1");
    (void)cudaGetLastError();
    CHECK(cudaFuncSetCacheConfig(first, cudaFuncCachePreferShared));
    std::printf("programmatic launches, windows, priorities and timers: %s\n", right ? "right" : "wrong");
    return right ? 0 : 1;
}
