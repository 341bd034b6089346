// What a matrix instruction may do, as data: the arithmetic that we believe in (isa/numerics) and the other
// answers that a probe is there to exclude.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "isa/numerics/dot_product_unit.h"
#include "validation/capture/sections/matrix_instruction.h"
#include "validation/capture/sections/matrix_probe.h"

namespace heddle::capture {

/// The truncated fused dot product with everything open that a measurement could find otherwise. Evaluated
/// apart from isa/numerics, so that each checks the other.
struct SumModel {
    numerics::DotProductParameters parameters;

    enum class Alignment : std::uint8_t { truncate, floor, nearest };
    Alignment alignment = Alignment::truncate;  ///< of what lies below 2^(emax - F)
    bool clamp_exponent = true;                 ///< emax is at least e0
    bool flush_subnormal_inputs = false;
    bool flush_subnormal_results = false;
    enum class Tf32Input : std::uint8_t { truncate, nearest_even, nearest_away, all_bits };
    Tf32Input tf32_input = Tf32Input::truncate;  ///< of the 13 low bits of a register
    enum class ZeroSign : std::uint8_t {
        positive,          ///< a sum of zero is +0
        ieee,              ///< -0 when every product and C is -0
        of_truncated_sum,  ///< ieee, and -0 where nothing but negative numbers were cut off
    };
    ZeroSign zero_sign = ZeroSign::positive;
    bool overflow_to_largest = false;
    /// Blocks do not follow one another: all start from nothing and are added by pairs, then C; each sum
    /// rounded as the blocks are.
    bool tree_of_blocks = false;
    /// One fused multiply-add of fp32 after another, rounded to nearest even.
    bool chain_of_fma = false;
};

/// One product of the instruction: a, b of its k, raw bits.
std::uint64_t evaluate(const SumModel& model, std::span<const std::uint64_t> a,
                       std::span<const std::uint64_t> b, std::uint64_t c);

/// The model of a device for an instruction; nothing where none is published (or for integers and f64, which
/// have no parameters).
std::optional<SumModel> model_of(const MatrixInstruction& instruction, unsigned compute_capability);

/// What the device should give by isa/numerics, for every kind of dense instruction. `k` of the products may
/// be several instructions, the D of one being the C of the next. Nothing where no model is published.
std::optional<std::vector<std::uint64_t>> predict(const MatrixInstruction& instruction,
                                                  unsigned compute_capability, const DotProducts& products);

/// The same for tiles, sparse ones too: shapes as MatrixProbe::tiles() has them.
std::optional<std::vector<std::uint64_t>> predict_tiles(const MatrixInstruction& instruction,
                                                        unsigned compute_capability, unsigned steps,
                                                        std::span<const std::uint64_t> a,
                                                        std::span<const std::uint64_t> b,
                                                        std::span<const std::uint64_t> c,
                                                        std::span<const SparseRow> rows = {});

}  // namespace heddle::capture
