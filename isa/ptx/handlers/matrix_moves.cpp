// ldmatrix, stmatrix and movmatrix: 8 x 8 matrices of 16-bit elements between shared memory and registers.
// Lane l holds elements 2 (l mod 4) and the next of row l / 4, or of column l / 4 when transposed. Lanes 8 n
// to 8 n + 7 give the addresses of the rows of matrix n, 16 bytes each.
#include "isa/ptx/handlers/fragments.h"
#include "isa/ptx/handlers/memory_access.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

constexpr unsigned kRowBytes = 16;

// Evaluates and checks the addresses of `count` matrices.
template <bool kEvaluate>
Located locate_rows(State& warp, const Decoded& i, std::uint32_t address, unsigned count, bool write,
                    std::array<std::uint64_t, kWarpSize>& scratch) {
    const std::uint32_t lanes = count == 4 ? kAllLanes : (1u << (8 * count)) - 1;
    MemoryAccess& access = begin_access(warp, lanes, StateSpace::shared, kRowBytes, write);
    compute_addresses(warp, address, i.wide_address, i.offset, access.address);
    if ((i.immediate & 0xFu) == static_cast<unsigned>(StateSpace::generic)) {
        if (resolve_generic(warp, lanes, access) != StateSpace::shared) fail_access(warp, lanes, access);
    }
    return locate<StateSpace::shared, kEvaluate>(warp, i, lanes, access, scratch);
}

template <bool kEvaluate, bool kTransposed>
void load_matrices(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    const unsigned count = i.elements;
    std::array<std::uint64_t, kWarpSize> scratch;
    const Located located = locate_rows<kEvaluate>(warp, i, i.operand[1], count, false, scratch);
    if constexpr (kEvaluate) {
        for (unsigned n = 0; n < count; ++n) {
            std::uint32_t* destination = words<std::uint32_t>(warp, warp.elements[i.operand[0] + n]);
            for (unsigned lane = 0; lane < kWarpSize; ++lane) {
                const unsigned group = lane / 4, member = lane % 4;
                if constexpr (kTransposed) {
                    const auto low =
                        read_unaligned<std::uint16_t>(located.at(8 * n + 2 * member) + 2 * group);
                    const auto high =
                        read_unaligned<std::uint16_t>(located.at(8 * n + 2 * member + 1) + 2 * group);
                    destination[lane] = static_cast<std::uint32_t>(high) << 16 | low;
                } else {
                    destination[lane] = read_unaligned<std::uint32_t>(located.at(8 * n + group) + 4 * member);
                }
            }
        }
    }
}

// ldmatrix.m8n16: a row is 16 elements of kBits, one behind another from the first bit of its 16 bytes on. Each fills a byte from its lowest bit
// on; lane l gets elements 4 (l mod 4) and the next three of row l / 4.
template <unsigned kBits>
void load_expanded(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    const unsigned count = i.elements;
    std::array<std::uint64_t, kWarpSize> scratch;
    const Located located = locate_rows<true>(warp, i, i.operand[1], count, false, scratch);
    for (unsigned n = 0; n < count; ++n) {
        std::uint32_t* destination = words<std::uint32_t>(warp, warp.elements[i.operand[0] + n]);
        for (unsigned lane = 0; lane < kWarpSize; ++lane) {
            const unsigned first = 4 * kBits * (lane % 4);  // bit; the four elements begin at a byte
            const auto four = read_unaligned<std::uint32_t>(located.at(8 * n + lane / 4) + first / 8);
            std::uint32_t bytes = 0;
            for (unsigned e = 0; e < 4; ++e) bytes |= (four >> kBits * e & ((1u << kBits) - 1)) << 8 * e;
            destination[lane] = bytes;
        }
    }
}

template <bool kEvaluate, bool kTransposed>
void store_matrices(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    const unsigned count = i.elements;
    std::array<std::uint64_t, kWarpSize> scratch;
    const Located located = locate_rows<kEvaluate>(warp, i, i.operand[0], count, true, scratch);
    if constexpr (kEvaluate) {
        for (unsigned n = 0; n < count; ++n) {
            const std::uint32_t* source = words<std::uint32_t>(warp, warp.elements[i.operand[1] + n]);
            for (unsigned lane = 0; lane < kWarpSize; ++lane) {
                const unsigned group = lane / 4, member = lane % 4;
                const std::uint32_t word = source[lane];
                if constexpr (kTransposed) {
                    const auto low = static_cast<std::uint16_t>(word),
                               high = static_cast<std::uint16_t>(word >> 16);
                    std::memcpy(located.at(8 * n + 2 * member) + 2 * group, &low, 2);
                    std::memcpy(located.at(8 * n + 2 * member + 1) + 2 * group, &high, 2);
                } else {
                    std::memcpy(located.at(8 * n + group) + 4 * member, &word, 4);
                }
            }
        }
    }
}

void transpose_matrix(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    const std::uint32_t* source = words<std::uint32_t>(warp, i.operand[1]);
    std::uint16_t element[8][8];
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
        std::memcpy(&element[lane / 4][2 * (lane % 4)], &source[lane], 4);
    assign<std::uint32_t>(warp, i.operand[0], mask, [&](unsigned lane) {
        const unsigned group = lane / 4, member = lane % 4;
        return static_cast<std::uint32_t>(element[2 * member + 1][group]) << 16 | element[2 * member][group];
    });
}

}  // namespace

Handler select_matrix_move(const Instruction& instruction, bool evaluate) {
    const bool transposed = instruction.has(Modifier::trans);
    switch (instruction.opcode) {
        case Opcode::ldmatrix:
            if (!evaluate) return load_matrices<false, false>;
            if (instruction.has(Modifier::b6x16_p32)) return load_expanded<6>;
            if (instruction.has(Modifier::b4x16_p64)) return load_expanded<4>;
            return transposed ? load_matrices<true, true> : load_matrices<true, false>;
        case Opcode::stmatrix:
            if (!evaluate) return store_matrices<false, false>;
            return transposed ? store_matrices<true, true> : store_matrices<true, false>;
        case Opcode::movmatrix:
            return transpose_matrix;
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
