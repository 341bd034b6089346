// Matrices held by the registers of a warp. Included by the handler files only, see lanes.h.
//
// One rule covers all fragments of mma (PTX manual, "Matrix Fragments for mma" of each shape; m8n8k4 in f16
// is apart) and of mma.sp (A without its zeros). With group = lane / 4 and member = lane % 4,
//   A, B  a matrix of vectors (rows of A, columns of B) along k. A register holds the elements of one vector
//         that fill it. Registers count blocks of eight vectors first, then blocks of k:
//         register r: vector 8 (r mod blocks) + group, registerful 4 (r / blocks) + member of k.
//   C, D  pairs of elements side by side. Pair p: row 8 (p mod blocks) + group, columns
//         8 (p / blocks) + 2 member and the next. f16 pairs share a register: the rule of A with a register
//         of two.
// The layout of wmma's fragments is unspecified; here it follows the same rule. Registers beyond the last
// element (f16 A and B of wmma have eight always) hold copies of the first ones.
#pragma once

#include <array>
#include <cstring>

#include "isa/ptx/handlers/lanes.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {

/// Ends the run with an error that names the first missing lane when not all 32 lanes take part.
inline void require_whole_warp(const State& warp, std::uint32_t mask) {
    if (mask != kAllLanes) {
        fail_running(warp, static_cast<unsigned>(std::countr_one(mask)),
                     "a matrix instruction needs all 32 lanes of the warp",
                     "do not branch around it lane by lane");
    }
}

/// A, B, and C or D in f16. T is the storage of an element, or a word of several.
template <class T, unsigned kVectors, unsigned kDepth>
struct PackedMatrix {
    using Element = T;                                                        ///< storage of `element`
    using Register = Word<T>;                                                 ///< word of a row
    static constexpr unsigned kVectorCount = kVectors, kDepthCount = kDepth;  ///< rows of `element`, and its
                                                                              ///< columns
    // Register is T itself where an element fills one.
    static constexpr unsigned kPacked = sizeof(Register) / sizeof(T);  // NOLINT(bugprone-sizeof-expression)
    static constexpr unsigned kBlocks = kVectors / 8;
    static constexpr unsigned kRegisters = kVectors * kDepth / (kPacked * kWarpSize);
    T element[kVectors][kDepth];

    /// `operand`: a vector of registers.
    void read(State& warp, std::uint32_t operand) {
        for (unsigned r = 0; r < kRegisters; ++r) {
            const Register* from = words<Register>(warp, warp.elements[operand + r]);
            for (unsigned group = 0; group < 8; ++group)
                std::memcpy(place(r, group), from + 4 * group, 4 * sizeof(Register));
        }
    }
    /// `count`: registers of the operand, a multiple of those that hold the matrix once.
    void write(State& warp, std::uint32_t operand, unsigned count = kRegisters) {
        for (unsigned r = 0; r < count; ++r) {
            Register* to = words<Register>(warp, warp.elements[operand + r]);
            for (unsigned group = 0; group < 8; ++group)
                std::memcpy(to + 4 * group, place(r % kRegisters, group), 4 * sizeof(Register));
        }
    }

  private:
    // What the four lanes of a group hold lies side by side.
    T* place(unsigned r, unsigned group) {
        return &element[8 * (r % kBlocks) + group][4 * (r / kBlocks) * kPacked];
    }
};

/// C or D with a register to each element.
template <class T, unsigned kRows, unsigned kColumns>
struct PairedMatrix {
    using Element = T;                                                       ///< storage of `element`
    using Register = Word<T>;                                                ///< word of a row
    static constexpr unsigned kVectorCount = kRows, kDepthCount = kColumns;  ///< rows of `element`, and its
                                                                             ///< columns
    static constexpr unsigned kBlocks = kRows / 8;                           ///< of eight rows
    static constexpr unsigned kRegisters = kRows * kColumns / kWarpSize;     ///< registers of the operand
    T element[kRows][kColumns];                                              ///< the matrix, row-major

    /// Between `element` and the registers of the warp; `operand` is the index of the first register in
    /// Warp::State::elements. write() ignores the count.
    void read(State& warp, std::uint32_t operand) {
        for (unsigned pair = 0; pair < kRegisters / 2; ++pair) {
            const Register* even = words<Register>(warp, warp.elements[operand + 2 * pair]);
            const Register* odd = words<Register>(warp, warp.elements[operand + 2 * pair + 1]);
            for (unsigned group = 0; group < 8; ++group) {
                Register both[8];
                for (unsigned member = 0; member < 4; ++member) {
                    both[2 * member] = even[4 * group + member];
                    both[2 * member + 1] = odd[4 * group + member];
                }
                std::memcpy(place(pair, group), both, sizeof(both));
            }
        }
    }
    void write(State& warp, std::uint32_t operand, unsigned = kRegisters) {
        for (unsigned pair = 0; pair < kRegisters / 2; ++pair) {
            Register* even = words<Register>(warp, warp.elements[operand + 2 * pair]);
            Register* odd = words<Register>(warp, warp.elements[operand + 2 * pair + 1]);
            for (unsigned group = 0; group < 8; ++group) {
                Register both[8];
                std::memcpy(both, place(pair, group), sizeof(both));
                for (unsigned member = 0; member < 4; ++member) {
                    even[4 * group + member] = both[2 * member];
                    odd[4 * group + member] = both[2 * member + 1];
                }
            }
        }
    }

  private:
    // What the four lanes of a group hold: eight elements side by side.
    T* place(unsigned pair, unsigned group) {
        return &element[8 * (pair % kBlocks) + group][8 * (pair / kBlocks)];
    }
};

/// C or D of a multiplication.
template <class T, unsigned kRows, unsigned kColumns>
using Accumulators =
    std::conditional_t<sizeof(T) == 2, PackedMatrix<T, kRows, kColumns>, PairedMatrix<T, kRows, kColumns>>;

/// Selectors of the matrix families; nullptr when there is no such operation.
Handler select_float_multiply(const Instruction& instruction);
Handler select_quad_multiply(const Instruction& instruction);  ///< m8n8k4 in f16
Handler select_narrow_multiply(const Instruction& instruction);  ///< kind::f8f6f4, and with block scales
Handler select_integer_multiply(const Instruction& instruction);
Handler select_sparse_multiply(const Instruction& instruction);
Handler select_matrix_move(const Instruction& instruction, bool evaluate);  ///< ldmatrix, stmatrix, movmatrix
Handler select_tile_access(const Instruction& instruction, bool evaluate);  ///< wmma.load, wmma.store

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
