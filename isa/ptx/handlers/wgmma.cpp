// wgmma.mma_async: each warp of a warpgroup computes its own 16 rows of D when it issues the instruction. A
// correct program cannot tell this from a later completion, as it may touch neither D nor the operands before
// wgmma.wait_group. There the warps of a warpgroup meet (machine/barrier.cpp), so that none goes on to
// overwrite operands that another has yet to read.
//
// Which lane holds which element: PTX manual, "Register Fragments" of wgmma. With group = lane / 4 and
// member = lane % 4, row group of a warp's 16, then row group + 8, are held
//   A  as 4 bytes from byte 4 member of the row's 32, then 4 from byte 16 + 4 member
//   D  as columns 2 member and 2 member + 1 of every 8
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <type_traits>

#include "isa/numerics/dot_product_unit.h"
#include "isa/ptx/handlers/lanes.h"
#include "isa/ptx/handlers/matrix_descriptor.h"
#include "isa/ptx/handlers/warpgroup_multiply.h"
#include "isa/target/generation.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

constexpr unsigned kRows = 16;  // of a warp; four warps make the 64 of the instruction
constexpr unsigned kMaximumColumns = 256;
constexpr unsigned kRowBytes = 32;  // of A, and of B unless A is sparse

// A warp's part of the instruction. Elements are T; a row of A has kDepth of them, of B kDepth or, beside a
// sparse A, twice as many.
template <class T>
struct Operands {
    static constexpr unsigned kDepth = kRowBytes / sizeof(T);
    alignas(64) T a[kRows][kDepth];
    alignas(64) T b[kMaximumColumns * 2 * kDepth];
};

[[noreturn]] void fail_beyond(const State& warp, std::uint32_t address, std::uint64_t descriptor) {
    char text[128];
    std::snprintf(text, sizeof text,
                  "wgmma reads shared memory at 0x%x, the CTA has %u bytes (descriptor 0x%016llx)", address,
                  warp.cta->shared_bytes, static_cast<unsigned long long>(descriptor));
    fail_running(warp, 0, text, "check start address and offsets of the matrix descriptor",
                 Error::Kind::out_of_bounds);
}

// An operand that must be the same in all lanes.
template <class T>
T uniform(const State& warp, const T* row, const char* name) {
    for (unsigned lane = 1; lane < kWarpSize; ++lane) {
        if (row[lane] != row[0])
            fail_running(warp, lane, std::string(name) + " of wgmma differs between lanes");
    }
    return row[0];
}

bool adds_to_d(State& warp, const Decoded& i, std::uint32_t operand) {
    const std::uint32_t scale = predicate(warp, operand) ^ (i.negated ? kAllLanes : 0u);
    if (scale != 0 && scale != kAllLanes)
        fail_running(warp, static_cast<unsigned>(std::countr_one(scale)) % kWarpSize,
                     "scale-d of wgmma differs between lanes");
    return scale != 0;
}

void copy_operand(State& warp, std::uint32_t operand, const OperandTile& tile, void* to) {
    const std::uint64_t bits = uniform(warp, words<std::uint64_t>(warp, operand), "a matrix descriptor");
    const MatrixDescriptor matrix = decode_matrix_descriptor(bits);
    if (tile.majorness == Majorness::k && matrix.swizzle_bytes > 16 &&
        tile.depth * tile.element_bytes > matrix.swizzle_bytes) {
        fail_running(warp, 0, "a 32-byte swizzle is too narrow for 64 bytes of B along k",
                     "use a wider swizzle beside a sparse A");
    }
    const std::uint32_t address = copy_tile(matrix, tile, warp.cta->shared, to);
    if (address != kInsideSharedMemory) fail_beyond(warp, address, bits);
}

template <class T>
void read_a(State& warp, const Decoded& i, const WarpgroupMultiply& details, Operands<T>& operands) {
    if (!details.a_in_registers) {
        const OperandTile tile{details.a_mn_major ? Majorness::mn : Majorness::k, sizeof(T),
                               warp.index % kWarpgroupSize * kRows, kRows, Operands<T>::kDepth};
        copy_operand(warp, i.operand[1], tile, operands.a);
        return;
    }
    auto* bytes = reinterpret_cast<std::byte*>(operands.a);
    for (unsigned r = 0; r < 4; ++r) {
        const std::uint32_t* row = words<std::uint32_t>(warp, warp.elements[i.operand[1] + r]);
        for (unsigned lane = 0; lane < kWarpSize; ++lane) {
            const unsigned to = (lane / 4 + r % 2 * 8) * kRowBytes + lane % 4 * 4 + r / 2 * 16;
            std::memcpy(bytes + to, &row[lane], 4);
        }
    }
}

template <class T>
void read_b(State& warp, const Decoded& i, const WarpgroupMultiply& details, unsigned depth,
            Operands<T>& operands) {
    const OperandTile tile{details.b_mn_major ? Majorness::mn : Majorness::k, sizeof(T), 0, details.columns,
                           depth};
    copy_operand(warp, i.operand[2], tile, operands.b);
}

template <class T>
void negate(Operands<T>& operands) {
    constexpr T kSign = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
    for (auto& row : operands.a)
        for (T& element : row) element = static_cast<T>(element ^ kSign);
}

// D of a warp, row by row. A register holds two halves that are neighbours, or one 32-bit element.
template <class T>
struct Accumulators {
    alignas(64) T d[kRows * kMaximumColumns];

    void read(State& warp, std::uint32_t first, unsigned columns) {
        each_pair(warp, first, columns,
                  [](T* place, const std::uint32_t* even, const std::uint32_t* odd, unsigned stride) {
                      for (unsigned group = 0; group < 8; ++group, place += stride) {
                          for (unsigned member = 0; member < 4; ++member) {
                              std::memcpy(place + 2 * member, even + 4 * group + member, 4);
                              if constexpr (sizeof(T) == 4)
                                  std::memcpy(place + 2 * member + 1, odd + 4 * group + member, 4);
                          }
                      }
                  });
    }
    void write(State& warp, std::uint32_t first, unsigned columns) {
        each_pair(warp, first, columns,
                  [](const T* place, std::uint32_t* even, std::uint32_t* odd, unsigned stride) {
                      for (unsigned group = 0; group < 8; ++group, place += stride) {
                          for (unsigned member = 0; member < 4; ++member) {
                              std::memcpy(even + 4 * group + member, place + 2 * member, 4);
                              if constexpr (sizeof(T) == 4)
                                  std::memcpy(odd + 4 * group + member, place + 2 * member + 1, 4);
                          }
                      }
                  });
    }

  private:
    // The registers of every 8 columns and 8 rows: two, or of halves one.
    template <class Move>
    void each_pair(State& warp, std::uint32_t first, unsigned columns, Move move) {
        constexpr unsigned kRegisters = sizeof(T) == 4 ? 2 : 1;
        for (unsigned column = 0; column < columns; column += 8) {
            for (unsigned half = 0; half < 2; ++half) {
                const std::uint32_t* elements = &warp.elements[first];
                std::uint32_t* even = words<std::uint32_t>(warp, elements[0]);
                std::uint32_t* odd = words<std::uint32_t>(warp, elements[kRegisters - 1]);
                move(d + half * 8 * columns + column, even, odd, columns);
                first += kRegisters;
            }
        }
    }
};

// ---- Sparse A: of every chunk of elements in a row half are kept. ----

// Which k each of the kept elements of a row has. Metadata, 4 bits per chunk: PTX manual, "Matrix fragments
// for warpgroup-level multiply-accumulate operation with sparse matrix A". 16-bit and 32-bit elements: of the
// selected pair of four lanes each holds half of k, of row group in its lower and of row group + 8 in its
// upper half. 8-bit elements: lanes 0 and 1 hold the rows' lower half of k, 2 and 3 the upper one.
template <class T>
struct KeptElements {
    static constexpr unsigned kDepth = Operands<T>::kDepth, kPerChunk = sizeof(T) == 4 ? 1 : 2;
    static constexpr unsigned kChunks = kDepth / kPerChunk;
    std::uint8_t k[kRows][kDepth];

    void read(State& warp, std::uint32_t operand, unsigned selector) {
        const std::uint32_t* metadata = words<std::uint32_t>(warp, operand);
        for (unsigned row = 0; row < kRows; ++row) {
            for (unsigned chunk = 0; chunk < kChunks; ++chunk) {
                const unsigned half = chunk / (kChunks / 2);
                const unsigned within = 4 * (chunk % (kChunks / 2));
                const unsigned lane =
                    row % 8 * 4 + (sizeof(T) == 1 ? half * 2 + row / 8 : selector * 2 + half);
                const unsigned bit = sizeof(T) == 1 ? within : row / 8 * 16 + within;
                place(warp, lane, metadata[lane] >> bit & 15u, row, chunk);
            }
        }
    }

  private:
    void place(const State& warp, unsigned lane, unsigned bits, unsigned row, unsigned chunk) {
        if constexpr (kPerChunk == 1) {
            if (bits != 0b0100 && bits != 0b1110) fail_metadata(warp, lane, bits);
            k[row][chunk] = static_cast<std::uint8_t>(2 * chunk + (bits == 0b1110 ? 1 : 0));
        } else {
            if (bits % 4 == bits / 4) fail_metadata(warp, lane, bits);
            k[row][2 * chunk] = static_cast<std::uint8_t>(4 * chunk + bits % 4);
            k[row][2 * chunk + 1] = static_cast<std::uint8_t>(4 * chunk + bits / 4);
        }
    }
    [[noreturn]] static void fail_metadata(const State& warp, unsigned lane, unsigned bits) {
        fail_running(
            warp, lane, "sparsity metadata with the invalid value " + std::to_string(bits),
            kPerChunk == 1 ? "4 and 14 are valid for .tf32" : "the two indices of a chunk must differ");
    }
};

// The products of a row with the B elements that its metadata selects. Those are what the tensor core
// multiplies, so that kDepth of them make one block of the dot product (inferred, not measured).
template <class T, class Accumulator>
void multiply_sparse(const numerics::DotProductParameters& parameters, const Operands<T>& operands,
                     const KeptElements<T>& kept, unsigned columns, Accumulator* d) {
    constexpr unsigned kDepth = Operands<T>::kDepth;
    alignas(64) T selected[kMaximumColumns * kDepth];
    for (unsigned row = 0; row < kRows; ++row) {
        for (unsigned column = 0; column < columns; ++column) {
            const T* from = operands.b + column * 2 * kDepth;
            for (unsigned k = 0; k < kDepth; ++k) selected[column * kDepth + k] = from[kept.k[row][k]];
        }
        numerics::matrix_multiply_accumulate(parameters, 1, columns, kDepth, operands.a[row], selected,
                                             d + row * columns, d + row * columns);
    }
}

template <class T, class Accumulator, bool kSparse>
void multiply_floats(State& warp, const Decoded& i, std::uint32_t mask) {
    require_warpgroup(warp, mask);
    const auto details = std::bit_cast<WarpgroupMultiply>(i.offset);
    const auto parameters = numerics::parameters_for(
        target::generation_of(warp.cta->launch.compute_capability), details.a_format, details.b_format,
        std::is_same_v<Accumulator, float> ? numerics::Format::fp32 : numerics::Format::fp16,
        numerics::Instruction::wgmma);
    Operands<T> operands;
    Accumulators<Accumulator> accumulators;
    read_a(warp, i, details, operands);
    read_b(warp, i, details, Operands<T>::kDepth * (kSparse ? 2 : 1), operands);
    if (details.negative) negate(operands);
    if (adds_to_d(warp, i, i.operand[kSparse ? 4 : 3]))
        accumulators.read(warp, i.operand[0], details.columns);
    else
        std::memset(accumulators.d, 0, sizeof(Accumulator) * kRows * details.columns);
    if constexpr (kSparse) {
        KeptElements<T> kept;
        kept.read(warp, i.operand[3], details.selector);
        multiply_sparse(parameters, operands, kept, details.columns, accumulators.d);
    } else {
        numerics::matrix_multiply_accumulate(parameters, kRows, details.columns, Operands<T>::kDepth,
                                             &operands.a[0][0], operands.b, accumulators.d, accumulators.d);
    }
    accumulators.write(warp, i.operand[0], details.columns);
}

// ---- Integers: exact. ----

std::int32_t add(std::int32_t d, std::int32_t sum, bool saturates) {
    const std::int64_t exact = std::int64_t{d} + sum;
    if (!saturates) return static_cast<std::int32_t>(exact);
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(exact, INT32_MIN, INT32_MAX));
}

// Sums of at most 64 products of 8-bit integers, which 32 bits hold. d is row-major.
template <unsigned kDepth>
void multiply_16bit(const std::int16_t* a, const std::int16_t* b, unsigned columns, bool saturates,
                    std::int32_t* d) {
    for (unsigned row = 0; row < kRows; ++row, a += kDepth) {
        for (unsigned column = 0; column < columns; ++column, ++d) {
            const std::int16_t* from = b + column * kDepth;
            std::int32_t sum = 0;
            for (unsigned k = 0; k < kDepth; ++k) sum += a[k] * from[k];
            *d = add(*d, sum, saturates);
        }
    }
}

template <class A, class B, bool kSparse>
void multiply_integers(State& warp, const Decoded& i, std::uint32_t mask) {
    require_warpgroup(warp, mask);
    constexpr unsigned kKept = kRowBytes, kDepth = kKept * (kSparse ? 2 : 1);
    const auto details = std::bit_cast<WarpgroupMultiply>(i.offset);
    Operands<std::uint8_t> operands;
    Accumulators<std::int32_t> accumulators;
    read_a(warp, i, details, operands);
    read_b(warp, i, details, kDepth, operands);
    alignas(64) std::int16_t a[kRows * kDepth] = {}, b[kMaximumColumns * kDepth];
    // Numbers of 8 bits with or without a sign, which is kept. NOLINTBEGIN(bugprone-signed-char-misuse)
    for (unsigned n = 0; n < details.columns * kDepth; ++n) b[n] = static_cast<B>(operands.b[n]);
    if constexpr (kSparse) {
        KeptElements<std::uint8_t> kept;
        kept.read(warp, i.operand[3], details.selector);
        for (unsigned row = 0; row < kRows; ++row)
            for (unsigned k = 0; k < kKept; ++k)
                a[row * kDepth + kept.k[row][k]] = static_cast<A>(operands.a[row][k]);
    } else {
        for (unsigned n = 0; n < kRows * kDepth; ++n) a[n] = static_cast<A>((&operands.a[0][0])[n]);
    }
    // NOLINTEND(bugprone-signed-char-misuse)
    if (adds_to_d(warp, i, i.operand[kSparse ? 4 : 3]))
        accumulators.read(warp, i.operand[0], details.columns);
    else
        std::memset(accumulators.d, 0, sizeof(std::int32_t) * kRows * details.columns);
    multiply_16bit<kDepth>(a, b, details.columns, details.saturates, accumulators.d);
    accumulators.write(warp, i.operand[0], details.columns);
}

// .b1 .and.popc: the number of k at which both have a one. Wraps as the sums of integers do.
void multiply_bits(State& warp, const Decoded& i, std::uint32_t mask) {
    require_warpgroup(warp, mask);
    const auto details = std::bit_cast<WarpgroupMultiply>(i.offset);
    Operands<std::uint8_t> operands;
    Accumulators<std::int32_t> accumulators;
    read_a(warp, i, details, operands);
    read_b(warp, i, details, kRowBytes, operands);
    if (adds_to_d(warp, i, i.operand[3]))
        accumulators.read(warp, i.operand[0], details.columns);
    else
        std::memset(accumulators.d, 0, sizeof(std::int32_t) * kRows * details.columns);
    for (unsigned row = 0; row < kRows; ++row) {
        for (unsigned column = 0; column < details.columns; ++column) {
            std::uint64_t a[kRowBytes / 8], b[kRowBytes / 8];
            std::memcpy(a, operands.a[row], kRowBytes);
            std::memcpy(b, operands.b + column * kRowBytes, kRowBytes);
            int ones = 0;
            for (unsigned n = 0; n < kRowBytes / 8; ++n) ones += std::popcount(a[n] & b[n]);
            std::int32_t& d = accumulators.d[row * details.columns + column];
            d = add(d, ones, false);
        }
    }
    accumulators.write(warp, i.operand[0], details.columns);
}

template <bool kSparse>
Handler choose_floats(const Instruction& n) {
    const bool half = n.type(0) == Type::f16;
    switch (n.type(1)) {
        case Type::f16:
            return half ? multiply_floats<std::uint16_t, std::uint16_t, kSparse>
                        : multiply_floats<std::uint16_t, float, kSparse>;
        case Type::bf16:
            return multiply_floats<std::uint16_t, float, kSparse>;
        case Type::tf32:
            return multiply_floats<std::uint32_t, float, kSparse>;
        case Type::e4m3:
        case Type::e5m2:
            return half ? multiply_floats<std::uint8_t, std::uint16_t, kSparse>
                        : multiply_floats<std::uint8_t, float, kSparse>;
        default:
            return nullptr;
    }
}

template <bool kSparse>
Handler choose_integers(const Instruction& n) {
    const bool a = n.type(1) == Type::s8, b = n.type(2) == Type::s8;
    if (a) {
        return b ? multiply_integers<std::int8_t, std::int8_t, kSparse>
                 : multiply_integers<std::int8_t, std::uint8_t, kSparse>;
    }
    return b ? multiply_integers<std::uint8_t, std::int8_t, kSparse>
             : multiply_integers<std::uint8_t, std::uint8_t, kSparse>;
}

}  // namespace

Handler select_warpgroup(const Instruction& n) {
    const bool sparse = n.has(Modifier::sp);
    if (n.type(1) == Type::b1) return multiply_bits;
    if (n.type(0) == Type::s32) return sparse ? choose_integers<true>(n) : choose_integers<false>(n);
    return sparse ? choose_floats<true>(n) : choose_floats<false>(n);
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
