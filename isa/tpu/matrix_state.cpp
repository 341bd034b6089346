#include "isa/tpu/matrix_state.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "isa/common/error.h"
#include "isa/numerics/systolic.h"
#include "isa/tpu/column_sums.h"

namespace heddle::tpu {
namespace {

/// An operand as the array multiplies it: a bf16 number, subnormals flushed.
float multiplicand(const std::byte* from, ElementType type, Bf16Part part) {
    std::uint16_t half = 0;
    if (type == ElementType::bf16) {
        std::memcpy(&half, from, 2);
    } else if (type == ElementType::fp8_e4m3 || type == ElementType::fp8_e5m2) {
        const auto format = type == ElementType::fp8_e4m3 ? numerics::Format::e4m3 : numerics::Format::e5m2;
        return numerics::to_float(format, static_cast<std::uint8_t>(*from));
    } else {
        float value;
        std::memcpy(&value, from, 4);
        if (part == Bf16Part::high) {
            half = numerics::fp32_to_bf16_tpu(value);
        } else {
            const numerics::Bf16Parts parts = numerics::split_into_bf16(value);
            half = part == Bf16Part::middle ? parts.middle : parts.low;
        }
    }
    return numerics::flush_subnormal(numerics::bf16_to_fp32(half));
}

std::int32_t integer(const std::byte* from, ElementType type) {
    if (type == ElementType::int8) return static_cast<std::int8_t>(*from);
    std::int16_t number;
    std::memcpy(&number, from, 2);
    return number;
}

bool is_integer(ElementType type) {
    return type == ElementType::int8 || type == ElementType::int16;
}

}  // namespace

MatrixState::MatrixState(const Limits& limits) : columns_(limits.array_columns) {
    results_.resize(std::size_t{limits.accumulator_rows} * columns_);
    integer_row_.resize(limits.accumulator_rows);
}

void MatrixState::reset() {
    pushed_.clear();
    present_ = {};
    std::fill(results_.begin(), results_.end(), 0);
    std::fill(integer_row_.begin(), integer_row_.end(), 0);
}

void MatrixState::push(const PushWeights& push, const LoopCounters& counters,
                       std::span<const std::byte> vmem) {
    WeightTile tile;
    tile.rows = push.rows;
    tile.columns = push.columns;
    tile.integer = is_integer(push.type);
    const std::size_t count = std::size_t{push.rows} * push.columns;
    if (tile.integer) {
        tile.integers.resize(count);
    } else {
        tile.stride = (push.columns + kColumnGroup - 1) / kColumnGroup * kColumnGroup;
        tile.values.resize(push.rows * tile.stride);
    }
    const std::byte* const base = vmem.data() + push.vmem.at(counters);
    const unsigned size = bytes_of(push.type);
    for (std::uint32_t row = 0; row < push.rows; ++row) {
        for (std::uint32_t column = 0; column < push.columns; ++column) {
            const std::byte* const from = push.transposed
                                              ? base + column * push.stride + std::uint64_t{row} * size
                                              : base + row * push.stride + std::uint64_t{column} * size;
            if (tile.integer) {
                tile.integers[std::size_t{row} * push.columns + column] = integer(from, push.type);
            } else {
                tile.values[row * tile.stride + column] = multiplicand(from, push.type, push.part);
            }
        }
    }
    pushed_.push_back(std::move(tile));
}

void MatrixState::matmul(const Matmul& matmul, const LoopCounters& counters,
                         std::span<const std::byte> vmem) {
    if (matmul.next_weights) {
        if (pushed_.empty()) throw Error("matmul takes the next weights but none were pushed");
        present_ = std::move(pushed_.front());
        pushed_.pop_front();
    }
    if (present_.rows == 0) throw Error("matmul without weights", {}, "push a weight tile first");
    const bool integer = is_integer(matmul.type);
    if (integer != present_.integer)
        throw Error("matmul multiplies integers with bf16", {}, "push weights of the same kind");
    if (matmul.depth != present_.rows || matmul.columns != present_.columns) {
        throw Error("matmul is for weights of " + std::to_string(matmul.depth) + " x " +
                    std::to_string(matmul.columns) + ", the present ones are " +
                    std::to_string(present_.rows) + " x " + std::to_string(present_.columns));
    }
    for (std::uint32_t row = 0; row < matmul.rows; ++row) {
        std::uint8_t& integer_row = integer_row_[matmul.accumulator + row];
        if (matmul.accumulate && integer_row != static_cast<std::uint8_t>(integer)) {
            throw Error("matmul accumulates integer products onto fp32 results or the other way round");
        }
        integer_row = integer;
    }
    const std::byte* const activations = vmem.data() + matmul.vmem.at(counters);
    integer ? multiply_integers(matmul, activations) : multiply(matmul, activations);
}

void MatrixState::multiply(const Matmul& matmul, const std::byte* activations) {
    const unsigned size = bytes_of(matmul.type);
    std::vector<float> numbers(kRowGroup * matmul.depth), sums(kRowGroup * present_.stride);
    for (std::uint32_t first = 0; first < matmul.rows; first += kRowGroup) {
        const std::uint32_t rows = std::min<std::uint32_t>(kRowGroup, matmul.rows - first);
        for (std::uint32_t row = 0; row < rows; ++row) {
            const std::byte* const from = activations + (first + row) * matmul.stride;
            for (std::uint32_t k = 0; k < matmul.depth; ++k) {
                numbers[row * matmul.depth + k] =
                    multiplicand(from + std::uint64_t{k} * size, matmul.type, matmul.part);
            }
        }
        column_sums(numbers.data(), present_.values.data(), matmul.depth, present_.stride, sums.data());
        for (std::uint32_t row = 0; row < rows; ++row) {
            add(matmul.accumulator + first + row, matmul.accumulate,
                std::span(sums).subspan(row * present_.stride, present_.columns));
        }
    }
}

/// An overwritten row counts as zero.
void MatrixState::add(std::uint32_t row, bool accumulate, std::span<const float> sums) {
    std::uint32_t* const to = &results_[std::size_t{row} * columns_];
    if (!accumulate) std::fill_n(to, columns_, 0u);
    for (std::size_t n = 0; n < sums.size(); ++n) {
        to[n] =
            std::bit_cast<std::uint32_t>(numerics::flush_subnormal(std::bit_cast<float>(to[n]) + sums[n]));
    }
}

void MatrixState::multiply_integers(const Matmul& matmul, const std::byte* activations) {
    const unsigned size = bytes_of(matmul.type);
    for (std::uint32_t row = 0; row < matmul.rows; ++row) {
        const std::byte* const from = activations + row * matmul.stride;
        std::uint32_t* const to = &results_[(std::size_t{matmul.accumulator} + row) * columns_];
        if (!matmul.accumulate) std::fill_n(to, columns_, 0u);
        for (std::uint32_t k = 0; k < matmul.depth; ++k) {
            const std::int32_t activation = integer(from + std::size_t{k} * size, matmul.type);
            const std::int32_t* const weights = &present_.integers[std::size_t{k} * present_.columns];
            for (std::uint32_t n = 0; n < present_.columns; ++n) {
                // 16 x 16 bits: modulo 2^32, as the accumulators add.
                to[n] += static_cast<std::uint32_t>(activation) * static_cast<std::uint32_t>(weights[n]);
            }
        }
    }
}

void MatrixState::pop(const Pop& pop, const LoopCounters& counters, std::span<std::byte> vmem) const {
    const unsigned size = bytes_of(pop.type);
    for (std::uint32_t row = 0; row < pop.rows; ++row) {
        if ((pop.type == ElementType::int32) != (integer_row_[pop.accumulator + row] != 0)) {
            throw Error(std::string("pop takes results as ") + name_of(pop.type) +
                            " but the matmul computed the other kind of number",
                        {}, "int8 products leave as int32, bf16 products as fp32 or bf16");
        }
        const std::uint32_t* const from = &results_[(std::size_t{pop.accumulator} + row) * columns_];
        std::byte* const to = vmem.data() + pop.vmem.at(counters) + row * pop.stride;
        if (size == 4) {
            std::memcpy(to, from, std::size_t{pop.columns} * 4);
            continue;
        }
        for (std::uint32_t n = 0; n < pop.columns; ++n) {
            const std::uint16_t half = numerics::fp32_to_bf16_tpu(std::bit_cast<float>(from[n]));
            std::memcpy(to + std::size_t{n} * 2, &half, 2);
        }
    }
}

}  // namespace heddle::tpu
