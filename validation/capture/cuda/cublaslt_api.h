// The functions of cublasLt that the capture calls, found at run time in the library of the toolkit's
// version.
#pragma once

#include <cublasLt.h>

#include <string>
#include <vector>

namespace heddle::capture {

// clang-format off
#define HEDDLE_CUBLASLT_FUNCTIONS(F) \
    F(cublasLtCreate) F(cublasLtDestroy) F(cublasLtGetVersion) F(cublasLtGetStatusName) F(cublasLtMatmul) \
    F(cublasLtMatmulDescCreate) F(cublasLtMatmulDescDestroy) F(cublasLtMatmulDescSetAttribute) \
    F(cublasLtMatrixLayoutCreate) F(cublasLtMatrixLayoutDestroy) F(cublasLtMatrixLayoutSetAttribute) \
    F(cublasLtMatmulPreferenceCreate) F(cublasLtMatmulPreferenceDestroy) \
    F(cublasLtMatmulPreferenceSetAttribute) F(cublasLtMatmulAlgoGetHeuristic) F(cublasLtMatmulAlgoCheck) \
    F(cublasLtMatmulAlgoConfigGetAttribute) F(cublasLtMatmulAlgoConfigSetAttribute) \
    F(cublasLtMatmulAlgoCapGetAttribute)
// clang-format on

struct CublasLtApi {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a name that is declared stands bare.
#define HEDDLE_DECLARE(function) decltype(&::function) function = nullptr;
    HEDDLE_CUBLASLT_FUNCTIONS(HEDDLE_DECLARE)
#undef HEDDLE_DECLARE
};

/// Throws DeviceError: the library of this major version is not there, or lacks a function.
CublasLtApi load_cublaslt();

/// For tests.
std::vector<std::string> required_cublaslt_functions();

}  // namespace heddle::capture
