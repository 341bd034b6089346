// What a matrix product computes on the device model, compared with the exact result.
#pragma once

#include <cstdint>
#include <string>

#include "sim/gemm/gemm_question.h"

namespace heddle::sim {

/// The result of the comparison. Operands are normal random numbers (isa/numerics/counter_random.h), or
/// integers from -4 to 4.
struct GemmNumerics {
    std::uint64_t elements = 0;
    std::uint64_t as_planned = 0;  ///< elements of D whose bits follow from the kernel's order of summation
    /// Errors against the product of the same operands in double precision: relative in the Frobenius norm;
    /// the largest error of an element relative to |A||B|, and its bound, which allows for the rounding of D
    /// and of K sums. For a batch, those of the worst product.
    double frobenius = 0, worst = 0, bound = 0;
    /// Cycles of all kernels without and with values; a difference is an error of the model.
    std::uint64_t cycles = 0, cycles_with_values = 0;
    bool passed() const { return as_planned == elements && worst <= bound && cycles == cycles_with_values; }
};

/// Writes the result as text for other processes.
std::string to_text(const GemmNumerics& numerics);
/// Reads what to_text() wrote.
GemmNumerics gemm_numerics_from_text(const std::string& text);
/// Describes the result in lines for people.
std::string describe(const GemmNumerics& numerics);

/// The largest number of multiply-accumulates for which values are computed.
inline constexpr double kMostNumericWork = 4e11;

/// Computes a product with values. It elaborates a device, so a process can call it only once. Throws
/// heddle::Error beyond kMostNumericWork.
GemmNumerics compute_gemm(const GemmQuestion& question, const models::gpu::GpuConfig& config,
                          const kernels::GemmChoice& choice);

}  // namespace heddle::sim
