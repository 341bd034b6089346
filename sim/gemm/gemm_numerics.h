// What a product computes, beside what it should: every value on the device model.
#pragma once

#include <cstdint>
#include <string>

#include "sim/gemm/gemm_question.h"

namespace heddle::sim {

/// Operands are normal random numbers (isa/numerics/counter_random.h), integers from -4 to 4.
struct GemmNumerics {
    std::uint64_t elements = 0;
    std::uint64_t as_planned = 0;  ///< elements of D with the bits of the kernel's plan of summation
    /// Against the product in doubles of the same operands: relative in the Frobenius norm; the largest error
    /// of an element relative to |A||B|, and what it may be: the rounding of D, and of K sums. Of a batch the
    /// worst product.
    double frobenius = 0, worst = 0, bound = 0;
    std::uint64_t cycles = 0, cycles_with_values = 0;  ///< of all kernels; the same, or the model is wrong
    bool passed() const { return as_planned == elements && worst <= bound && cycles == cycles_with_values; }
};
std::string to_text(const GemmNumerics& numerics);
GemmNumerics gemm_numerics_from_text(const std::string& text);
/// Lines for people.
std::string describe(const GemmNumerics& numerics);

/// The most multiply-accumulates that are computed.
inline constexpr double kMostNumericWork = 4e11;

/// Elaborates a device: one call per process. Throws heddle::Error beyond kMostNumericWork.
GemmNumerics compute_gemm(const GemmQuestion& question, const models::gpu::GpuConfig& config,
                          const kernels::GemmChoice& choice);

}  // namespace heddle::sim
