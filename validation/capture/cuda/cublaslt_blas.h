// cublasLt as the capture's BLAS.
#pragma once

#include <cublasLt.h>

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "validation/capture/blas.h"
#include "validation/capture/cuda/cublaslt_api.h"
#include "validation/capture/cuda/cublaslt_problem.h"
#include "validation/capture/cuda/cuda_context.h"

namespace heddle::capture {

class CublasLtBlas : public Blas {
  public:
    /// Throws DeviceError: no library, or it does not start.
    explicit CublasLtBlas(const CudaContext& context);

    std::string version() const;  ///< "13.1.0"

    std::vector<GemmAlgorithm> algorithms(const GemmProblem& problem, unsigned maximum) override;
    void run(const GemmProblem& problem, const GemmAlgorithm& algorithm,
             const GemmOperands& operands) override;
    void observe(const GemmProblem& problem, GemmAlgorithm& algorithm, const GemmOperands& operands) override;

  private:
    void check(cublasStatus_t status, const std::string& call) const;
    /// One workspace for all; a larger one is allocated when it is asked for.
    CUdeviceptr workspace(std::uint64_t bytes);
    std::vector<cublasLtMatmulHeuristicResult_t> heuristic(const GemmProblem& problem,
                                                           const CublasLtProblem& description,
                                                           unsigned maximum) const;
    /// Sets SPLITK_NUM to 1. False when the library refuses the algorithm without split-K.
    bool exclude_split_k(const CublasLtProblem& description, cublasLtMatmulHeuristicResult_t& result) const;
    GemmAlgorithm describe(const cublasLtMatmulHeuristicResult_t& result) const;
    void add_launches(CUgraph graph, GemmAlgorithm& algorithm) const;
    std::string kernel_name(const CUDA_KERNEL_NODE_PARAMS& parameters) const;

    /// Gives a handle back before the context goes; that of a lost one is left, as calls may never return.
    struct DestroyHandle {
        const CudaContext* context;
        decltype(&::cublasLtDestroy) destroy;
        void operator()(cublasLtHandle_t handle) const {
            if (!context->lost()) destroy(handle);
        }
    };
    using Handle = std::unique_ptr<std::remove_pointer_t<cublasLtHandle_t>, DestroyHandle>;
    Handle make_handle() const;

    const CudaContext& context_;
    CublasLtApi api_;
    Handle handle_;
    CUdeviceptr workspace_ = 0, scale_one_ = 0;  ///< the context frees them
    std::uint64_t workspace_bytes_ = 0;
};

}  // namespace heddle::capture
