/* Adds two vectors through the driver interface, with PTX in the program: it needs no nvcc, and a C compiler alone.
 *
 *   cc vector_add_driver.c -o vector_add_driver -ldl
 *   heddle run --hardware h100-sxm -- ./vector_add_driver
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long long CUdeviceptr;

static const char *const kModule =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p;\n    .reg .b32 %r<6>;\n    .reg .f32 %f<4>;\n    .reg .b64 %d<8>;\n"
    "    ld.param.u64 %d1, [a];\n    ld.param.u64 %d2, [b];\n    ld.param.u64 %d3, [c];\n    ld.param.u32 %r1, [n];\n"
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n    mad.lo.s32 %r5, %r2, %r3, %r4;\n"
    "    setp.ge.u32 %p, %r5, %r1;\n    @%p bra END;\n"
    "    mul.wide.u32 %d4, %r5, 4;\n    add.s64 %d5, %d1, %d4;\n    add.s64 %d6, %d2, %d4;\n    add.s64 %d7, %d3, %d4;\n"
    "    ld.global.f32 %f1, [%d5];\n    ld.global.f32 %f2, [%d6];\n    add.f32 %f3, %f1, %f2;\n    st.global.f32 [%d7], %f3;\n"
    "END:\n    ret;\n}\n";

static void *library;
/* The function of this name, which takes and returns what its caller says. */
static void *entry(const char *name) {
    void *const found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "no %s\n", name);
        exit(3);
    }
    return found;
}
static void check(unsigned status, const char *what) {
    if (status == 0) return;
    fprintf(stderr, "%s: error %u\n", what, status);
    exit(1);
}
#define CALL(name, types, ...) check(((unsigned(*) types)entry(name))(__VA_ARGS__), name)

int main(void) {
    enum { kCount = 100000 };
    int device, count, sms, i, wrong = 0;
    void *context, *module, *function, *start, *stop;
    CUdeviceptr a, b, c;
    float *values = malloc(kCount * sizeof *values), milliseconds = 0;
    unsigned n = kCount;
    char name[100];
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    CALL("cuInit", (unsigned), 0);
    CALL("cuDeviceGetCount", (int *), &count);
    CALL("cuDeviceGet", (int *, int), &device, 0);
    CALL("cuDeviceGetName", (char *, int, int), name, sizeof name, device);
    CALL("cuDeviceGetAttribute", (int *, int, int), &sms, 16, device);
    CALL("cuCtxCreate_v2", (void **, unsigned, int), &context, 0, device);
    CALL("cuModuleLoadData", (void **, const void *), &module, kModule);
    CALL("cuModuleGetFunction", (void **, void *, const char *), &function, module, "add");
    CALL("cuMemAlloc_v2", (CUdeviceptr *, size_t), &a, n * sizeof(float));
    CALL("cuMemAlloc_v2", (CUdeviceptr *, size_t), &b, n * sizeof(float));
    CALL("cuMemAlloc_v2", (CUdeviceptr *, size_t), &c, n * sizeof(float));
    for (i = 0; i < kCount; ++i) values[i] = (float)i;
    CALL("cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t), a, values, n * sizeof(float));
    CALL("cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t), b, values, n * sizeof(float));
    CALL("cuEventCreate", (void **, unsigned), &start, 0);
    CALL("cuEventCreate", (void **, unsigned), &stop, 0);
    CALL("cuEventRecord", (void *, void *), start, NULL);
    void *parameters[] = {&a, &b, &c, &n};
    CALL("cuLaunchKernel",
         (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **), function,
         (n + 255) / 256, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL);
    CALL("cuEventRecord", (void *, void *), stop, NULL);
    CALL("cuCtxSynchronize", (void));
    CALL("cuEventElapsedTime", (float *, void *, void *), &milliseconds, start, stop);
    CALL("cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), values, c, n * sizeof(float));
    for (i = 0; i < kCount; ++i) wrong += values[i] != 2.0f * (float)i;
    CALL("cuMemFree_v2", (CUdeviceptr), a);
    printf("%s, %d of %d SMs: %d of %d sums are wrong, %.2f us\n", name, sms, sms, wrong, kCount, milliseconds * 1000);
    return wrong != 0;
}
