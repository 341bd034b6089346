#include "workloads/kernels/library.h"

#include "workloads/kernels/library_builder.h"

namespace heddle::kernels {

std::vector<LibraryKernel> library_samples(unsigned compute_capability) {
    std::vector<LibraryKernel> samples;
    add_gemm_samples(samples, compute_capability);
    add_elementwise_samples(samples, compute_capability);
    add_row_samples(samples, compute_capability);
    add_attention_samples(samples, compute_capability);
    add_convolution_samples(samples, compute_capability);
    add_torch_samples(samples, compute_capability);
    add_gemm_type_samples(samples, compute_capability);
    return samples;
}

}  // namespace heddle::kernels
