// cp.async.bulk.tensor, cp.reduce.async.bulk.tensor, the prefetch of a box.
//
// A box is moved row by row: a row is what follows one another along dimension 0. Rows are dense in shared
// memory, then 16-byte chunks are swizzled by their address there.
#include <algorithm>
#include <array>
#include <cstring>

#include "isa/common/error.h"
#include "isa/ptx/machine/copy_targets.h"
#include "isa/ptx/machine/reduction.h"
#include "isa/ptx/machine/tensor_maps.h"
#include "isa/ptx/tensor_map.h"

namespace heddle::ptx {
namespace {

using Kind = AsyncOperation::Kind;
using Coordinates = std::array<std::int64_t, kMaximumTensorRank>;

constexpr std::uint64_t kSharedAlignment = 128;  // PTX manual, "cp.async.bulk.tensor"
constexpr std::uint64_t kChunk = 16;

// A box of a tensor at coordinates.
struct Box {
    TensorMap map;
    Coordinates start{};
    bool by_number = false;                 // tile::gather4, scatter4: four rows, each by its number
    std::array<std::int64_t, 4> numbers{};  // of these rows
};

Box read_box(Warp::State& warp, const DecodedInstruction& i, unsigned slot, unsigned lane) {
    Box box;
    const std::uint64_t address = lane_address(warp, i.operand[slot], lane);
    box.map = read_tensor_map(warp, lane, address);
    if (details_of(i).elements == 4) {
        if (box.map.rank != 2) fail_running(warp, lane, "tile::gather4 or scatter4 with a tensor map of " + std::to_string(box.map.rank) + " dimensions", "use one of two");
        box.by_number = true;
        box.map.box[1] = 4;
        box.map.element_strides[1] = 1;
        const auto coordinate = [&](unsigned d) { return static_cast<std::int32_t>(narrow_lane(warp, warp.elements[i.operand[slot + 1] + d], lane)); };
        box.start[0] = coordinate(0);
        for (unsigned row = 0; row < 4; ++row) box.numbers[row] = coordinate(row + 1);
        return box;
    }
    if (box.map.rank != i.elements) {
        fail_running(warp, lane,
                     "a copy of " + std::to_string(i.elements) + " dimensions with a tensor map of " +
                         std::to_string(box.map.rank));
    }
    for (unsigned d = 0; d < i.elements; ++d) {
        const std::uint32_t row = warp.elements[i.operand[slot + 1] + d];
        box.start[d] = static_cast<std::int32_t>(narrow_lane(warp, row, lane));
    }
    return box;
}

// A row of the box. Elements from `first` up to `last` lie in the tensor, that of `first` at `address`.
struct Row {
    std::uint64_t position = 0;  // in the box, bytes
    std::uint64_t address = 0;
    std::uint32_t first = 0, last = 0;
};

template <class Body>
void for_each_row(const Box& box, Body body) {
    const TensorMap& map = box.map;
    const std::int64_t width = map.count(0);
    const auto size = static_cast<std::int64_t>(map.sizes[0]);
    const auto first = static_cast<std::uint32_t>(std::clamp<std::int64_t>(-box.start[0], 0, width));
    const auto last = static_cast<std::uint32_t>(std::clamp<std::int64_t>(size - box.start[0], first, width));
    const std::uint64_t element = bytes_of(map.type);
    std::array<std::uint32_t, kMaximumTensorRank> index{};
    for (Row row;; row.position += static_cast<std::uint64_t>(width) * element) {
        bool inside = true;
        row.address = map.address + static_cast<std::uint64_t>(box.start[0] + first) * element;
        for (unsigned d = 1; d < map.rank; ++d) {
            const std::int64_t c = box.by_number ? box.numbers[index[d]] : box.start[d] + std::int64_t{index[d]} * map.element_strides[d];
            inside = inside && c >= 0 && c < static_cast<std::int64_t>(map.sizes[d]);
            row.address += static_cast<std::uint64_t>(c) * map.strides[d - 1];
        }
        row.first = inside ? first : 0;
        row.last = inside ? last : 0;
        body(row);
        unsigned d = 1;
        while (d < map.rank && ++index[d] == map.count(d)) index[d++] = 0;
        if (d >= map.rank) return;
    }
}

// body(bytes of shared memory, bytes of the row before it, how many) for each chunk between two bytes of a
// row.
template <class Body>
void for_each_chunk(const TensorMap& map, const SharedPlace& place, const Row& row, std::uint64_t from,
                    std::uint64_t to, Body body) {
    while (from < to) {
        const std::uint64_t linear = place.offset + row.position + from;
        const std::uint64_t count = std::min(to - from, kChunk - linear % kChunk);
        body(place.cta->shared.data() + swizzled_address(map.swizzle, linear), from, count);
        from += count;
    }
}

void describe_pieces(const Box& box, AsyncOperation& operation) {
    const std::uint64_t element = bytes_of(box.map.type);
    for_each_row(
        box, [&](const Row& row) { add_piece(operation, row.address, (row.last - row.first) * element); });
}

// What elements out of bounds read as. The special NaN has 0x7FF7 in every 16 bits whatever the type: not in
// the manual, measured on devices of compute capability 10.0 and 12.1; taken to be the same on 9.0.
std::uint64_t fill_pattern(const TensorMap& map) {
    return map.fill == TensorMapFill::zero ? 0 : std::uint64_t{0x7FF77FF77FF77FF7u};
}

void fill_box(const Box& box, const SharedPlace& place) {
    const std::array<std::uint64_t, 2> pattern = {fill_pattern(box.map), fill_pattern(box.map)};
    const std::uint64_t width = std::uint64_t{box.map.count(0)} * bytes_of(box.map.type);
    for_each_row(box, [&](const Row& row) {
        for_each_chunk(box.map, place, row, 0, width, [&](std::byte* to, std::uint64_t, std::uint64_t count) {
            std::memcpy(to, pattern.data(), count);
        });
    });
}

// Single precision becomes tf32 on its way to shared memory: rounded to nearest even, NaN to the canonical
// one. The manual leaves the rounding open; the NaN was measured on compute capability 10.0.
void convert(TensorMapType type, std::byte* data, std::uint64_t bytes) {
    if (type != TensorMapType::tfloat32 && type != TensorMapType::tfloat32_flushed) return;
    for (std::uint64_t at = 0; at + 4 <= bytes; at += 4) {
        std::uint32_t bits;
        std::memcpy(&bits, data + at, 4);
        const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
        if (magnitude > 0x7F800000u)
            bits = 0x7FFFE000u;
        else if (magnitude < 0x7F800000u)
            bits = (bits + 0xFFFu + (bits >> 13 & 1u)) & ~0x1FFFu;
        std::memcpy(data + at, &bits, 4);
    }
}

void load_box(const Warp::State& warp, unsigned lane, const Box& box,
              const std::vector<SharedPlace>& places) {
    const std::uint64_t element = bytes_of(box.map.type);
    for (const SharedPlace& place : places) fill_box(box, place);
    std::vector<std::byte> line;
    for_each_row(box, [&](const Row& row) {
        if (row.first == row.last) return;
        const std::uint64_t bytes = (row.last - row.first) * element, before = row.first * element;
        Allocation& allocation =
            find_global(warp, lane, row.address, bytes, 1, true, "the source of a tensor copy");
        line.assign(bytes_at(allocation, row.address), bytes_at(allocation, row.address) + bytes);
        convert(box.map.type, line.data(), bytes);
        for (const SharedPlace& place : places) {
            for_each_chunk(box.map, place, row, before, before + bytes,
                           [&](std::byte* to, std::uint64_t from, std::uint64_t count) {
                               std::memcpy(to, line.data() + (from - before), count);
                           });
        }
    });
}

// The variants of f32 named .ftz differ where elements are added, not where they are copied.
bool flushes_subnormals(TensorMapType type) {
    return type == TensorMapType::float32_flushed || type == TensorMapType::tfloat32_flushed;
}

void store_box(const Warp::State& warp, unsigned lane, const Box& box, const SharedPlace& place,
               ReductionOperation reduction) {
    const std::uint64_t element = bytes_of(box.map.type);
    std::vector<std::byte> line;
    for_each_row(box, [&](const Row& row) {
        if (row.first == row.last) return;
        const std::uint64_t bytes = (row.last - row.first) * element, before = row.first * element;
        Allocation& allocation =
            find_global(warp, lane, row.address, bytes, 1, warp.cta->launch.mode == Mode::functional,
                        "the destination of a tensor copy");
        if (!allocation.backed) return;
        line.resize(bytes);
        for_each_chunk(box.map, place, row, before, before + bytes,
                       [&](const std::byte* from, std::uint64_t to, std::uint64_t count) {
                           std::memcpy(line.data() + (to - before), from, count);
                       });
        std::byte* to = bytes_at(allocation, row.address);
        if (reduction == ReductionOperation::none)
            std::memcpy(to, line.data(), bytes);
        else
            reduce_elements(reduction, element_type(box.map.type), to, line.data(), bytes,
                            !flushes_subnormals(box.map.type));
    });
}

// Without values to move: rows must lie in buffers all the same.
void check_pieces(const Warp::State& warp, unsigned lane, const AsyncOperation& operation) {
    if (operation.pieces.empty()) return;
    std::uint64_t begin = operation.pieces.front().address, end = begin;
    for (const AsyncOperation::Piece& piece : operation.pieces) {
        begin = std::min(begin, piece.address);
        end = std::max(end, piece.address + piece.bytes);
    }
    if (warp.cta->launch.memory->find(begin, end - begin) != nullptr) return;
    for (const AsyncOperation::Piece& piece : operation.pieces)
        find_global(warp, lane, piece.address, piece.bytes, 1, false, "a tensor copy");
}

AsyncOperation begin(const Warp::State& warp, Kind kind, const Box& box) {
    AsyncOperation operation;
    operation.kind = kind;
    operation.warp = warp.index;
    operation.bytes = static_cast<std::uint32_t>(box.map.box_bytes());
    describe_pieces(box, operation);
    return operation;
}

// Slots: destination, map and coordinates, mbarrier, mask.
template <bool kEvaluate>
void load_tensor(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const AsyncDetails details = details_of(i);
    for_each_lane(mask, [&](unsigned lane) {
        const Box box = read_box(warp, i, 1, lane);
        AsyncOperation operation = begin(warp, Kind::bulk_load, box);
        CopyTarget target;
        target.space = details.space;
        target.address = lane_address(warp, i.operand[0], lane);
        target.barrier = lane_address(warp, i.operand[3], lane);
        target.multicast = details.multicast;
        target.pair = details.pair;
        if (details.multicast) target.mask = narrow_lane(warp, i.operand[4], lane) & 0xFFFFu;
        target.alignment = kSharedAlignment;
        const std::vector<SharedPlace> places = find_targets(warp, lane, target, operation);
        check_pieces(warp, lane, operation);
        if constexpr (kEvaluate) load_box(warp, lane, box, places);
        warp.cta->started.push_back(std::move(operation));
    });
}

// Slots: map and coordinates, source.
template <bool kEvaluate>
void store_tensor(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const auto reduction = static_cast<ReductionOperation>(details_of(i).operation);
    for_each_lane(mask, [&](unsigned lane) {
        const Box box = read_box(warp, i, 0, lane);
        AsyncOperation operation = begin(warp, Kind::bulk_store, box);
        operation.reduces = reduction != ReductionOperation::none;
        operation.in_bulk_group = true;
        if (operation.reduces && !can_reduce(reduction, element_type(box.map.type))) {
            fail_running(warp, lane,
                         "this reduction is not possible on elements of type " +
                             std::string(name_of(element_type(box.map.type))));
        }
        const SharedPlace source =
            find_shared(warp, lane, StateSpace::shared, lane_address(warp, i.operand[2], lane),
                        operation.bytes, kSharedAlignment, "the source of a tensor copy");
        check_pieces(warp, lane, operation);
        if constexpr (kEvaluate) {
            store_box(warp, lane, box, source, reduction);
            ++warp.cta->changes;
        }
        warp.cta->started.push_back(std::move(operation));
    });
}

void prefetch_tensor(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    for_each_lane(mask, [&](unsigned lane) {
        AsyncOperation operation = begin(warp, Kind::prefetch, read_box(warp, i, 0, lane));
        std::erase_if(operation.pieces, [&](const AsyncOperation::Piece& piece) {
            return warp.cta->launch.memory->find(piece.address, piece.bytes) == nullptr;
        });
        warp.cta->started.push_back(std::move(operation));
    });
}

}  // namespace

Handler select_tensor_copy(const Instruction& n, bool evaluate) {
    if (n.has(Modifier::prefetch)) return prefetch_tensor;
    if (n.has(Modifier::bulk_group)) return evaluate ? store_tensor<true> : store_tensor<false>;
    return evaluate ? load_tensor<true> : load_tensor<false>;
}

}  // namespace heddle::ptx
