// ldmatrix and mma.sync. Which lane holds which element: PTX manual, "Matrix Fragments for mma" of each
// shape. With group = lane / 4 and member = lane % 4, registers hold
//   A  rows group and group + 8 alternately, then the same for the upper half of k
//   B  k of member, column group, then the upper half of k
//   C  row group, columns 2 member and 2 member + 1, then row group + 8
#include "isa/numerics/dot_product_unit.h"
#include "isa/ptx/handlers/memory_access.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

constexpr unsigned kRows = 16, kColumns = 8;

void require_whole_warp(const State& warp, std::uint32_t mask) {
    if (mask != kAllLanes) {
        fail_running(warp, static_cast<unsigned>(std::countr_one(mask)),
                     "a matrix instruction needs all 32 lanes of the warp",
                     "do not branch around it lane by lane");
    }
}

// One 32-bit register holds kPacked elements of T that follow one another in k.
template <class T, unsigned kDepth>
struct Fragments {
    static constexpr unsigned kPacked = 4 / sizeof(T);
    static constexpr unsigned kHalves = kDepth / (4 * kPacked);  // 1 or 2 groups of k per lane
    T a[kRows][kDepth];
    T b[kColumns][kDepth];

    void read(State& warp, const Decoded& i) {
        for (unsigned half = 0; half < kHalves; ++half) {
            const std::uint32_t* upper = words<std::uint32_t>(warp, warp.elements[i.operand[1] + 2 * half]);
            const std::uint32_t* lower =
                words<std::uint32_t>(warp, warp.elements[i.operand[1] + 2 * half + 1]);
            const std::uint32_t* column = words<std::uint32_t>(warp, warp.elements[i.operand[2] + half]);
            for (unsigned lane = 0; lane < kWarpSize; ++lane) {
                const unsigned group = lane / 4, k = (half * 4 + lane % 4) * kPacked;
                std::memcpy(&a[group][k], &upper[lane], 4);
                std::memcpy(&a[group + 8][k], &lower[lane], 4);
                std::memcpy(&b[group][k], &column[lane], 4);
            }
        }
    }
};

template <class T>
struct Accumulators {
    T c[kRows][kColumns];
    static constexpr unsigned kPerRegister = 4 / sizeof(T);

    // Register n of a lane: 32-bit elements, two registers per row; packed halves, one.
    void read(State& warp, std::uint32_t first) {
        for (unsigned n = 0; n < 4 / kPerRegister; ++n) {
            const std::uint32_t* row = words<std::uint32_t>(warp, warp.elements[first + n]);
            for (unsigned lane = 0; lane < kWarpSize; ++lane) std::memcpy(place(n, lane), &row[lane], 4);
        }
    }
    void write(State& warp, std::uint32_t first) {
        for (unsigned n = 0; n < 4 / kPerRegister; ++n) {
            std::uint32_t* row = words<std::uint32_t>(warp, warp.elements[first + n]);
            for (unsigned lane = 0; lane < kWarpSize; ++lane) std::memcpy(&row[lane], place(n, lane), 4);
        }
    }

  private:
    T* place(unsigned n, unsigned lane) {
        const unsigned element = n * kPerRegister;  // of the four that a lane holds
        return &c[lane / 4 + 8 * (element / 2)][2 * (lane % 4) + element % 2];
    }
};

template <class T, class Accumulator, unsigned kDepth, numerics::Format kInput, numerics::Format kOutput>
void multiply(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    Fragments<T, kDepth> fragments;
    Accumulators<Accumulator> accumulators;
    fragments.read(warp, i);
    accumulators.read(warp, i.operand[3]);
    const auto parameters = numerics::parameters_for(
        numerics::generation_of(warp.cta->launch.compute_capability), kInput, kOutput);
    numerics::matrix_multiply_accumulate(parameters, kRows, kColumns, kDepth, &fragments.a[0][0],
                                         &fragments.b[0][0], &accumulators.c[0][0], &accumulators.c[0][0]);
    accumulators.write(warp, i.operand[0]);
}

template <class A, class B, unsigned kDepth, bool kSaturate>
void multiply_integers(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    Fragments<std::uint8_t, kDepth> fragments;
    Accumulators<std::int32_t> accumulators;
    fragments.read(warp, i);
    accumulators.read(warp, i.operand[3]);
    numerics::matrix_multiply_accumulate_int8(kRows, kColumns, kDepth,
                                              reinterpret_cast<const A*>(&fragments.a[0][0]),
                                              reinterpret_cast<const B*>(&fragments.b[0][0]),
                                              &accumulators.c[0][0], &accumulators.c[0][0], kSaturate);
    accumulators.write(warp, i.operand[0]);
}

template <unsigned kDepth, bool kSaturate>
Handler choose_integers(const Instruction& instruction) {
    const bool a = instruction.type(1) == Type::s8, b = instruction.type(2) == Type::s8;
    if (a) {
        return b ? multiply_integers<std::int8_t, std::int8_t, kDepth, kSaturate>
                 : multiply_integers<std::int8_t, std::uint8_t, kDepth, kSaturate>;
    }
    return b ? multiply_integers<std::uint8_t, std::int8_t, kDepth, kSaturate>
             : multiply_integers<std::uint8_t, std::uint8_t, kDepth, kSaturate>;
}

Handler choose_multiply(const Instruction& instruction) {
    using numerics::Format;
    const Type input = instruction.type(1);
    const bool half_sum = instruction.type(0) == Type::f16;
    const bool k16 = instruction.has(Modifier::m16n8k16), saturates = instruction.has(Modifier::satfinite);
    switch (input) {
        case Type::f16:
            if (half_sum) {
                return k16 ? multiply<std::uint16_t, std::uint16_t, 16, Format::fp16, Format::fp16>
                           : multiply<std::uint16_t, std::uint16_t, 8, Format::fp16, Format::fp16>;
            }
            return k16 ? multiply<std::uint16_t, float, 16, Format::fp16, Format::fp32>
                       : multiply<std::uint16_t, float, 8, Format::fp16, Format::fp32>;
        case Type::bf16:
            return k16 ? multiply<std::uint16_t, float, 16, Format::bf16, Format::fp32>
                       : multiply<std::uint16_t, float, 8, Format::bf16, Format::fp32>;
        case Type::tf32:
            return instruction.has(Modifier::m16n8k8)
                       ? multiply<std::uint32_t, float, 8, Format::tf32, Format::fp32>
                       : multiply<std::uint32_t, float, 4, Format::tf32, Format::fp32>;
        case Type::u8:
        case Type::s8:
            if (k16)
                return saturates ? choose_integers<16, true>(instruction)
                                 : choose_integers<16, false>(instruction);
            return saturates ? choose_integers<32, true>(instruction)
                             : choose_integers<32, false>(instruction);
        default:
            return nullptr;
    }
}

// ldmatrix: lanes 8 n to 8 n + 7 give the addresses of the rows of matrix n, 16 bytes each.
template <bool kEvaluate, bool kTransposed>
void load_matrices(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    const unsigned count = i.elements;
    const std::uint32_t lanes = count == 4 ? kAllLanes : (1u << (8 * count)) - 1;
    MemoryAccess& access = begin_access(warp, lanes, StateSpace::shared, 16, false);
    compute_addresses(warp, i.operand[1], i.wide_address, i.offset, access.address);
    if ((i.immediate & 0xFu) == static_cast<unsigned>(StateSpace::generic)) {
        if (resolve_generic(warp, lanes, access) != StateSpace::shared) fail_access(warp, lanes, access);
    }
    std::array<std::uint64_t, kWarpSize> scratch;
    const Located located = locate<StateSpace::shared, kEvaluate>(warp, i, lanes, access, scratch);
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

}  // namespace

Handler select_matrix(const Instruction& instruction, bool evaluate) {
    if (instruction.opcode == Opcode::mma) return choose_multiply(instruction);
    if (!evaluate) return load_matrices<false, false>;
    return instruction.has(Modifier::trans) ? load_matrices<true, true> : load_matrices<true, false>;
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
