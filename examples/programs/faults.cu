// Kernels that fail, each in its own way: what does the program get back?
//   faults WHAT       bounds, alignment, shared, trap, threads
#include <cstdio>
#include <cstring>

__global__ void store(int* to, long at) { to[at] = 1; }
__global__ void store_bytes(char* to) { *reinterpret_cast<int*>(to + 1) = 1; }
__global__ void store_shared(int at) {
    extern __shared__ int words[];
    volatile int* const to = words;
    to[at] = 1;
}
__global__ void stop() { __trap(); }
__global__ void __launch_bounds__(64) small() {}

int main(int, char** words) {
    const char* const what = words[1];
    const auto is = [&](const char* word) { return std::strcmp(what, word) == 0; };
    char* memory = nullptr;
    cudaMalloc(&memory, 4096);
    if (is("bounds")) store<<<1, 1>>>(reinterpret_cast<int*>(memory), 1l << 32);
    if (is("alignment")) store_bytes<<<1, 1>>>(memory);
    if (is("shared")) store_shared<<<1, 1, 64>>>(1 << 20);
    if (is("trap")) stop<<<1, 1>>>();
    if (is("threads")) small<<<1, 128>>>();
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
    std::printf("%s: %s, then %s\n", what, cudaGetErrorName(error), cudaGetErrorName(cudaMalloc(&memory, 4)));
}
