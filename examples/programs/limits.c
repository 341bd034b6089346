/* Programs that ask for too much, give what is broken, or leave without tidying up: what do they get, and what is left behind?
 *
 *   cc limits.c -o limits -ldl
 *   heddle run --hardware h100-sxm -- ./limits WHAT
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long CUdeviceptr;

#define BODY                                                                                      \
    ".address_size 64\n"                                                                          \
    ".visible .entry count(.param .u64 x, .param .u32 turns)\n"                                   \
    "{\n"                                                                                         \
    "    .reg .pred %p;\n    .reg .b32 %r<4>;\n    .reg .b64 %d<2>;\n"                            \
    "    ld.param.u64 %d1, [x];\n    ld.param.u32 %r1, [turns];\n    mov.u32 %r2, 0;\n"           \
    "AGAIN:\n    setp.ge.u32 %p, %r2, %r1;\n    @%p bra END;\n    add.u32 %r2, %r2, 1;\n"         \
    "    bra AGAIN;\n"                                                                            \
    "END:\n    st.global.u32 [%d1], %r2;\n    ret;\n}\n"
static const char kModule[] = ".version 7.0\n.target sm_70\n" BODY;
static const char kNewer[] = ".version 99.0\n.target sm_990\n" BODY;

static void *library;
static void *entry(const char *name) {
    void *const found = dlsym(library, name);
    if (found == NULL) exit(3);
    return found;
}
#define CALL(name, types, ...) (((unsigned(*) types)entry(name))(__VA_ARGS__))
static void check(unsigned status, const char *what) {
    if (status == 0) return;
    fprintf(stderr, "%s: error %u\n", what, status);
    exit(1);
}

static void launch(void *function, CUdeviceptr x, unsigned turns, void *stream) {
    void *parameters[] = {&x, &turns};
    check(CALL("cuLaunchKernel", (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **), function, 1, 1, 1, 1, 1, 1, 0,
               stream, parameters, NULL),
          "launch");
}

int main(int count, char **words) {
    const char *const what = count > 1 ? words[1] : "";
    void *context, *module = NULL, *function = NULL;
    CUdeviceptr x = 0;
    unsigned status, value = 0;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) return 3;
    check(CALL("cuInit", (unsigned), 0), "cuInit");
    check(CALL("cuCtxCreate_v2", (void **, unsigned, int), &context, 0, 0), "cuCtxCreate");
    check(CALL("cuModuleLoadData", (void **, const void *), &module, kModule), "cuModuleLoadData");
    check(CALL("cuModuleGetFunction", (void **, void *, const char *), &function, module, "count"), "cuModuleGetFunction");
    check(CALL("cuMemAlloc_v2", (CUdeviceptr *, size_t), &x, 4096), "cuMemAlloc");
    if (strcmp(what, "streams") == 0) {
        /* A thousand streams, none of which is destroyed, and nothing is freed. */
        for (unsigned i = 0; i < 1000; ++i) {
            void *stream;
            check(CALL("cuStreamCreate", (void **, unsigned), &stream, 1), "cuStreamCreate");
            launch(function, x + 4 * i, i, stream);
        }
        check(CALL("cuCtxSynchronize", (void)), "cuCtxSynchronize");
        for (unsigned i = 0; i < 1000; ++i) {
            check(CALL("cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), &value, x + 4 * i, 4), "cuMemcpyDtoH");
            if (value != i) return 1;
        }
        puts("a thousand streams: right");
        return 7;
    }
    if (strcmp(what, "memory") == 0) {
        /* All memory of the device, and then some. */
        size_t free_bytes = 0, all = 0, got = 0;
        check(CALL("cuMemGetInfo_v2", (size_t *, size_t *), &free_bytes, &all), "cuMemGetInfo");
        CUdeviceptr more;
        while ((status = CALL("cuMemAlloc_v2", (CUdeviceptr *, size_t), &more, (size_t)1 << 30)) == 0) got += (size_t)1 << 30;
        printf("memory: error %u after %s of what was free\n", status, got > free_bytes - ((size_t)2 << 30) && got <= free_bytes ? "all" : "another part");
        check(CALL("cuMemAlloc_v2", (CUdeviceptr *, size_t), &more, 4096), "a small piece fits still");
        return 0;
    }
    if (strcmp(what, "newer") == 0) {
        printf("newer PTX: error %u\n", CALL("cuModuleLoadData", (void **, const void *), &module, kNewer));
        return 0;
    }
    if (strcmp(what, "truncated") == 0) {
        /* The header of a fat binary that promises more than there is. */
        static const unsigned broken[16] = {0xba55ed50u, 16u << 16 | 1u, 48, 0, 64u << 16 | 1u, 64, 4000, 0};
        printf("truncated fat binary: error %u\n", CALL("cuModuleLoadData", (void **, const void *), &module, (const void *)broken));
        return 0;
    }
    if (strcmp(what, "killed") == 0) {
        launch(function, x, 4000000000u, NULL);
        raise(SIGKILL);
    }
    if (strcmp(what, "forever") == 0) {
        for (;;) {
            launch(function, x, 100, NULL);
            check(CALL("cuCtxSynchronize", (void)), "cuCtxSynchronize");
        }
    }
    if (strcmp(what, "forked") == 0) {
        /* A child after the parent has used the device: it begins anew, and both are right. */
        launch(function, x, 5, NULL);
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            CUdeviceptr own = 0;
            void *of_child = NULL;
            if (CALL("cuInit", (unsigned), 0) != 0 || CALL("cuCtxCreate_v2", (void **, unsigned, int), &context, 0, 0) != 0) _exit(10);
            if (CALL("cuModuleLoadData", (void **, const void *), &of_child, kModule) != 0) _exit(11);
            if (CALL("cuModuleGetFunction", (void **, void *, const char *), &function, of_child, "count") != 0) _exit(12);
            if (CALL("cuMemAlloc_v2", (CUdeviceptr *, size_t), &own, 64) != 0) _exit(13);
            launch(function, own, 9, NULL);
            if (CALL("cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), &value, own, 4) != 0) _exit(14);
            _exit(value == 9 ? 0 : 15);
        }
        int ended = 0;
        waitpid(child, &ended, 0);
        check(CALL("cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t), &value, x, 4), "cuMemcpyDtoH");
        printf("forked: child %d, parent %u\n", WIFEXITED(ended) ? WEXITSTATUS(ended) : -1, value);
        return 0;
    }
    if (strcmp(what, "crash") == 0) {
        launch(function, x, 5, NULL);
        abort();
    }
    fprintf(stderr, "limits: streams, memory, newer, truncated, killed, forever, forked or crash\n");
    return 2;
}
