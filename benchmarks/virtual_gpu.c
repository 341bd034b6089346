/* How fast is the virtual GPU of `heddle run`, in the host's time? benchmarks/virtual_gpu.sh compiles and runs it.
 *
 *   virtual_gpu PTX ENTRY COUNT BLOCK       the module, its kernel of (s32 count, f32 factor, pointers x and y), elements, threads
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef unsigned long long CUdeviceptr;

static const char kEmpty[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing()\n{\n    ret;\n}\n";

static void *library;
static void *entry(const char *name) {
    void *const found = dlsym(library, name);
    if (found == NULL) exit(3);
    return found;
}
static void check(unsigned status, const char *what) {
    if (status == 0) return;
    fprintf(stderr, "%s: error %u\n", what, status);
    exit(1);
}
#define CALL(name, types, ...) check(((unsigned(*) types)entry(name))(__VA_ARGS__), name)

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
static void launch(void *function, unsigned grid, unsigned block, void **parameters) {
    CALL("cuLaunchKernel", (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **), function, grid, 1, 1, block, 1, 1, 0, NULL,
         parameters, NULL);
}
static void wait_for_all(void) { CALL("cuCtxSynchronize", (void)); }

int main(int count, char **words) {
    enum { kLaunches = 20000 };
    void *context, *module, *function;
    CUdeviceptr x, y;
    if (count != 5) return 2;
    const int n = atoi(words[3]), block = atoi(words[4]);
    const size_t bytes = (size_t)256 << 20;
    static char text[1 << 20];
    FILE *const file = fopen(words[1], "r");
    if (file == NULL || fread(text, 1, sizeof text - 1, file) == 0) return 2;
    fclose(file);
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) return 3;
    CALL("cuInit", (unsigned), 0);
    CALL("cuCtxCreate_v2", (void **, unsigned, int), &context, 0, 0);

    /* Launches of an empty kernel. */
    CALL("cuModuleLoadData", (void **, const void *), &module, kEmpty);
    CALL("cuModuleGetFunction", (void **, void *, const char *), &function, module, "nothing");
    launch(function, 1, 32, NULL);
    wait_for_all();
    double start = seconds();
    for (int i = 0; i < kLaunches; ++i) launch(function, 1, 32, NULL);
    wait_for_all();
    printf("empty launch %.2f us\n", 1e6 * (seconds() - start) / kLaunches);

    /* Copies against memcpy, all pages touched before. */
    CALL("cuMemAlloc_v2", (CUdeviceptr *, size_t), &x, bytes);
    CALL("cuMemAlloc_v2", (CUdeviceptr *, size_t), &y, bytes);
    char *const from = malloc(bytes), *const to = malloc(bytes);
    memset(from, 1, bytes);
    memset(to, 2, bytes);
    double copied = 1e9, moved = 1e9;
    for (int i = 0; i < 5; ++i) {
        start = seconds();
        CALL("cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t), x, from, bytes);
        wait_for_all();
        if (seconds() - start < copied) copied = seconds() - start;
        start = seconds();
        memcpy(to, from, bytes);
        if (seconds() - start < moved) moved = seconds() - start;
        from[i] = to[bytes - 1];
    }
    printf("copy %.2f GB/s, memcpy %.2f GB/s\n", 1e-9 * (double)bytes / copied, 1e-9 * (double)bytes / moved);

    /* The kernel. */
    CALL("cuModuleLoadData", (void **, const void *), &module, text);
    CALL("cuModuleGetFunction", (void **, void *, const char *), &function, module, words[2]);
    float factor = 2.5f;
    int elements = n;
    void *parameters[] = {&elements, &factor, &x, &y};
    CALL("cuMemsetD32_v2", (CUdeviceptr, unsigned, size_t), x, 0, bytes / 4);
    CALL("cuMemsetD32_v2", (CUdeviceptr, unsigned, size_t), y, 0, bytes / 4);
    wait_for_all();
    start = seconds();
    launch(function, (unsigned)((n + block - 1) / block), (unsigned)block, parameters);
    wait_for_all();
    printf("kernel %.3f s\n", seconds() - start);
    return 0;
}
