// wmma.load and wmma.store: whole matrices between memory and fragments.
//
// A matrix lies in memory as lines, rows or columns, `stride` elements apart (PTX manual, "Matrix Storage for
// WMMA"). The access that is reported has a piece of a line to each lane: 16 bytes, or 32 where 16 would need
// more than 32 lanes, or a whole shorter line. Hardware has its own, unspecified, division; the bytes are the
// same.
#include "isa/ptx/handlers/fragments.h"
#include "isa/ptx/handlers/memory_access.h"
#include "isa/ptx/matrix_instruction.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

constexpr unsigned kLargestTile = 1024;  // bytes

struct Tile {
    unsigned lines;
    unsigned line_bytes;
    unsigned element_bits;
    std::uint32_t address, stride;  ///< operands; the stride may be kAbsent
    bool write;

    unsigned piece_bytes() const {
        return std::min(line_bytes, lines * line_bytes > 16 * kWarpSize ? 32u : 16u);
    }
    unsigned pieces_per_line() const { return line_bytes / piece_bytes(); }
    unsigned pieces() const { return lines * pieces_per_line(); }
};

// All lanes name the same address and stride (else the behaviour is undefined): those of lane 0.
void place_pieces(State& warp, const Tile& tile, MemoryAccess& access) {
    if (access.space == StateSpace::generic) access.space = resolve_generic(warp, access.lanes, access);
    if (access.space != StateSpace::global && access.space != StateSpace::shared)
        fail_access(warp, access.lanes, access);
    const std::uint64_t start = access.address[0];
    const std::uint64_t stride =
        tile.stride == kAbsent
            ? tile.line_bytes
            : std::uint64_t{words<std::uint32_t>(warp, tile.stride)[0]} * tile.element_bits / 8;
    for (unsigned n = 0; n < kWarpSize; ++n) {
        access.address[n] = start + n / tile.pieces_per_line() * stride +
                            std::uint64_t{n % tile.pieces_per_line()} * tile.piece_bytes();
    }
}

/// Moves between memory and `lines`, the tile's lines one after another. Without kEvaluate only checks.
template <bool kEvaluate>
void access_tile(State& warp, const Decoded& i, const Tile& tile, std::byte* lines) {
    const unsigned pieces = tile.pieces();
    const std::uint32_t lanes = pieces == kWarpSize ? kAllLanes : (1u << pieces) - 1;
    const unsigned step = std::min(tile.piece_bytes(), 16u);
    MemoryAccess& access =
        begin_access(warp, lanes, static_cast<StateSpace>(i.immediate & 0xFu), step, tile.write);
    compute_addresses(warp, tile.address, i.wide_address, i.offset, access.address);
    access.address.fill(access.address[0]);
    place_pieces(warp, tile, access);
    const std::array<std::uint64_t, kWarpSize> starts = access.address;
    for (unsigned first = 0; first < tile.piece_bytes(); first += step) {
        for (unsigned n = 0; n < kWarpSize; ++n) access.address[n] = starts[n] + first;
        if constexpr (!kEvaluate) {
            std::array<std::uint64_t, kWarpSize> scratch;
            locate<StateSpace::none, false>(warp, i, lanes, access, scratch);
        } else {
            with_memory<StateSpace::none>(
                warp, i, lanes, access, [&](const Located& memory, std::uint32_t some) {
                    for (; some != 0; some &= some - 1) {
                        const auto n = static_cast<unsigned>(std::countr_zero(some));
                        std::byte* line = lines + n * tile.piece_bytes() + first;
                        if (tile.write)
                            std::memcpy(memory.at(n), line, step);
                        else
                            std::memcpy(line, memory.at(n), step);
                    }
                });
        }
    }
    access.address = starts;
    access.bytes_per_lane = static_cast<std::uint8_t>(tile.piece_bytes());
}

// Fragment: PackedMatrix or PairedMatrix. kAcross: lines run across its vectors, else along them.
template <class Fragment, bool kAcross, unsigned kElementBits>
constexpr Tile tile_of(std::uint32_t address, std::uint32_t stride, bool write) {
    constexpr unsigned kSize = sizeof(typename Fragment::Element);
    constexpr unsigned kLines = kAcross ? Fragment::kDepthCount : Fragment::kVectorCount;
    constexpr unsigned kLineBytes = kSize * (kAcross ? Fragment::kVectorCount : Fragment::kDepthCount);
    static_assert(kLines * kLineBytes <= kLargestTile);
    return {kLines, kLineBytes, kElementBits, address, stride, write};
}

template <class Fragment, bool kAcross, unsigned kElementBits, bool kEvaluate>
void load_tile(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    using Element = typename Fragment::Element;
    std::byte lines[sizeof(Fragment)];
    access_tile<kEvaluate>(
        warp, i, tile_of<Fragment, kAcross, kElementBits>(i.operand[1], i.operand[2], false), lines);
    if constexpr (kEvaluate) {
        Fragment fragment;
        for (unsigned v = 0; v < Fragment::kVectorCount; ++v) {
            for (unsigned d = 0; d < Fragment::kDepthCount; ++d) {
                const unsigned at = kAcross ? d * Fragment::kVectorCount + v : v * Fragment::kDepthCount + d;
                std::memcpy(&fragment.element[v][d], lines + at * sizeof(Element), sizeof(Element));
            }
        }
        fragment.write(warp, i.operand[0], i.elements);
    }
}

template <class Fragment, bool kAcross, unsigned kElementBits, bool kEvaluate>
void store_tile(State& warp, const Decoded& i, std::uint32_t mask) {
    require_whole_warp(warp, mask);
    using Element = typename Fragment::Element;
    std::byte lines[sizeof(Fragment)];
    if constexpr (kEvaluate) {
        Fragment fragment;
        fragment.read(warp, i.operand[1]);
        for (unsigned v = 0; v < Fragment::kVectorCount; ++v) {
            for (unsigned d = 0; d < Fragment::kDepthCount; ++d) {
                const unsigned at = kAcross ? d * Fragment::kVectorCount + v : v * Fragment::kDepthCount + d;
                std::memcpy(lines + at * sizeof(Element), &fragment.element[v][d], sizeof(Element));
            }
        }
    }
    access_tile<kEvaluate>(warp, i,
                           tile_of<Fragment, kAcross, kElementBits>(i.operand[0], i.operand[2], true), lines);
}

struct Choice {
    bool store, across, evaluate;
};

template <class Fragment, unsigned kElementBits, bool kAcross>
Handler choose_direction(const Choice& choice) {
    if (choice.store) {
        return choice.evaluate ? store_tile<Fragment, kAcross, kElementBits, true>
                               : store_tile<Fragment, kAcross, kElementBits, false>;
    }
    return choice.evaluate ? load_tile<Fragment, kAcross, kElementBits, true>
                           : load_tile<Fragment, kAcross, kElementBits, false>;
}
template <class Fragment, unsigned kElementBits = 8 * sizeof(typename Fragment::Element)>
Handler choose(const Choice& choice) {
    return choice.across ? choose_direction<Fragment, kElementBits, true>(choice)
                         : choose_direction<Fragment, kElementBits, false>(choice);
}

// A or B: vectors are rows of A or columns of B.
template <class T, unsigned kDepth>
Handler choose_multiplicand(unsigned vectors, const Choice& choice) {
    switch (vectors) {
        case 8:
            return choose<PackedMatrix<T, 8, kDepth>>(choice);
        case 16:
            return choose<PackedMatrix<T, 16, kDepth>>(choice);
        default:
            return choose<PackedMatrix<T, 32, kDepth>>(choice);
    }
}

Handler choose_multiplicand(Type type, unsigned vectors, const Choice& choice) {
    switch (type) {
        case Type::f16:
        case Type::bf16:
            return choose_multiplicand<std::uint16_t, 16>(vectors, choice);
        case Type::u8:
        case Type::s8:
            return choose_multiplicand<std::uint8_t, 16>(vectors, choice);
        case Type::tf32:
            return choose<PackedMatrix<std::uint32_t, 16, 8>>(choice);
        case Type::f64:
            return choose<PackedMatrix<std::uint64_t, 8, 4>>(choice);
        case Type::u4:
        case Type::s4:
            return choose<PackedMatrix<std::uint32_t, 8, 4>, 4>(choice);
        case Type::b1:
            return choose<PackedMatrix<std::uint32_t, 8, 4>, 1>(choice);
        default:
            return nullptr;
    }
}

template <class T>
Handler choose_sums(MatrixShape shape, const Choice& choice) {
    if (shape.rows == 16) return choose<Accumulators<T, 16, 16>>(choice);
    return shape.rows == 8 ? choose<Accumulators<T, 8, 32>>(choice) : choose<Accumulators<T, 32, 8>>(choice);
}

Handler choose_sums(Type type, MatrixShape shape, const Choice& choice) {
    if (type == Type::f64) return choose<PairedMatrix<std::uint64_t, 8, 8>>(choice);
    if (shape.rows == 8 && shape.columns == 8) return choose<PairedMatrix<std::uint32_t, 8, 8>>(choice);
    return type == Type::f16 ? choose_sums<std::uint16_t>(shape, choice)
                             : choose_sums<std::uint32_t>(shape, choice);
}

}  // namespace

Handler select_tile_access(const Instruction& n, bool evaluate) {
    const MatrixShape shape = n.shape;
    const bool column_major = n.has(Modifier::col);
    Choice choice{is_fragment_store(n), column_major, evaluate};
    if (n.has(Modifier::c) || n.has(Modifier::d)) return choose_sums(n.type(), shape, choice);
    const bool is_b = n.has(Modifier::b);
    if (is_b) choice.across = !column_major;
    return choose_multiplicand(n.type(), is_b ? shape.columns : shape.rows, choice);
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
