// Streams that wait for values in memory: written by another stream, by the host, in a batch; and what waits behind them.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <thread>

#include "check.h"

__global__ void set(int* to, int value) { *to = value; }
__global__ void copy(int* to, const int* from) { *to = *from; }
__global__ void work(float* x, int turns) {
    float y = x[threadIdx.x];
    for (int i = 0; i < turns; ++i) y = y * 0.5f + 1;
    x[threadIdx.x] = y;
}

int main() {
    int *value = nullptr, *seen = nullptr, *host = nullptr;
    float* x = nullptr;
    unsigned* flag = nullptr;
    CHECK(cudaMalloc(&value, 4));
    CHECK(cudaMalloc(&seen, 4));
    CHECK(cudaMalloc(&flag, 64));
    CHECK(cudaMalloc(&x, 1024));
    CHECK(cudaMallocHost(&host, 64));
    CHECK(cudaMemset(flag, 0, 64));
    CHECK(cudaMemset(value, 0, 4));
    CHECK(cudaMemset(x, 0, 1024));
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    const auto at = [&](int i) { return reinterpret_cast<CUdeviceptr>(flag + i); };
    bool right = true;
    const auto expect = [&](bool is, const char* what) {
        if (!is) std::printf("wrong: %s\n", what);
        right = right && is;
    };
    int got = 0;

    // The first stream waits for what the second one writes behind a long kernel.
    cudaEvent_t begin, end, other;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    CHECK(cudaEventCreate(&other));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaEventRecord(begin, first));
    CHECK(static_cast<cudaError_t>(cuStreamWaitValue32(first, at(0), 1, CU_STREAM_WAIT_VALUE_EQ)));
    copy<<<1, 1, 0, first>>>(seen, value);
    CHECK(cudaMemcpyAsync(&got, seen, 4, cudaMemcpyDeviceToHost, first));
    CHECK(cudaEventRecord(end, first));
    expect(cudaStreamQuery(first) == cudaErrorNotReady, "a stream that waits is not ready");
    expect(cudaEventQuery(end) == cudaErrorNotReady, "an event behind it is not recorded");
    work<<<1, 256, 0, second>>>(x, 2000);
    set<<<1, 1, 0, second>>>(value, 42);
    CHECK(cudaEventRecord(other, second));
    CHECK(static_cast<cudaError_t>(cuStreamWriteValue32(second, at(0), 1, CU_STREAM_WRITE_VALUE_DEFAULT)));
    CHECK(cudaStreamSynchronize(first));
    expect(got == 42, "the value that the second stream set before");
    float until_end = 0, until_other = 0;
    CHECK(cudaEventElapsedTime(&until_end, begin, end));
    CHECK(cudaEventElapsedTime(&until_other, begin, other));
    expect(until_end > until_other, "the first stream goes on in simulated time when the second has written");

    // The host writes the value that a stream waits for, and a third waits for the stream's event.
    volatile int* const word = host;
    *word = 0;
    CHECK(static_cast<cudaError_t>(cuStreamWaitValue32(first, reinterpret_cast<CUdeviceptr>(host), 7, CU_STREAM_WAIT_VALUE_GEQ)));
    set<<<1, 1, 0, first>>>(value, 43);
    CHECK(cudaEventRecord(end, first));
    CHECK(cudaStreamWaitEvent(second, end, 0));
    copy<<<1, 1, 0, second>>>(seen, value);
    std::thread writer([word] { *word = 8; });
    CHECK(cudaStreamSynchronize(second));
    writer.join();
    CHECK(cudaMemcpy(&got, seen, 4, cudaMemcpyDeviceToHost));
    expect(got == 43, "an event behind a wait orders another stream");

    // Bits, 64 bits, and several at once.
    CUstreamBatchMemOpParams batch[3] = {};
    batch[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    batch[0].writeValue.address = at(2);
    batch[0].writeValue.value64 = 0x1234567890ull;
    batch[1].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    batch[1].writeValue.address = at(4);
    batch[1].writeValue.value = 6;
    batch[2].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    batch[2].waitValue.address = at(4);
    batch[2].waitValue.value = 3;
    batch[2].waitValue.flags = CU_STREAM_WAIT_VALUE_AND;
    CHECK(static_cast<cudaError_t>(cuStreamBatchMemOp(first, 3, batch, 0)));
    CHECK(static_cast<cudaError_t>(cuStreamWaitValue64(first, at(2), 0x1234567890ull, CU_STREAM_WAIT_VALUE_EQ)));
    CHECK(cudaStreamSynchronize(first));
    unsigned long long wide = 0;
    CHECK(cudaMemcpy(&wide, flag + 2, 8, cudaMemcpyDeviceToHost));
    expect(wide == 0x1234567890ull, "a value of 64 bits");
    expect(cuStreamWaitValue32(first, at(0) + 1, 1, 0) == CUDA_ERROR_INVALID_VALUE, "an address that is no multiple of 4");
    std::printf("stream values: %s\n", right ? "right" : "wrong");
    return right ? 0 : 1;
}
