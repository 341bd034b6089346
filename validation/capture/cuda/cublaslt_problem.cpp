#include "validation/capture/cuda/cublaslt_problem.h"

#include <bit>
#include <cstring>

#include "isa/numerics/formats.h"
#include "validation/capture/device.h"

namespace heddle::capture {
namespace {

cublasComputeType_t cublas_compute(Compute compute) {
    switch (compute) {
        case Compute::f64:
            return CUBLAS_COMPUTE_64F;
        case Compute::f32:
            return CUBLAS_COMPUTE_32F;
        case Compute::f32_pedantic:
            return CUBLAS_COMPUTE_32F_PEDANTIC;
        case Compute::tf32:
            return CUBLAS_COMPUTE_32F_FAST_TF32;
        case Compute::f16:
            return CUBLAS_COMPUTE_16F;
        case Compute::i32:
            return CUBLAS_COMPUTE_32I;
    }
    throw DeviceError("cublasLt has no such computation");
}

/// Of alpha and beta.
cudaDataType_t scale_type_of(const GemmProblem& problem) {
    switch (problem.compute) {
        case Compute::f64:
            return CUDA_R_64F;
        case Compute::f16:
            return CUDA_R_16F;
        case Compute::i32:
            return problem.d == Type::i32 ? CUDA_R_32I : CUDA_R_32F;
        default:
            return CUDA_R_32F;
    }
}

cublasLtEpilogue_t cublas_epilogue(Epilogue epilogue) {
    switch (epilogue) {
        case Epilogue::none:
            return CUBLASLT_EPILOGUE_DEFAULT;
        case Epilogue::bias:
            return CUBLASLT_EPILOGUE_BIAS;
        case Epilogue::relu:
            return CUBLASLT_EPILOGUE_RELU;
        case Epilogue::relu_bias:
            return CUBLASLT_EPILOGUE_RELU_BIAS;
        case Epilogue::gelu:
            return CUBLASLT_EPILOGUE_GELU;
        case Epilogue::gelu_bias:
            return CUBLASLT_EPILOGUE_GELU_BIAS;
    }
    throw DeviceError("cublasLt has no such epilogue");
}

bool is_fp8(Type type) {
    return type == Type::e4m3 || type == Type::e5m2;
}

std::uint16_t half_bits(double value) {
    using numerics::Format;
    return static_cast<std::uint16_t>(
        numerics::convert(Format::fp16, Format::fp64, std::bit_cast<std::uint64_t>(value)));
}

template <typename T>
Scalar scalar_of(T value) {
    Scalar scalar;
    std::memcpy(scalar.bytes, &value, sizeof value);
    return scalar;
}

}  // namespace

void check_cublaslt(const CublasLtApi& api, cublasStatus_t status, const std::string& call) {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    const char* name = api.cublasLtGetStatusName(status);
    throw DeviceError(call + ": " +
                      (name == nullptr ? "status " + std::to_string(static_cast<int>(status)) : name));
}

cudaDataType_t cuda_type(Type type) {
    switch (type) {
        case Type::f64:
            return CUDA_R_64F;
        case Type::f32:
            return CUDA_R_32F;
        case Type::f16:
            return CUDA_R_16F;
        case Type::bf16:
            return CUDA_R_16BF;
        case Type::e4m3:
            return CUDA_R_8F_E4M3;
        case Type::e5m2:
            return CUDA_R_8F_E5M2;
        case Type::i8:
            return CUDA_R_8I;
        case Type::i32:
            return CUDA_R_32I;
    }
    throw DeviceError("cublasLt has no such type");
}

CublasLtProblem::CublasLtProblem(const CublasLtApi& api, const GemmProblem& problem)
    : api_(api),
      problem_(problem),
      scale_type_(scale_type_of(problem)),
      operation_(make_operation()),
      // Row-major [rows, columns] is column-major [columns, rows] with the same distance between lines.
      a_(problem.transpose_b ? make_layout(problem.b, problem.k, problem.n, problem.row_b())
                             : make_layout(problem.b, problem.n, problem.k, problem.row_b())),
      b_(problem.transpose_a ? make_layout(problem.a, problem.m, problem.k, problem.row_a())
                             : make_layout(problem.a, problem.k, problem.m, problem.row_a())),
      c_(make_layout(problem.c, problem.n, problem.m, problem.row_c())),
      d_(make_layout(problem.d, problem.n, problem.m, problem.row_d())) {
    const auto operation_of = [](bool transposed) -> std::int32_t {
        return transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, operation_of(problem.transpose_b), "TRANSA");
    set(CUBLASLT_MATMUL_DESC_TRANSB, operation_of(problem.transpose_a), "TRANSB");
    if (problem.epilogue != Epilogue::none)
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(cublas_epilogue(problem.epilogue)),
            "EPILOGUE");
    if (problem.fast_accumulation) set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1}, "FAST_ACCUM");
}

template <typename T>
void CublasLtProblem::set(cublasLtMatmulDescAttributes_t attribute, const T& value, const char* name) {
    check_cublaslt(api_,
                   api_.cublasLtMatmulDescSetAttribute(operation_.get(), attribute, &value, sizeof value),
                   std::string("cublasLtMatmulDescSetAttribute(") + name + ") for " + problem_.name());
}

CublasLtProblem::Operation CublasLtProblem::make_operation() const {
    cublasLtMatmulDesc_t operation = nullptr;
    check_cublaslt(api_,
                   api_.cublasLtMatmulDescCreate(&operation, cublas_compute(problem_.compute), scale_type_),
                   "cublasLtMatmulDescCreate for " + problem_.name());
    return {operation, api_.cublasLtMatmulDescDestroy};
}

CublasLtProblem::Layout CublasLtProblem::make_layout(Type type, std::uint64_t rows, std::uint64_t columns,
                                                     std::uint64_t leading) const {
    cublasLtMatrixLayout_t made = nullptr;
    check_cublaslt(api_,
                   api_.cublasLtMatrixLayoutCreate(&made, cuda_type(type), rows, columns,
                                                   static_cast<std::int64_t>(leading)),
                   "cublasLtMatrixLayoutCreate for " + problem_.name());
    Layout layout(made, api_.cublasLtMatrixLayoutDestroy);
    if (problem_.batch > 1) {
        const auto count = static_cast<std::int32_t>(problem_.batch);
        const auto stride = static_cast<std::int64_t>(leading * columns);
        check_cublaslt(api_,
                       api_.cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                                             sizeof count),
                       "cublasLtMatrixLayoutSetAttribute(BATCH_COUNT)");
        check_cublaslt(api_,
                       api_.cublasLtMatrixLayoutSetAttribute(
                           made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride),
                       "cublasLtMatrixLayoutSetAttribute(STRIDED_BATCH_OFFSET)");
    }
    return layout;
}

void CublasLtProblem::set_pointers(const GemmOperands& operands) {
    if ((cublas_epilogue(problem_.epilogue) & CUBLASLT_EPILOGUE_BIAS) != 0) {
        set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias, "BIAS_POINTER");
        set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, static_cast<std::int32_t>(cuda_type(problem_.bias)),
            "BIAS_DATA_TYPE");
    }
    if (is_fp8(problem_.b) && operands.scale_b != 0)
        set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, operands.scale_b, "A_SCALE_POINTER");
    if (is_fp8(problem_.a) && operands.scale_a != 0)
        set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, operands.scale_a, "B_SCALE_POINTER");
    if (is_fp8(problem_.d) && operands.scale_d != 0)
        set(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, operands.scale_d, "D_SCALE_POINTER");
}

Scalar CublasLtProblem::scalar(double value) const {
    switch (scale_type_) {
        case CUDA_R_64F:
            return scalar_of(value);
        case CUDA_R_32I:
            return scalar_of(static_cast<std::int32_t>(value));
        case CUDA_R_16F:
            return scalar_of(half_bits(value));
        default:
            return scalar_of(static_cast<float>(value));
    }
}

}  // namespace heddle::capture
