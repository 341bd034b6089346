// Values inside a matrix unit: pushed weight tiles, present weights, result buffer.
//
// Arithmetic as in isa/numerics/systolic.h: a column adds its products from zero with k ascending, and the
// sum is then added to the result buffer (an overwritten row counts as zero).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "isa/tpu/instruction.h"
#include "isa/tpu/program.h"

namespace heddle::tpu {

/// The values of one matrix unit; addresses in VMEM were checked by validate().
class MatrixState {
  public:
    explicit MatrixState(const Limits& limits);
    /// Discards all weights and fills the result buffer with zeros.
    void reset();
    /// Tiles that were pushed and that no matmul has taken yet.
    std::size_t pushed_tiles() const { return pushed_.size(); }

    /// Copies a tile out of `vmem`, rounded or split as the instruction says.
    void push(const PushWeights& push, const LoopCounters& counters, std::span<const std::byte> vmem);
    /// Throws heddle::Error when the weights do not fit the activations (none pushed, other depth, other
    /// type).
    void matmul(const Matmul& matmul, const LoopCounters& counters, std::span<const std::byte> vmem);
    /// Throws heddle::Error when integer results are asked for as floating ones or the other way round.
    void pop(const Pop& pop, const LoopCounters& counters, std::span<std::byte> vmem) const;

  private:
    struct WeightTile {
        std::uint32_t rows = 0, columns = 0;
        bool integer = false;
        std::size_t stride = 0;              ///< of `values`, columns padded with zeros
        std::vector<float> values;           ///< bf16 numbers, [rows][stride]
        std::vector<std::int32_t> integers;  ///< int8 or int16 numbers
    };

    void multiply(const Matmul& matmul, const std::byte* activations);
    void multiply_integers(const Matmul& matmul, const std::byte* activations);
    void add(std::uint32_t row, bool accumulate, std::span<const float> sums);

    unsigned columns_;
    std::deque<WeightTile> pushed_;
    WeightTile present_;
    std::vector<std::uint32_t> results_;  ///< [row][column]: fp32 or int32 bits
    std::vector<std::uint8_t> integer_row_;
};

}  // namespace heddle::tpu
