// The operands of a captured GEMM. They are a pure function of a few words in its record, so that whoever
// reads the capture makes them again.
//
// An element depends on its place in the product, not on where it is stored: A(i, k) is element
// (batch * m + i) * K + k of its stream, B(k, j) element (batch * n + j) * K + k, C(i, j) element
// (batch * m + i) * n + j, bias(j) element j. All four layouts of a product therefore multiply the same
// numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/numerics/counter_random.h"
#include "validation/capture/blas.h"

namespace heddle::capture {

/// Raises when the numbers of a seed change: captures say which one they used.
inline constexpr int kInputGenerator = 1;

struct GemmInputs {
    numerics::Distribution a = numerics::Distribution::normal, b = numerics::Distribution::normal,
                           c = numerics::Distribution::normal;  ///< of bias too
    std::uint64_t seed = 0;
    /// A and B of f32 hold tf32 numbers: how the library converts them makes no difference.
    bool tf32_numbers = false;
    bool operator==(const GemmInputs&) const = default;
};

enum class Operand : std::uint8_t { a, b, c, bias };

/// Elements first, first + 1, ... of an operand's stream, as raw bits of the operand's type; `to` has a whole
/// number of elements.
void fill_elements(const GemmProblem& problem, const GemmInputs& inputs, Operand operand, std::uint64_t first,
                   std::span<std::byte> to);

/// The whole operand as it lies in memory, all batches. Elements between the rows, where the leading
/// dimension leaves room, are NaN (integers -1): a library that reads them betrays itself.
std::vector<std::byte> stored_operand(const GemmProblem& problem, const GemmInputs& inputs, Operand operand);

/// Where an output element lies.
struct OutputPlace {
    std::uint64_t batch = 0, row = 0, column = 0;
    bool operator==(const OutputPlace&) const = default;
};

/// The places that a record keeps of a large output: chosen by the seed, with the four corners first.
std::vector<OutputPlace> sample_places(const GemmProblem& problem, std::uint64_t seed, std::size_t count);

/// The elements of D, without what lies between its rows, in order of batch, row and column.
std::vector<std::byte> dense_output(const GemmProblem& problem, std::vector<std::byte> stored);
std::vector<std::byte> sample_of(const GemmProblem& problem, std::span<const std::byte> dense,
                                 std::span<const OutputPlace> places);

}  // namespace heddle::capture
