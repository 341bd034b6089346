// Two processes that share device memory by handles: the first fills it, the second, begun by fork and exec, changes it, and the first sees that.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "check.h"

extern char** environ;

__global__ void add(int* x, int count, int what) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) x[i] += what;
}

constexpr int kCount = 5000;

static int second(const char* text) {
    cudaIpcMemHandle_t handle;
    for (unsigned i = 0; i < sizeof handle; ++i) {
        const char digits[] = {text[2 * i], text[2 * i + 1], 0};
        reinterpret_cast<unsigned char*>(&handle)[i] = static_cast<unsigned char>(std::strtoul(digits, nullptr, 16));
    }
    int* x = nullptr;
    CHECK(cudaIpcOpenMemHandle(reinterpret_cast<void**>(&x), handle, cudaIpcMemLazyEnablePeerAccess));
    int first = 0;
    CHECK(cudaMemcpy(&first, x + 1234, sizeof first, cudaMemcpyDeviceToHost));
    add<<<(kCount + 255) / 256, 256>>>(x, kCount, 100);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaIpcCloseMemHandle(x));
    // It is no longer there.
    const bool gone = cudaIpcCloseMemHandle(x) == cudaErrorInvalidValue;
    (void)cudaGetLastError();
    return first == 7 && gone ? 0 : 1;
}

int main(int count, char** words) {
    if (count > 1) return second(words[1]);
    int* x = nullptr;
    CHECK(cudaMalloc(&x, kCount * sizeof(int)));
    CHECK(cudaMemset(x, 0, kCount * sizeof(int)));
    add<<<(kCount + 255) / 256, 256>>>(x, kCount, 7);
    CHECK(cudaDeviceSynchronize());
    cudaIpcMemHandle_t handle;
    CHECK(cudaIpcGetMemHandle(&handle, x));
    void* own = nullptr;
    bool right = cudaIpcOpenMemHandle(&own, handle, cudaIpcMemLazyEnablePeerAccess) != cudaSuccess;
    (void)cudaGetLastError();
    char text[2 * sizeof handle + 1];
    for (unsigned i = 0; i < sizeof handle; ++i) std::snprintf(text + 2 * i, 3, "%02x", reinterpret_cast<const unsigned char*>(&handle)[i]);
    char* const arguments[] = {words[0], text, nullptr};
    pid_t child = 0;
    int status = 1;
    if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0 || waitpid(child, &status, 0) != child) return 1;
    right = right && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    int values[kCount];
    CHECK(cudaMemcpy(values, x, sizeof values, cudaMemcpyDeviceToHost));
    for (const int value : values) right = right && value == 107;
    return verdict(right, "memory of two processes");
}
