// Runs one matrix instruction in one warp: matrices into fragments and back, by the formulas that the PTX
// manual prints for each shape ("Matrix Fragments for mma.m16n8k...").
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace heddle::ptx::test {

/// Elements as raw bits; A is [m][k], B is [n][k], C and D are [m][n].
using Matrix = std::vector<std::vector<std::uint64_t>>;
Matrix make_matrix(unsigned rows, unsigned columns, const std::function<std::uint64_t()>& element);

struct Place {
    unsigned row, column;
};
/// Where element `i` of a lane's fragment lies. A: row and k. B: k is the row. C: row and column.
/// `bits` of an element (A and B).
Place a_place(unsigned m, unsigned k, unsigned bits, unsigned lane, unsigned i);
Place b_place(unsigned k, unsigned bits, unsigned lane, unsigned i);
Place c_place(unsigned m, unsigned lane, unsigned i);

/// One warp loads `words` 32-bit registers per lane, executes `lines` on %r0.. and stores %d0.. : `results`
/// of them.
std::vector<std::uint32_t> run_warp(const std::string& lines, unsigned words, unsigned results,
                                    const std::vector<std::uint32_t>& input, unsigned compute_capability);

/// "{%r4, %r5}"
std::string list(const std::string& prefix, unsigned first, unsigned count);

/// Elements of each lane, packed into 32-bit words, lowest first; f64 takes two words.
struct Fragment {
    unsigned elements, bits;
    unsigned words() const { return elements * bits / 32; }
};
using ElementAt = std::function<std::uint64_t(unsigned lane, unsigned i)>;
void pack(const Fragment& fragment, const ElementAt& element, unsigned first_word, unsigned words_per_lane,
          std::vector<std::uint32_t>& input);
std::uint64_t unpack(const Fragment& fragment, const std::vector<std::uint32_t>& output, unsigned lane,
                     unsigned i);

/// A dense or sparse mma. `a_depth` is K, or K / 2 when A is sparse.
struct Product {
    std::string suffix;  ///< what follows "mma.": "sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    unsigned m, n, k;
    unsigned input_bits, sum_bits;
    unsigned a_depth = 0;  ///< 0: k
};
/// D. `metadata`: a word for each lane of a sparse product, and its selector.
Matrix multiply(const Product& product, const Matrix& a, const Matrix& b, const Matrix& c,
                unsigned compute_capability, const std::vector<std::uint32_t>& metadata = {},
                unsigned selector = 0);

}  // namespace heddle::ptx::test
