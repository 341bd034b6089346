// What a tensor core instruction multiplies, by its modifiers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "isa/ptx/execution.h"

namespace heddle::sass {

/// Sizes of one product D (m x n) = A (m x k) B (k x n) + C.
struct MatrixShape {
    std::uint32_t m = 0, n = 0,
                  k = 0;  ///< of the whole instruction; a step of Volta's HMMA.884: its part of k
    ptx::Type type = ptx::Type::none;  ///< of the factors
    /// 32-bit registers of a thread that each operand takes; of A and B 0 where they lie in shared memory.
    unsigned a_registers = 0, b_registers = 0, accumulator_registers = 0;
    unsigned bits = 16;  ///< of an element of the factors
    std::uint32_t macs() const { return m * n * k; }
};

/// `name`: HMMA, IMMA, BMMA, DMMA, QMMA, HGMMA, ...; `modifiers`: the words behind it. Nothing when they name
/// no shape that is known.
std::optional<MatrixShape> matrix_shape(std::string_view name, std::span<const std::string_view> modifiers);

}  // namespace heddle::sass
