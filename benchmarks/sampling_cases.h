// Kernels on which sampled runs are compared with full ones.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "workloads/kernels/gemm_mma.h"
#include "workloads/kernels/gemm_wgmma.h"
#include "workloads/kernels/library.h"

namespace heddle::benchmarks {

struct SamplingCase {
    std::string name;
    std::function<kernels::LibraryKernel()> make;
};

/// What a device of this compute capability can run, for about `sms` SMs: products on CUDA cores and on
/// tensor cores, whole and split over k, large, small and with few rows; streams; reductions over rows;
/// attention.
std::vector<SamplingCase> sampling_cases(unsigned compute_capability, unsigned sms);

/// m x n x k, in `splits` parts of k.
struct Product {
    std::uint32_t m, n, k, splits = 1;
};

// Kernels by their shapes, in f32 but for products on tensor cores and attention, which are in bf16.
kernels::LibraryKernel gemm_simt_product(unsigned compute_capability, const Product& product);
kernels::LibraryKernel gemm_mma_product(unsigned compute_capability, const Product& product,
                                        kernels::GemmTile tile);
kernels::LibraryKernel layer_norm_rows(unsigned compute_capability, std::uint32_t rows,
                                       std::uint32_t columns);
kernels::LibraryKernel sum_of_rows(unsigned compute_capability, std::uint32_t rows, std::uint32_t columns);
kernels::LibraryKernel attention(unsigned compute_capability, std::uint32_t sequence, std::uint32_t heads,
                                 bool causal);

}  // namespace heddle::benchmarks
