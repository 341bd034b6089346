// Softmax and log-softmax over rows, forward and backward, in the shape in which PyTorch launches them: a
// warp or a part of one for short rows, a thread block for long ones. Exponentials and quotients are those
// that nvcc makes of expf and of division, correctly rounded or within 1 ulp; f32 accumulation in a fixed
// order. Launch rules: PyTorch, aten/src/ATen/native/cuda (SoftMax.cu, PersistentSoftmax.cuh).
#pragma once

#include "workloads/kernels/memory_access.h"
#include "workloads/kernels/ptx_writer.h"

namespace heddle::kernels {

/// How rows of more than 1,024 elements are reduced; changed between releases.
enum class TorchSoftmaxForm : std::uint8_t {
    three_reads,  ///< 2.0: every pass reads memory; blocks of at most 512 threads
    staged,  ///< 2.1 onward: the row waits in shared memory where 48 KiB hold it; blocks of 1,024 threads
};

/// y = softmax(x) or log(softmax(x)). Parameters: y, x (pointers); rows (u32). Rows are dense.
struct TorchSoftmaxSpec {
    unsigned compute_capability = 80;
    ElementType input = ElementType::f32, output = ElementType::f32;  ///< f32, f16, bf16
    std::uint32_t columns = 0;
    bool logarithm = false;
    TorchSoftmaxForm form = TorchSoftmaxForm::staged;
};
GeneratedKernel generate_torch_softmax(const TorchSoftmaxSpec& spec);
Extent3 torch_softmax_grid(const TorchSoftmaxSpec& spec, std::uint32_t rows);

/// dx = g - y * sum(g) where g = dy * y was computed before (PyTorch multiplies in a kernel of its own), or,
/// of the logarithm, dx = dy - exp(y) * sum(dy). Parameters: dx, g, y (pointers); rows (u32).
struct TorchSoftmaxGradSpec {
    unsigned compute_capability = 80;
    ElementType y = ElementType::f32;  ///< of y and of g
    ElementType dx = ElementType::f32;
    std::uint32_t columns = 0;
    bool logarithm = false;
};
GeneratedKernel generate_torch_softmax_grad(const TorchSoftmaxGradSpec& spec);
Extent3 torch_softmax_grad_grid(const TorchSoftmaxGradSpec& spec, std::uint32_t rows);

}  // namespace heddle::kernels
