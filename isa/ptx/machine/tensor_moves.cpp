// tcgen05.ld, st, cp, shift, commit; wait and fence do nothing to values.
//
// Which lane holds which word of ld and st, with l the lane, r the register and the columns counted in words after packing:
//   32x32b     row l                     column r
//   16x64b     row l/4 + 8 (l%2)         column l/2%2 + 2 r
//   16x128b    row l/4 + 8 (r%2)         column l%4 + 4 (r/2)
//   16x256b    row l/4 + 8 (r/2%2)       column r%2 + 2 (l%4) + 8 (r/4)
//   16x32bx2   row l%16                  column r, of lanes 16 to 31 `split` columns further
// Source: PTX manual, "Matrix fragments" of tcgen05.ld and st.
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "isa/ptx/handlers/matrix_descriptor.h"
#include "isa/ptx/machine/copy_targets.h"
#include "isa/ptx/machine/memory_barrier.h"
#include "isa/ptx/machine/tensor_access.h"

namespace heddle::ptx {
namespace {

TensorDetails details_of_move(const DecodedInstruction& i) {
    return std::bit_cast<TensorDetails>(i.offset);
}

struct Word {
    unsigned row, column;
};

Word place_of(TensorShape shape, unsigned lane, unsigned r) {
    switch (shape) {
        case TensorShape::lanes_16x64b:
            return {lane / 4 + 8 * (lane % 2), lane / 2 % 2 + 2 * r};
        case TensorShape::lanes_16x128b:
            return {lane / 4 + 8 * (r % 2), lane % 4 + 4 * (r / 2)};
        case TensorShape::lanes_16x256b:
            return {lane / 4 + 8 * (r / 2 % 2), r % 2 + 2 * (lane % 4) + 8 * (r / 4)};
        case TensorShape::lanes_16x32bx2:
            return {lane % 16, r};
        default:
            return {lane, r};
    }
}

unsigned word_columns(TensorShape shape, unsigned registers) {
    switch (shape) {
        case TensorShape::lanes_16x64b:
        case TensorShape::lanes_16x128b:
        case TensorShape::lanes_16x256b:
            return registers * 2;
        default:
            return registers;
    }
}

struct Window {
    unsigned lane = 0, column = 0;
};

// Of the address of ld and st: a warp reaches the 32 lanes of its place in the warpgroup.
Window window_of_warp(const Warp::State& warp, const TensorOperand& operand, std::uint32_t mask, const TensorDetails& details, const char* what) {
    const std::uint64_t address = uniform_value(warp, operand, mask, "the address of tensor memory");
    const Window window{static_cast<unsigned>(address >> 16 & 0xFFFFu), static_cast<unsigned>(address & 0xFFFFu)};
    const unsigned own = warp.index % kWarpgroupSize * kWarpSize;
    const bool halves = details.shape != TensorShape::lanes_32x32b;
    if (window.lane != own && !(halves && window.lane == own + 16)) {
        fail_running(warp, 0,
                     std::string(what) + " of warp " + std::to_string(warp.index) + " at lane " + std::to_string(window.lane) + " of tensor memory",
                     "the warp reaches lanes " + std::to_string(own) + " to " + std::to_string(own + 31), Error::Kind::out_of_bounds);
    }
    const unsigned columns = word_columns(details.shape, details.registers) * (details.packs ? 2 : 1);
    require_columns(warp, 0, *warp.cta, window.column, columns, details.group, what);
    if (details.split != 0) require_columns(warp, 0, *warp.cta, window.column + details.split, columns, details.group, what);
    return window;
}

// Loads and stores have no .cta_group: they take what the kernel has.
unsigned group_in_use(const Warp::State& warp) {
    const auto& allocations = warp.cta->tensor_permits.allocations;
    return allocations.empty() ? 1 : allocations.front().group;
}

std::uint32_t read_word(TensorMemory& memory, const Window& window, const TensorDetails& details, unsigned lane, unsigned r) {
    const Word word = place_of(details.shape, lane, r);
    const unsigned split = details.shape == TensorShape::lanes_16x32bx2 ? lane / 16 * details.split : 0;
    if (!details.packs) return memory.words(window.column + word.column + split)[window.lane + word.row];
    const std::uint32_t* const low = memory.words(window.column + 2 * word.column + split);
    return (low[window.lane + word.row] & 0xFFFFu) | low[kTensorLanes + window.lane + word.row] << 16;
}

void load(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    require_whole_warp(warp, mask, "tcgen05.ld");
    TensorDetails details = details_of_move(i);
    details.group = static_cast<std::uint8_t>(group_in_use(warp));
    const TensorOperand to = tensor_operand(warp, i, 0);
    const Window window = window_of_warp(warp, tensor_operand(warp, i, 1), mask, details, "tcgen05.ld");
    TensorMemory& memory = *warp.cta->tensor_memory;
    for (unsigned r = 0; r < details.registers; ++r) {
        auto* const row = &narrow_lane(warp, warp.elements[to.row + r], 0);
        if (details.shape == TensorShape::lanes_32x32b && !details.packs) {
            std::memcpy(row, memory.words(window.column + r) + window.lane, kNarrowRow);
            continue;
        }
        for (unsigned lane = 0; lane < kWarpSize; ++lane) row[lane] = read_word(memory, window, details, lane, r);
    }
}

// .red: with the registers, what all of a lane's words are together.
template <class T, bool kMaximum, bool kAbsolute, bool kNan>
void load_reduced(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    require_whole_warp(warp, mask, "tcgen05.ld.red");
    TensorDetails details = details_of_move(i);
    details.group = static_cast<std::uint8_t>(group_in_use(warp));
    const TensorOperand to = tensor_operand(warp, i, 0), result = tensor_operand(warp, i, 1);
    const Window window = window_of_warp(warp, tensor_operand(warp, i, 2), mask, details, "tcgen05.ld.red");
    TensorMemory& memory = *warp.cta->tensor_memory;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        T best{};
        for (unsigned r = 0; r < details.registers; ++r) {
            const std::uint32_t bits = read_word(memory, window, details, lane, r);
            narrow_lane(warp, warp.elements[to.row + r], lane) = bits;
            T value = std::bit_cast<T>(bits);
            if constexpr (kAbsolute) value = std::fabs(value);
            if constexpr (std::is_same_v<T, float>) {
                if (r == 0) {
                    best = value;
                } else if (std::isnan(best) || std::isnan(value)) {
                    best = kNan ? std::numeric_limits<float>::quiet_NaN() : std::isnan(best) ? value : best;
                } else if (value == 0 && best == 0) {  // -0 is less than +0
                    best = std::signbit(value) == kMaximum ? best : value;
                } else {
                    best = (kMaximum ? value > best : value < best) ? value : best;
                }
            } else {
                best = r == 0 || (kMaximum ? value > best : value < best) ? value : best;
            }
        }
        std::uint32_t bits = std::bit_cast<std::uint32_t>(best);
        if constexpr (std::is_same_v<T, float>) bits = std::isnan(best) ? 0x7FFFFFFFu : bits;
        narrow_lane(warp, result.row, lane) = bits;
    }
}

void store(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    require_whole_warp(warp, mask, "tcgen05.st");
    TensorDetails details = details_of_move(i);
    details.group = static_cast<std::uint8_t>(group_in_use(warp));
    const Window window = window_of_warp(warp, tensor_operand(warp, i, 0), mask, details, "tcgen05.st");
    const TensorOperand from = tensor_operand(warp, i, 1);
    TensorMemory& memory = *warp.cta->tensor_memory;
    for (unsigned r = 0; r < details.registers; ++r) {
        const auto* const row = &narrow_lane(warp, warp.elements[from.row + r], 0);
        if (details.shape == TensorShape::lanes_32x32b && !details.packs) {
            std::memcpy(memory.words(window.column + r) + window.lane, row, kNarrowRow);
            continue;
        }
        for (unsigned lane = 0; lane < kWarpSize; ++lane) {
            const Word word = place_of(details.shape, lane, r);
            const unsigned split = details.shape == TensorShape::lanes_16x32bx2 ? lane / 16 * details.split : 0;
            if (!details.packs) {
                memory.words(window.column + word.column + split)[window.lane + word.row] = row[lane];
                continue;
            }
            std::uint32_t* const low = memory.words(window.column + 2 * word.column + split);
            low[window.lane + word.row] = row[lane] & 0xFFFFu;
            low[kTensorLanes + window.lane + word.row] = row[lane] >> 16;
        }
    }
    ++warp.cta->changes;
}

// ---- cp: shared memory to tensor memory ----

// Rows of the source, columns of 32 bits that a row fills, and the lanes that row 0 goes to: others follow it.
struct CopyShape {
    unsigned rows, chunks;
    unsigned copies, stride;  // of the whole block: to lanes `stride` further
    unsigned split_rows;      // rows of a part that lies `split_stride` lanes further than the part before it
    unsigned split_stride;
};

CopyShape copy_shape(TensorShape shape) {
    switch (shape) {
        case TensorShape::copy_128x256b:
            return {128, 2, 1, 0, 128, 0};
        case TensorShape::copy_4x256b:
            return {4, 2, 1, 0, 1, 32};
        case TensorShape::copy_64x128b_02_13:  // warps 0 and 2 get the first half
            return {64, 1, 2, 64, 64, 0};
        case TensorShape::copy_64x128b_01_23:  // warps 0 and 1
            return {64, 1, 2, 32, 32, 64};
        case TensorShape::copy_32x128b:
            return {32, 1, 4, 32, 32, 0};
        default:
            return {128, 1, 1, 0, 128, 0};
    }
}

// 16 elements of 6 or 4 bits, packed from the chunk's first bit on, as a byte each. Elements of 4 bits lie in bits 2 to 5, where
// products of kind f8f6f4 expect them (inferred from the layout that mma.sync has).
void expand(const std::byte* chunk, unsigned bits, unsigned char* to) {
    for (unsigned e = 0; e < 16; ++e) {
        unsigned value = 0;
        for (unsigned b = 0; b < bits; ++b) {
            const unsigned at = e * bits + b;
            value |= (std::to_integer<unsigned>(chunk[at / 8]) >> at % 8 & 1u) << b;
        }
        to[e] = static_cast<unsigned char>(bits == 4 ? value << 2 : value);
    }
}

void copy_values(const Warp::State& warp, unsigned lane, Cta::Implementation& cta, const TensorDetails& details, std::uint64_t descriptor,
                 unsigned first_lane, unsigned column) {
    const CopyShape shape = copy_shape(details.shape);
    const MatrixDescriptor matrix = decode_tensor_descriptor(descriptor);
    for (unsigned row = 0; row < shape.rows; ++row) {
        const unsigned own = first_lane + (shape.split_rows < shape.rows ? row / shape.split_rows * shape.split_stride + row % shape.split_rows : row);
        for (unsigned chunk = 0; chunk < shape.chunks; ++chunk) {
            const std::uint32_t from = element_address(matrix, Majorness::k, 1, row, chunk * 16);
            if (from + 16 > cta.shared.size()) {
                fail_running(warp, lane, "tcgen05.cp reads shared memory at " + std::to_string(from) + ", the CTA has " + std::to_string(cta.shared_bytes) + " bytes",
                             "check start address and offsets of the matrix descriptor", Error::Kind::out_of_bounds);
            }
            std::array<unsigned char, 16> bytes;
            if (details.decompresses_6 || details.decompresses_4)
                expand(cta.shared.data() + from, details.decompresses_6 ? 6 : 4, bytes.data());
            else
                std::memcpy(bytes.data(), cta.shared.data() + from, 16);
            for (unsigned copy = 0; copy < shape.copies; ++copy) {
                const unsigned to = own + copy * shape.stride;
                if (to >= kTensorLanes) {
                    fail_running(warp, lane, "tcgen05.cp reaches lane " + std::to_string(to) + " of tensor memory, which has 128",
                                 "check bits 16 and up of the address", Error::Kind::out_of_bounds);
                }
                for (unsigned word = 0; word < 4; ++word)
                    std::memcpy(cta.tensor_memory->words(column + chunk * 4 + word) + to, bytes.data() + 4 * word, 4);
            }
        }
    }
    ++cta.changes;
}

AsyncOperation begin_work(const Warp::State& warp, AsyncOperation::Kind kind, std::uint32_t bytes) {
    AsyncOperation operation;
    operation.kind = kind;
    operation.warp = warp.index;
    operation.bytes = bytes;
    return operation;
}

template <bool kEvaluate>
void copy(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const TensorDetails details = details_of_move(i);
    const CopyShape shape = copy_shape(details.shape);
    for_each_lane(mask, [&](unsigned lane) {
        for (unsigned index = 0; index < details.group; ++index) {
            Cta::Implementation& cta = cta_of_group(warp, lane, details.group, index);
            if constexpr (kEvaluate) {
                const auto address = static_cast<std::uint32_t>(tensor_value(warp, tensor_operand(warp, i, 0), lane));
                require_columns(warp, lane, cta, address & 0xFFFFu, shape.chunks * 4, details.group, "tcgen05.cp");
                copy_values(warp, lane, cta, details, tensor_value(warp, tensor_operand(warp, i, 1), lane), address >> 16, address & 0xFFFFu);
            }
        }
        warp.cta->started.push_back(begin_work(warp, AsyncOperation::Kind::tensor_copy, shape.rows * shape.chunks * 16));
    });
}

// Rows move to the row before them, 32 bytes of each: in every 32 lanes from the address on, all rows but the last are written. Which way
// is "down", and that one instruction does this for all four parts, is inferred: the manual says neither in words.
template <bool kEvaluate>
void shift(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const TensorDetails details = details_of_move(i);
    for_each_lane(mask, [&](unsigned lane) {
        for (unsigned index = 0; index < details.group; ++index) {
            Cta::Implementation& cta = cta_of_group(warp, lane, details.group, index);
            if constexpr (kEvaluate) {
                const auto address = static_cast<std::uint32_t>(tensor_value(warp, tensor_operand(warp, i, 0), lane));
                const unsigned first = address >> 16, column = address & 0xFFFFu;
                if (first % 32 != 0 || first >= kTensorLanes)
                    fail_running(warp, lane, "tcgen05.shift at lane " + std::to_string(first) + " of tensor memory", "the lane must be a multiple of 32", Error::Kind::misaligned);
                require_columns(warp, lane, cta, column, 8, details.group, "tcgen05.shift");
                for (unsigned c = column; c < column + 8; ++c) {
                    std::uint32_t* const words = cta.tensor_memory->words(c);
                    for (unsigned part = first; part < kTensorLanes; part += 32) std::memmove(words + part, words + part + 1, 31 * sizeof(std::uint32_t));
                }
                ++cta.changes;
            }
        }
        warp.cta->started.push_back(begin_work(warp, AsyncOperation::Kind::tensor_copy, kTensorLanes * 32));
    });
}

// ---- commit ----

void add_arrival(const Warp::State& warp, unsigned lane, Cta::Implementation& cta, std::uint64_t offset, AsyncOperation& operation) {
    if (!find_memory_barrier(cta, offset)) {
        fail_running(warp, lane, "there is no mbarrier at shared address " + std::to_string(offset) + " for tcgen05.commit",
                     "initialise it with mbarrier.init, and let all threads know before they use it");
    }
    operation.signals.push_back({static_cast<std::uint16_t>(cta.cluster_rank), static_cast<std::uint32_t>(offset), 1, 0});
}

void commit(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const TensorDetails details = details_of_move(i);
    for_each_lane(mask, [&](unsigned lane) {
        AsyncOperation operation = begin_work(warp, AsyncOperation::Kind::tensor_commit, 0);
        const std::uint64_t address = tensor_value(warp, tensor_operand(warp, i, 0), lane);
        const StateSpace space = address >= kSharedWindow ? StateSpace::generic : StateSpace::shared_cluster;
        const SharedPlace place = find_shared(warp, lane, space, address, 8, 8, "the mbarrier");
        if (!details.multicast) {
            add_arrival(warp, lane, *place.cta, place.offset, operation);
        } else {
            const ClusterState& cluster = warp.cta->own_cluster();
            const auto ranks = static_cast<std::uint32_t>(tensor_value(warp, tensor_operand(warp, i, 1), lane)) & 0xFFFFu;
            if (ranks == 0 || ranks >> cluster.size != 0)
                fail_running(warp, lane, "tcgen05.commit to the CTAs of mask " + std::to_string(ranks) + " of a cluster of " + std::to_string(cluster.size),
                             "set a bit for each CTA of the cluster that is to be told, and no other");
            for (unsigned rank = 0; rank < cluster.size; ++rank) {
                if ((ranks >> rank & 1u) == 0) continue;
                Cta::Implementation* const cta = cluster.ctas[rank];
                if (cta == nullptr || cta->unfinished == 0)
                    fail_running(warp, lane, "tcgen05.commit to CTA rank " + std::to_string(rank) + ", which does not run",
                                 "let all CTAs of the cluster wait for one another before they exit");
                add_arrival(warp, lane, *cta, place.offset, operation);
            }
        }
        warp.cta->started.push_back(std::move(operation));
    });
}

template <class T, bool kMaximum>
Handler choose_reduction(const Instruction& n) {
    if constexpr (std::is_same_v<T, float>) {
        const bool nan = n.has(Modifier::nan_propagating);
        if (n.has(Modifier::abs)) return nan ? load_reduced<float, kMaximum, true, true> : load_reduced<float, kMaximum, true, false>;
        return nan ? load_reduced<float, kMaximum, false, true> : load_reduced<float, kMaximum, false, false>;
    }
    return load_reduced<T, kMaximum, false, false>;
}

template <bool kMaximum>
Handler choose_reduction_type(const Instruction& n) {
    switch (n.type()) {
        case Type::f32:
            return choose_reduction<float, kMaximum>(n);
        case Type::s32:
            return choose_reduction<std::int32_t, kMaximum>(n);
        default:
            return choose_reduction<std::uint32_t, kMaximum>(n);
    }
}

}  // namespace

Handler select_tensor_move(const Instruction& n, bool evaluate) {
    if (n.has(Modifier::commit)) return commit;
    if (n.has(Modifier::cp)) return evaluate ? copy<true> : copy<false>;
    if (n.has(Modifier::shift)) return evaluate ? shift<true> : shift<false>;
    if (!evaluate) return nullptr;
    if (n.has(Modifier::ld) && n.has(Modifier::red)) return n.has(Modifier::max) ? choose_reduction_type<true>(n) : choose_reduction_type<false>(n);
    if (n.has(Modifier::ld)) return load;
    return n.has(Modifier::st) ? store : nullptr;
}

}  // namespace heddle::ptx
