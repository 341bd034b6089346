// Runs one instruction on many values: a kernel that loads operands, executes the given lines and stores the
// result.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heddle::ptx::test {

/// Raw bits in 64-bit slots.
using Bits = std::vector<std::uint64_t>;

/// Executes `lines` once per element. Operand i is register %a, %b, %c, %e of type `types[i]` ("s32", "pred":
/// nonzero is true); the result is register %d of type `result`; %q is a second predicate, %t a scratch b32.
/// Threads fill warps raggedly and a third of the lanes jumps over the lines and keeps 0, so that the masked
/// paths run too: such elements are reported as 0 and listed in `skipped`.
struct Evaluation {
    Bits results;
    std::vector<bool> skipped;
};
Evaluation evaluate(const std::string& lines, const std::vector<std::string>& types,
                    const std::string& result, const std::vector<Bits>& operands);

/// Values that matter for a type (zeros, extremes, NaNs, subnormals, ...) and seeded random bits, `count` of
/// them. "u32" etc.: uniform, small and near powers of two. Floats: random bits, moderate numbers, integers.
Bits interesting_values(const std::string& type, std::size_t count, unsigned seed);

/// CHECKs `lines` against `reference` on `count` random operand tuples. NaN results of the same type count as
/// equal when `any_nan`.
using Reference = std::function<std::uint64_t(std::uint64_t a, std::uint64_t b, std::uint64_t c)>;
void check_instruction(const std::string& lines, const std::vector<std::string>& types,
                       const std::string& result, const Reference& reference, bool any_nan = false);

}  // namespace heddle::ptx::test
