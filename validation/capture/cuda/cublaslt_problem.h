// A GemmProblem as descriptors of cublasLt: column-major, so that it computes D^T = op(B)^T op(A)^T, and what
// it calls A is our B.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "validation/capture/blas.h"
#include "validation/capture/cuda/cublaslt_api.h"

namespace heddle::capture {

/// Throws DeviceError "CALL: STATUS" unless `status` is success.
void check_cublaslt(const CublasLtApi& api, cublasStatus_t status, const std::string& call);

cudaDataType_t cuda_type(Type type);

/// alpha or beta in the type that the computation wants it in.
struct Scalar {
    alignas(8) std::byte bytes[8] = {};
    const void* address() const { return bytes; }
};

class CublasLtProblem {
  public:
    /// Throws DeviceError: the library knows no such descriptor.
    CublasLtProblem(const CublasLtApi& api, const GemmProblem& problem);

    /// Addresses that are part of the description: bias and scales. Those not used may be zero.
    void set_pointers(const GemmOperands& operands);

    cublasLtMatmulDesc_t operation() const { return operation_.get(); }
    cublasLtMatrixLayout_t a() const { return a_.get(); }  ///< cublasLt's A: our B
    cublasLtMatrixLayout_t b() const { return b_.get(); }  ///< cublasLt's B: our A
    cublasLtMatrixLayout_t c() const { return c_.get(); }
    cublasLtMatrixLayout_t d() const { return d_.get(); }
    Scalar scalar(double value) const;

  private:
    using Operation = std::unique_ptr<std::remove_pointer_t<cublasLtMatmulDesc_t>,
                                      cublasStatus_t (*)(cublasLtMatmulDesc_t)>;
    using Layout = std::unique_ptr<std::remove_pointer_t<cublasLtMatrixLayout_t>,
                                   cublasStatus_t (*)(cublasLtMatrixLayout_t)>;
    Operation make_operation() const;
    Layout make_layout(Type type, std::uint64_t rows, std::uint64_t columns, std::uint64_t leading) const;
    template <typename T>
    void set(cublasLtMatmulDescAttributes_t attribute, const T& value, const char* name);

    const CublasLtApi& api_;
    GemmProblem problem_;
    cudaDataType_t scale_type_;
    Operation operation_;
    Layout a_, b_, c_, d_;
};

}  // namespace heddle::capture
