// What the programs here share: every call is checked, and the program ends with 1 where one fails.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

inline void check(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s (%s)\n", what, cudaGetErrorString(error), cudaGetErrorName(error));
    std::exit(1);
}
#define CHECK(call) check(call, #call)

/// Ends the program with what holds or does not.
inline int verdict(bool good, const char *what) {
    std::printf("%s: %s\n", what, good ? "right" : "WRONG");
    return good ? 0 : 1;
}
