// Comparison of a buffer with its expected values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/kernel/buffers.h"
#include "sim/kernel/launch_file.h"

namespace heddle::kernel {

/// An element that differs from its expected value.
struct Mismatch {
    std::uint64_t index = 0;
    std::string got, expected;
    std::uint64_t ulp = 0;  ///< distance between the element and the expected value rounded to its type
};

/// The result of one comparison.
struct CompareOutcome {
    std::string buffer;
    std::string reference;  ///< for people: "expression 2 * x[i]"
    std::uint64_t elements = 0, mismatches = 0;
    std::vector<Mismatch> first;  ///< at most kShownMismatches
    double largest_absolute_error = 0;
    std::uint64_t largest_ulp = 0;

    bool passed() const { return mismatches == 0; }
};
inline constexpr std::size_t kShownMismatches = 10;

/// Compares buffers[declaration.buffer] with its reference. `initial` are the buffers before the first
/// launch. An element passes when |got - expected| <= absolute + relative |expected|, or when it is within
/// `ulp` of the expected value rounded to the buffer's type (NaN passes for NaN); with bit_exact, only when
/// it has the same bits. A matmul reference covers the first m n elements; the others cover all.
CompareOutcome compare(const CompareDeclaration& declaration, const std::vector<Buffer>& buffers,
                       const std::vector<Buffer>& initial);

}  // namespace heddle::kernel
