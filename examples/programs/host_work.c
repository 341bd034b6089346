/* Works on the host between two launches: `--host-time measured` shows it in simulated time.
 *
 *   cc host_work.c -o host_work -ldl
 *   heddle run --hardware h100-sxm --host-time measured -- ./host_work
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const char kModule[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nothing()\n{\n    ret;\n}\n";

static void *library;
static void *entry(const char *name) {
    void *const found = dlsym(library, name);
    if (found == NULL) exit(3);
    return found;
}
#define CALL(name, types, ...) \
    if (((unsigned(*) types)entry(name))(__VA_ARGS__) != 0) exit(1)

int main(void) {
    void *context, *module, *function, *begin, *end;
    float milliseconds = 0;
    library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL) return 3;
    CALL("cuInit", (unsigned), 0);
    CALL("cuCtxCreate_v2", (void **, unsigned, int), &context, 0, 0);
    CALL("cuModuleLoadData", (void **, const void *), &module, kModule);
    CALL("cuModuleGetFunction", (void **, void *, const char *), &function, module, "nothing");
    CALL("cuEventCreate", (void **, unsigned), &begin, 0);
    CALL("cuEventCreate", (void **, unsigned), &end, 0);
    for (int i = 0; i < 2; ++i) {
        CALL("cuLaunchKernel", (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **), function, 1, 1, 1, 32, 1, 1, 0, NULL,
             NULL, NULL);
        CALL("cuEventRecord", (void *, void *), i == 0 ? begin : end, NULL);
        /* 50 milliseconds of work. */
        const clock_t start = clock();
        while (i == 0 && clock() - start < CLOCKS_PER_SEC / 20) {
        }
    }
    CALL("cuEventSynchronize", (void *), end);
    CALL("cuEventElapsedTime", (float *, void *, void *), &milliseconds, begin, end);
    printf("between two launches: %s\n", milliseconds >= 49 && milliseconds < 500 ? "the host's work" : milliseconds < 0.1 ? "nothing" : "something else");
    return 0;
}
