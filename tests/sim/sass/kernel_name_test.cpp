#include "sim/sass/kernel_name.h"

#include <catch2/catch.hpp>

using namespace heddle::sass;

// Names of the recorded training step and others, as c++filt prints them.
TEST_CASE("Names of kernels become readable, and functions of them") {
    const char* const add = "_Z9vectorAddPKfS0_Pfi";
    CHECK(readable_name(add) == "vectorAdd(float const*, float const*, float*, int)");
    CHECK(function_name(add) == "vectorAdd");
    // void at::native::(anonymous namespace)::f<4, g<float>::h>(int)
    const char* const nested = "_ZN2at6native12_GLOBAL__N_11fILi4EN1gIfE1hEEEvi";
    CHECK(readable_name(nested) == "at::native::f<4, g<float>::h>(int)");
    CHECK(function_name(nested) == "f");
    // std::enable_if<!(false), void>::type internal::gemvx::kernel<int>(int)
    const char* const conditional = "_ZN8internal5gemvx6kernelIiEENSt9enable_ifIXntLb0EEvE4typeET_";
    CHECK(readable_name(conditional) == "internal::gemvx::kernel<int>(int)");
    CHECK(function_name(conditional) == "kernel");
    for (const char* const plain : {"saxpy", "_Z", "sm90_xmma_gemm_f16f16_f32", "", "_Znonsense"}) {
        CHECK(readable_name(plain) == plain);
        CHECK(function_name(plain) == plain);
    }
    CHECK(function_name("cutlass::Kernel<int>") == "Kernel");
}
