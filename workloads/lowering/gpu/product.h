// A matrix product as it lies in device memory, and the launches that carry it out: what the lowering of matmul ops and the stand-in for
// cuBLAS share.
#pragma once

#include <cstdint>
#include <vector>

#include "workloads/kernels/gemm_choice.h"
#include "workloads/kernels/gemm_common.h"
#include "workloads/lowering/gpu/builder.h"

namespace heddle::lowering {

/// D[m, n] = epilogue(op(A)[m, k] op(B)[k, n]), row-major, `batch` times. op(A): A is stored [m, k], or [k, m] when
/// transpose_a; op(B): B is stored [k, n], or [n, k] when transpose_b. Leading dimensions and strides are in elements.
struct GpuProduct {
    kernels::ElementType type_a = kernels::ElementType::f32, type_b = kernels::ElementType::f32;
    bool tf32 = false;  ///< operands of f32 may be read as tf32
    std::uint32_t m = 0, n = 0, k = 0, batch = 1;
    bool transpose_a = false, transpose_b = false;
    std::uint32_t lda = 0, ldb = 0, ldd = 0;
    std::uint32_t ldc = 0;  ///< of the epilogue's matrix (x2); 0: there is none
    std::uint64_t stride_a = 0, stride_b = 0, stride_d = 0;  ///< between entries of the batch; 0: one for all
    std::uint64_t stride_c = 0;
    kernels::KernelArgument a, b, d;  ///< pointers
    /// The epilogue on the sums; `output` is the type of D. launch_product() sets `vector_width`.
    kernels::GemmEpilogue epilogue;
    /// Values of the epilogue's parameters c, bias, auxiliary, factor0, factor1, s0, s1, ...
    std::vector<kernels::KernelArgument> epilogue_arguments;
};

/// Throws Unsupported where no kernel multiplies the product's types.
void check_types(const GpuProduct& product);

/// Adds launches that transpose operands into a workspace where tensor cores cannot read them, because they
/// read 8-bit types only with k contiguous, and changes the product to read the workspace.
void transpose_for_tensor_cores(GpuProgramBuilder& builder, GpuProduct& product);

/// What base addresses, rows and strides allow. Buffers begin at multiples of 256 bytes. `recorded`: the elements of a copy that the
/// kernel was recorded with, which may be fewer; 0: none was, and the result's rows count, too (kernels::with_one_alignment()).
kernels::GemmAlignment alignment_of(const GpuProduct& product, std::int64_t recorded = 0);

/// Launches the kernels of `choice`. Throws Unsupported when they cannot carry out the product.
void launch_product(GpuProgramBuilder& builder, GpuProduct product, const kernels::GemmAlignment& alignment,
                    const kernels::GemmChoice& choice);

}  // namespace heddle::lowering
