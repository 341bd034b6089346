// What programs ask: attributes of devices, pointers and ranges, contexts, libraries and their kernels, and linked PTX. Link with -lcuda.
#include <cuda.h>

#include <cstring>

#include "check.h"

static bool good = true;
static void expect(bool holds, const char *what) {
    if (!holds) std::printf("wrong: %s\n", what);
    good = good && holds;
}
#define DRIVER(call) expect((call) == CUDA_SUCCESS, #call)

static int attribute(int which) {
    int value = -77;
    const CUresult status = cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(which), 1);
    return status == CUDA_SUCCESS ? value : -78;
}

static void devices() {
    for (int which = 1; which < CU_DEVICE_ATTRIBUTE_MAX; ++which)
        if (attribute(which) < -1) std::printf("attribute %d\n", which), good = false;
    int value = 0;
    expect(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0) == CUDA_ERROR_INVALID_VALUE, "an attribute that there is not");
    expect(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 2) == CUDA_ERROR_INVALID_DEVICE, "a device that there is not");
    cudaDeviceProp p;
    CHECK(cudaGetDeviceProperties(&p, 1));
    expect(p.multiProcessorCount == attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) && p.multiProcessorCount == 132, "SMs");
    expect(p.sharedMemPerBlockOptin == 227u << 10 && attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) == 227 << 10, "shared memory");
    expect(p.maxTexture2D[1] == attribute(CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT) && p.maxTexture2D[1] == 65536, "limits of textures");
    expect(p.pciBusID == 2 && p.major == 9 && attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH) == 1, "of this device");
    expect(attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) == 1 && attribute(CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED) == 0, "what it can do");
}

static void contexts() {
    CUcontext first, second, current;
    CUdevice device = -1;
    DRIVER(cuDevicePrimaryCtxRetain(&first, 0));
    DRIVER(cuDevicePrimaryCtxRetain(&second, 1));
    DRIVER(cuCtxSetCurrent(first));
    DRIVER(cuCtxPushCurrent(second));
    DRIVER(cuCtxGetDevice(&device));
    expect(device == 1, "the device of a pushed context");
    DRIVER(cuCtxPopCurrent(&current));
    expect(current == second, "the context that was pushed");
    DRIVER(cuCtxGetDevice(&device));
    expect(device == 0, "the device of the context below");
    void *entry = nullptr;
    DRIVER(cuGetProcAddress("cuCtxGetDevice", &entry, 13000, 0, nullptr));
    DRIVER(reinterpret_cast<CUresult (*)(CUdevice *, CUcontext)>(entry)(&device, second));
    expect(device == 1, "the device of another context, as CUDA 13 asks");
    DRIVER(cuGetProcAddress("cuCtxGetDevice", &entry, 12080, 0, nullptr));
    DRIVER(reinterpret_cast<CUresult (*)(CUdevice *)>(entry)(&device));
    expect(device == 0, "the device of the context, as CUDA 12 asks");
    CUmoduleLoadingMode mode;
    DRIVER(cuModuleGetLoadingMode(&mode));
    expect(mode == CU_MODULE_LAZY_LOADING, "how modules are loaded");
}

static void memory() {
    const std::size_t page = 4096;
    char *managed, *device;
    CHECK(cudaMallocManaged(&managed, 8 * page));
    CHECK(cudaMalloc(&device, page));
    cudaMemLocation here = {}, host = {};
    here.type = cudaMemLocationTypeDevice;
    host.type = cudaMemLocationTypeHost;
    CHECK(cudaMemAdvise(managed, 8 * page, cudaMemAdviseSetReadMostly, here));
    CHECK(cudaMemAdvise(managed, 4 * page, cudaMemAdviseSetPreferredLocation, here));
    CHECK(cudaMemAdvise(managed, 8 * page, cudaMemAdviseSetAccessedBy, here));
    CHECK(cudaMemPrefetchAsync(managed + page, page, here, 0, 0));
    int value = 0, places[2] = {5, 5};
    CHECK(cudaMemRangeGetAttribute(&value, sizeof value, cudaMemRangeAttributeReadMostly, managed, 8 * page));
    expect(value == 1, "read mostly");
    CHECK(cudaMemRangeGetAttribute(&value, sizeof value, cudaMemRangeAttributePreferredLocation, managed, 4 * page));
    expect(value == 0, "the preferred location of a half");
    CHECK(cudaMemRangeGetAttribute(&value, sizeof value, cudaMemRangeAttributePreferredLocation, managed, 8 * page));
    expect(value == cudaInvalidDeviceId, "pages of two preferred locations have none in common");
    CHECK(cudaMemRangeGetAttribute(places, sizeof places, cudaMemRangeAttributeAccessedBy, managed, page));
    expect(places[0] == 0 && places[1] == cudaInvalidDeviceId, "who accesses it");
    CHECK(cudaMemRangeGetAttribute(&value, sizeof value, cudaMemRangeAttributeLastPrefetchLocation, managed + page, page));
    expect(value == 0, "where it was prefetched to");
    CHECK(cudaMemAdvise(managed, 8 * page, cudaMemAdviseUnsetReadMostly, host));
    CHECK(cudaMemRangeGetAttribute(&value, sizeof value, cudaMemRangeAttributeReadMostly, managed, page));
    expect(value == 0, "no longer read mostly");
    expect(cudaMemAdvise(device, page, cudaMemAdviseSetReadMostly, here) == cudaErrorInvalidValue, "advice on memory that is not managed");
    cudaGetLastError();

    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_IS_MANAGED};
    unsigned type = 9;
    std::size_t size = 9;
    int ordinal = 9;
    bool is_managed = true;
    void *answers[] = {&type, &size, &ordinal, &is_managed};
    DRIVER(cuPointerGetAttributes(4, which, answers, reinterpret_cast<CUdeviceptr>(device + 5)));
    expect(type == CU_MEMORYTYPE_DEVICE && size == page && ordinal == 0 && !is_managed, "attributes of a pointer");
    is_managed = true;
    DRIVER(cuPointerGetAttributes(4, which, answers, reinterpret_cast<CUdeviceptr>(&size)));
    expect(type == 0 && ordinal == -2 && !is_managed, "attributes of a pointer of the program");
    void *to[] = {device, managed};
    const void *from[] = {"abc", "defg"};
    std::size_t sizes[] = {3, 4}, index = 0;
    cudaMemcpyAttributes how = {};
    how.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    CHECK(cudaMemcpyBatchAsync(to, from, sizes, 2, &how, &index, 1, stream));
    CHECK(cudaStreamSynchronize(stream));
    expect(std::memcmp(managed, "defg", 4) == 0, "a batch of copies");
}

/// Two pieces of PTX, of which one calls and reads what the other has.
static void linked() {
    const char *const caller =
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".extern .func (.param .b32 result) twice (.param .b32 value);\n.extern .global .align 4 .b32 offset;\n"
        ".visible .entry run(.param .u64 out) {\n .reg .b32 %r<4>; .reg .b64 %rd<3>;\n ld.param.u64 %rd1, [out]; mov.u32 %r1, 21;\n"
        " { .param .b32 p; st.param.b32 [p], %r1; .param .b32 q; call.uni (q), twice, (p); ld.param.b32 %r2, [q]; }\n"
        " ld.global.u32 %r3, [offset]; add.u32 %r2, %r2, %r3; st.global.u32 [%rd1], %r2; ret;\n}\n";
    const char *const callee =
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .global .align 4 .b32 offset = 100;\n"
        ".visible .func (.param .b32 result) twice (.param .b32 value) {\n .reg .b32 %r<2>; // twice\n"
        " ld.param.b32 %r1, [value]; add.u32 %r1, %r1, %r1; st.param.b32 [result], %r1; ret;\n}\n";
    CUlinkState link;
    void *image = nullptr;
    std::size_t bytes = 0;
    DRIVER(cuLinkCreate(0, nullptr, nullptr, &link));
    DRIVER(cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char *>(caller), std::strlen(caller) + 1, "caller", 0, nullptr, nullptr));
    DRIVER(cuLinkAddData(link, CU_JIT_INPUT_PTX, const_cast<char *>(callee), std::strlen(callee) + 1, "callee", 0, nullptr, nullptr));
    expect(cuLinkAddFile(link, CU_JIT_INPUT_PTX, "no-such-file", 0, nullptr, nullptr) == CUDA_ERROR_FILE_NOT_FOUND, "a file that is not there");
    DRIVER(cuLinkComplete(link, &image, &bytes));
    CUlibrary library;
    CUkernel kernel;
    CUfunction function;
    CUmodule module;
    unsigned count = 0;
    const char *name = nullptr;
    if (cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0) != CUDA_SUCCESS) return expect(false, "linked PTX that can be loaded");
    DRIVER(cuLinkDestroy(link));
    DRIVER(cuLibraryGetKernelCount(&count, library));
    DRIVER(cuLibraryGetKernel(&kernel, library, "run"));
    DRIVER(cuKernelGetName(&name, kernel));
    DRIVER(cuKernelGetFunction(&function, kernel));
    DRIVER(cuLibraryGetModule(&module, library));
    DRIVER(cuFuncLoad(function));
    std::size_t offset = 9, size = 9, room = 0;
    DRIVER(cuKernelGetParamInfo(kernel, 0, &offset, &size));
    expect(count == 1 && std::strcmp(name, "run") == 0 && offset == 0 && size == 8, "what is known of a kernel");
    expect(cuKernelGetParamInfo(kernel, 1, &offset, &size) == CUDA_ERROR_INVALID_VALUE, "a parameter that there is not");
    DRIVER(cuOccupancyAvailableDynamicSMemPerBlock(&room, function, 2, 32));
    expect(room == (228u << 10) / 2 - 1024, "shared memory that two thread blocks leave each other");
    CUdeviceptr out = 0, variable = 0;
    DRIVER(cuLibraryGetGlobal(&variable, &size, library, "offset"));
    DRIVER(cuMemAlloc(&out, 4));
    void *arguments[] = {&out};
    DRIVER(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    int found = 0;
    DRIVER(cuMemcpyDtoH(&found, out, 4));
    expect(found == 142 && size == 4, "linked PTX");
    DRIVER(cuLibraryUnload(library));
}

int main() {
    DRIVER(cuInit(0));
    contexts();
    devices();
    memory();
    linked();
    return verdict(good, "queries");
}
