// The runtime interface of CUDA 12, which differs from that of 13: compiled with a C compiler and linked with libcudart.so.12, without a toolkit.
#include <stdio.h>
#include <string.h>

typedef struct Stream *cudaStream_t;
int cudaRuntimeGetVersion(int *version);
int cudaGetDeviceProperties_v2(void *properties, int device);
int cudaDeviceGetAttribute(int *value, int attribute, int device);
int cudaMallocManaged(void **address, size_t bytes, unsigned flags);
int cudaMemAdvise(const void *address, size_t bytes, int advice, int device);
int cudaMemPrefetchAsync(const void *address, size_t bytes, int device, cudaStream_t stream);
int cudaMemset(void *address, int value, size_t bytes);
int cudaThreadSynchronize(void);
int cudaMemPrefetchAsync_ptsz(const void *address, size_t bytes, int device, cudaStream_t stream);
const char *cudaGetErrorName(int error);

#define CHECK(call)                                                                     \
    do {                                                                                \
        const int error = call;                                                         \
        if (error != 0) return printf("%s: %s\n", #call, cudaGetErrorName(error)), 1;   \
    } while (0)

int main(void) {
    // Of cudaDeviceProp of CUDA 12: its size, and where its number of SMs and its rate of the clock lie.
    enum { size = 1032, sms_at = 388, clock_at = 348 };
    unsigned char properties[size + 8];
    memset(properties, 0xee, sizeof properties);
    int version = 0, sms = 0, clock = 0, value = 0, good = 1;
    CHECK(cudaRuntimeGetVersion(&version));
    CHECK(cudaGetDeviceProperties_v2(properties, 0));
    memcpy(&sms, properties + sms_at, sizeof sms);
    memcpy(&clock, properties + clock_at, sizeof clock);
    CHECK(cudaDeviceGetAttribute(&value, 16, 0));
    good = good && value == sms && sms > 0;
    CHECK(cudaDeviceGetAttribute(&value, 13, 0));
    good = good && value == clock && clock > 0;
    good = good && properties[size - 1] == 0 && properties[size] == 0xee;
    char *memory;
    CHECK(cudaMallocManaged((void **)&memory, 1000, 1));
    CHECK(cudaMemAdvise(memory, 1000, 3, 0));
    CHECK(cudaMemPrefetchAsync(memory, 1000, 0, NULL));
    CHECK(cudaMemset(memory, 7, 1000));
    CHECK(cudaMemPrefetchAsync_ptsz(memory, 1000, -1, NULL));
    CHECK(cudaThreadSynchronize());
    for (int i = 0; i < 1000; ++i) good = good && memory[i] == 7;
    printf("runtime %d, %d SMs\nruntime 12: %s\n", version, sms, good && version / 1000 == 12 ? "right" : "wrong");
    return !good;
}
