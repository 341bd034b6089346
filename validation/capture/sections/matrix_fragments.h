// Where the elements of a matrix lie in the registers of a warp, or for wgmma in shared memory.
//
// One rule covers A, B, C and D of mma.sync but for m8n8k4 in f16 (PTX manual, the figures "fragment layout"
// of each shape). With group = lane / 4 and member = lane % 4,
//   A, B  registers hold elements that follow one another along k. Register r holds, of row (A) or column (B)
//         8 (r mod blocks) + group, the registerful 4 (r / blocks) + member along k; `blocks` is rows / 8.
//   C, D  pairs of neighbours in a row: pair p lies in row 8 (p mod blocks) + group, columns
//         8 (p / blocks) + 2 member and the next; a pair of f16 shares a register.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "validation/capture/sections/matrix_instruction.h"

namespace heddle::capture {

enum class FragmentOperand : std::uint8_t { a, b, sum };

/// Threads that execute one instruction, products that it computes at once (4 for quads), and words of 32
/// bits that each thread holds. For wgmma A and B are images of shared memory, whose words are counted as if
/// each thread held its part.
struct FragmentSizes {
    unsigned threads = 32, products = 1;
    unsigned a_words = 0, b_words = 0, sum_words = 0;
};
FragmentSizes fragment_sizes(const MatrixInstruction& instruction);

/// Bits of the element at [row, column] (A, sum), or of column `row` of B at k = `column`: the word of the
/// instruction's image, which is [thread][word] (wgmma's A and B: the shared memory), and the shift in it.
struct FragmentPlace {
    unsigned word = 0, shift = 0;
};
FragmentPlace fragment_place(const MatrixInstruction& instruction, FragmentOperand operand, unsigned product,
                             unsigned row, unsigned column);

/// `values`: raw bits, [product][rows][columns], for any number of instructions; returns their images one
/// after the other. B is given as [product][n][k].
std::vector<std::uint32_t> pack(const MatrixInstruction& instruction, FragmentOperand operand,
                                std::span<const std::uint64_t> values);
std::vector<std::uint64_t> unpack_sum(const MatrixInstruction& instruction,
                                      std::span<const std::uint32_t> image);

/// mma.sp: for each stored element of a row of A, its k. The metadata of 16 rows as the lanes hold it, for a
/// selector of 0 (PTX manual, "Sparse matrix storage" and the figures "metadata layout").
using SparseRow = std::vector<std::uint8_t>;
std::vector<std::uint32_t> pack_metadata(const MatrixInstruction& instruction,
                                         std::span<const SparseRow> rows);

}  // namespace heddle::capture
