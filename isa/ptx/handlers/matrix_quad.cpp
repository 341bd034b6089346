// mma.m8n8k4 in f16: lanes 4 q to 4 q + 3 and 16 + 4 q to 16 + 4 q + 3 together compute a product of their
// own, for q = 0 to 3. Fragments: PTX manual, "Matrix Fragments for mma.m8n8k4 with .f16 floating point
// type". Newer devices than Volta carry it out with other instructions; a block of four products is one block
// there too.
#include "isa/ptx/handlers/matrix_arithmetic.h"
#include "isa/ptx/matrix_instruction.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

using numerics::Format;

constexpr unsigned kQuadPairs = 4, kSize = 8, kDepth = 4;

// Position 0 to 7 of a lane in its quad pair: 4 and up are the lanes from 16 on.
constexpr unsigned lane_of(unsigned pair, unsigned position) {
    return 4 * pair + position % 4 + (position < 4 ? 0 : 16);
}

std::uint16_t half_of(State& warp, std::uint32_t operand, unsigned element, unsigned lane) {
    const std::uint32_t word = words<std::uint32_t>(warp, warp.elements[operand + element / 2])[lane];
    return static_cast<std::uint16_t>(word >> (16 * (element % 2)));
}

// A as rows along k, B as columns along k: the layout is the same in both. `along_k`: a lane holds one
// vector.
void read_vectors(State& warp, std::uint32_t operand, bool along_k, unsigned pair,
                  std::uint16_t (&to)[kSize][kDepth]) {
    for (unsigned position = 0; position < kSize; ++position) {
        const unsigned first = position < 4 ? 0 : 4;
        for (unsigned i = 0; i < 4; ++i) {
            const std::uint16_t half = half_of(warp, operand, i, lane_of(pair, position));
            if (along_k)
                to[position][i] = half;
            else
                to[first + i][position % 4] = half;
        }
    }
}

struct Place {
    unsigned row, column;
};
constexpr Place place_of_single(unsigned position, unsigned i) {
    return {(position & 1u) + (i & 2u) + (position < 4 ? 0 : 4), (i & 4u) + (position & 2u) + (i & 1u)};
}

void read_sums(State& warp, std::uint32_t operand, unsigned pair, float (&to)[kSize][kSize]) {
    for (unsigned position = 0; position < kSize; ++position) {
        for (unsigned i = 0; i < kSize; ++i) {
            const Place p = place_of_single(position, i);
            const std::uint32_t* row = words<std::uint32_t>(warp, warp.elements[operand + i]);
            to[p.row][p.column] = std::bit_cast<float>(row[lane_of(pair, position)]);
        }
    }
}
void read_sums(State& warp, std::uint32_t operand, unsigned pair, std::uint16_t (&to)[kSize][kSize]) {
    for (unsigned position = 0; position < kSize; ++position) {
        for (unsigned i = 0; i < kSize; ++i)
            to[position][i] = half_of(warp, operand, i, lane_of(pair, position));
    }
}

void write_sums(State& warp, std::uint32_t operand, unsigned pair, const float (&from)[kSize][kSize]) {
    for (unsigned position = 0; position < kSize; ++position) {
        for (unsigned i = 0; i < kSize; ++i) {
            const Place p = place_of_single(position, i);
            words<std::uint32_t>(warp, warp.elements[operand + i])[lane_of(pair, position)] =
                std::bit_cast<std::uint32_t>(from[p.row][p.column]);
        }
    }
}
void write_sums(State& warp, std::uint32_t operand, unsigned pair,
                const std::uint16_t (&from)[kSize][kSize]) {
    for (unsigned position = 0; position < kSize; ++position) {
        for (unsigned i = 0; i < kSize; i += 2) {
            words<std::uint32_t>(warp, warp.elements[operand + i / 2])[lane_of(pair, position)] =
                from[position][i] | static_cast<std::uint32_t>(from[position][i + 1]) << 16;
        }
    }
}

template <class C, class D, bool kRowA, bool kRowB>
void multiply_quads(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    const auto parameters = tensor_core<Format::fp16, Format::fp16, D>(warp);
    D sums[kQuadPairs][kSize][kSize];  // all are read before any is written: D may be A, B or C
    for (unsigned pair = 0; pair < kQuadPairs; ++pair) {
        std::uint16_t a[kSize][kDepth], b[kSize][kDepth];
        read_vectors(warp, i.operand[1], kRowA, pair, a);
        read_vectors(warp, i.operand[2], !kRowB, pair, b);
        if constexpr (std::is_same_v<C, D>) {
            read_sums(warp, i.operand[3], pair, sums[pair]);
        } else {
            C c[kSize][kSize];
            read_sums(warp, i.operand[3], pair, c);
            for (unsigned row = 0; row < kSize; ++row) {
                for (unsigned column = 0; column < kSize; ++column)
                    sums[pair][row][column] = numerics::fp16_to_fp32(c[row][column]);
            }
        }
        numerics::matrix_multiply_accumulate(parameters, kSize, kSize, kDepth, &a[0][0], &b[0][0],
                                             &sums[pair][0][0], &sums[pair][0][0]);
    }
    for (unsigned pair = 0; pair < kQuadPairs; ++pair) write_sums(warp, i.operand[0], pair, sums[pair]);
}

template <class C, class D>
Handler choose(MatrixLayouts layouts) {
    if (layouts.a_row) {
        return layouts.b_row ? multiply_quads<C, D, true, true> : multiply_quads<C, D, true, false>;
    }
    return layouts.b_row ? multiply_quads<C, D, false, true> : multiply_quads<C, D, false, false>;
}

}  // namespace

Handler select_quad_multiply(const Instruction& n) {
    const MatrixLayouts layouts = matrix_layouts(n);
    const MatrixTypes types = matrix_types(n);
    if (types.d == Type::f16) return choose<std::uint16_t, std::uint16_t>(layouts);
    return types.c == Type::f16 ? choose<std::uint16_t, float>(layouts) : choose<float, float>(layouts);
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
