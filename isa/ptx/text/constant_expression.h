// Constant expressions: (1 << 4) | 3, -0f3F800000, (.u64)(3 - 4) >> 60. Internal to the parser.
#pragma once

#include <cstdint>

#include "isa/ptx/text/token_cursor.h"

namespace heddle::ptx {

/// The value of a constant expression.
struct Constant {
    /// How `bits` are read: 64-bit integer, fp32 or fp64.
    enum class Kind : std::uint8_t { integer, single, real };
    Kind kind = Kind::integer;  ///< type of the value
    bool is_unsigned = false;   ///< integer: .u64, else .s64
    std::uint64_t bits = 0;     ///< two's complement, or IEEE bits of the width that `kind` says
};

/// Whether a constant starts here. Names are none, but for WARP_SZ.
bool starts_constant(const TokenCursor& cursor);

/// Reads an expression and computes its value. Throws heddle::Error. Source: PTX manual, "Constant
/// expressions" and its table "Constant expression evaluation rules".
Constant parse_constant(TokenCursor& cursor);
/// The same, up to the first operator that binds less tightly than '+': what follows [name.
Constant parse_constant_product(TokenCursor& cursor);

}  // namespace heddle::ptx
