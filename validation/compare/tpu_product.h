// A product of matrices on the model of a TPU, and how far another machine's result may be from it when
// nobody knows in which order that machine adds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/tpu/tpu_config.h"

namespace heddle::validation {

/// D = A B on the functional TPU, by the program that Heddle's compiler makes for it. A is m x k, B is n x k:
/// k is contiguous in both. bf16 numbers as raw bits give fp32, int8 numbers int32. Throws heddle::Error when
/// the device has no program for it.
std::vector<float> tpu_product(const models::TpuConfig& device, std::uint64_t m, std::uint64_t n,
                               std::uint64_t k, std::span<const std::uint16_t> a,
                               std::span<const std::uint16_t> b);
std::vector<std::int32_t> tpu_product(const models::TpuConfig& device, std::uint64_t m, std::uint64_t n,
                                      std::uint64_t k, std::span<const std::int8_t> a,
                                      std::span<const std::int8_t> b);

/// One output element: what the same program computes, without running it.
float tpu_element(const models::TpuConfig& device, std::span<const std::uint16_t> a,
                  std::span<const std::uint16_t> b);
std::int32_t tpu_element(std::span<const std::int8_t> a, std::span<const std::int8_t> b);

/// Sum of |a[i] b[i]|, of bf16 numbers.
double magnitude_of(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b);

/// |gpu - tpu| of one element whose k products have the magnitude |A||B|, for any two orders of addition:
/// gamma_k(2^-23) |A||B| for a GPU that rounds toward zero, gamma_k(2^-24) |A||B| for a TPU that rounds to
/// nearest, with gamma_k(u) = k u / (1 - k u), and k times the smallest normal number for what the TPU
/// flushes; and for a result that the GPU rounded to bf16 half a unit in its last place, 2^-8 |gpu|.
double unknown_order_bound(std::uint64_t k, double magnitude, double gpu_result, bool gpu_result_is_bf16);

}  // namespace heddle::validation
