// cp.async.bulk, cp.reduce.async.bulk, st.async, red.async. Values move at once; the signal comes when
// whoever drives the CTA ends the operation.
#include <cstring>

#include "isa/ptx/machine/copy_targets.h"
#include "isa/ptx/machine/reduction.h"

namespace heddle::ptx {
namespace {

using Kind = AsyncOperation::Kind;

constexpr std::uint64_t kBulkCopyAlignment = 16;  // of addresses and sizes: PTX manual, "cp.async.bulk"

std::uint32_t copy_size(const Warp::State& warp, std::uint32_t slot, unsigned lane) {
    const std::uint32_t bytes = narrow_lane(warp, slot, lane);
    if (bytes % kBulkCopyAlignment != 0) {
        fail_running(warp, lane, "a bulk copy of " + std::to_string(bytes) + " bytes",
                     "the size must be a multiple of 16", Error::Kind::misaligned);
    }
    return bytes;
}

AsyncOperation begin(const Warp::State& warp, Kind kind, std::uint32_t bytes) {
    AsyncOperation operation;
    operation.kind = kind;
    operation.warp = warp.index;
    operation.bytes = bytes;
    return operation;
}

void move_bytes(const AsyncDetails& details, std::byte* to, const std::byte* from, std::size_t bytes) {
    const auto operation = static_cast<ReductionOperation>(details.operation);
    if (operation == ReductionOperation::none)
        std::memmove(to, from, bytes);
    else
        reduce_elements(operation, details.type, to, from, bytes);
}

CopyTarget target_of(const Warp::State& warp, const DecodedInstruction& i, const AsyncDetails& details,
                     unsigned lane) {
    CopyTarget target;
    target.space = details.space;
    target.address = lane_address(warp, i.operand[0], lane);
    target.barrier = lane_address(warp, i.operand[3], lane);
    target.multicast = details.multicast;
    if (details.multicast) target.mask = narrow_lane(warp, i.operand[4], lane) & 0xFFFFu;
    return target;
}

// Slots: destination, source, size, mbarrier, mask.
template <bool kEvaluate>
void load_global(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const AsyncDetails details = details_of(i);
    for_each_lane(mask, [&](unsigned lane) {
        AsyncOperation operation = begin(warp, Kind::bulk_load, copy_size(warp, i.operand[2], lane));
        const std::uint64_t source = lane_address(warp, i.operand[1], lane);
        const std::vector<SharedPlace> places =
            find_targets(warp, lane, target_of(warp, i, details, lane), operation);
        Allocation& allocation = find_global(warp, lane, source, operation.bytes, kBulkCopyAlignment, kEvaluate,
                                             "the source of a bulk copy");
        add_piece(operation, source, operation.bytes);
        if constexpr (kEvaluate) {
            for (const SharedPlace& place : places) {
                std::memcpy(place.cta->shared.data() + place.offset, bytes_at(allocation, source),
                            operation.bytes);
            }
        }
        warp.cta->started.push_back(std::move(operation));
    });
}

template <bool kEvaluate>
void copy_shared(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const AsyncDetails details = details_of(i);
    for_each_lane(mask, [&](unsigned lane) {
        AsyncOperation operation = begin(warp, Kind::shared_copy, copy_size(warp, i.operand[2], lane));
        operation.reduces = details.operation != 0;
        const SharedPlace source =
            find_shared(warp, lane, StateSpace::shared, lane_address(warp, i.operand[1], lane),
                        operation.bytes, kBulkCopyAlignment, "the source of a bulk copy");
        const SharedPlace place =
            find_targets(warp, lane, target_of(warp, i, details, lane), operation).front();
        if constexpr (kEvaluate) {
            move_bytes(details, place.cta->shared.data() + place.offset,
                       source.cta->shared.data() + source.offset, operation.bytes);
        }
        warp.cta->started.push_back(std::move(operation));
    });
}

// In timing mode a store to a buffer without values leaves none.
bool keeps_values(const Warp::State& warp, const Allocation& allocation) {
    return allocation.backed || warp.cta->launch.mode != Mode::timing;
}

template <bool kEvaluate>
void store_global(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const AsyncDetails details = details_of(i);
    for_each_lane(mask, [&](unsigned lane) {
        AsyncOperation operation = begin(warp, Kind::bulk_store, copy_size(warp, i.operand[2], lane));
        operation.reduces = details.operation != 0;
        operation.in_bulk_group = true;
        const std::uint64_t to = lane_address(warp, i.operand[0], lane);
        const SharedPlace source =
            find_shared(warp, lane, StateSpace::shared, lane_address(warp, i.operand[1], lane),
                        operation.bytes, kBulkCopyAlignment, "the source of a bulk copy");
        const bool functional = warp.cta->launch.mode == Mode::functional;
        Allocation& allocation = find_global(warp, lane, to, operation.bytes, kBulkCopyAlignment, functional,
                                             "the destination of a bulk copy");
        add_piece(operation, to, operation.bytes);
        if (kEvaluate && keeps_values(warp, allocation)) {
            move_bytes(details, bytes_at(allocation, to), source.cta->shared.data() + source.offset,
                       operation.bytes);
            ++warp.cta->changes;
        }
        warp.cta->started.push_back(std::move(operation));
    });
}

// A hint: what lies outside of every buffer is no error.
void prefetch(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    for_each_lane(mask, [&](unsigned lane) {
        AsyncOperation operation = begin(warp, Kind::prefetch, copy_size(warp, i.operand[1], lane));
        const std::uint64_t address = lane_address(warp, i.operand[0], lane);
        if (warp.cta->launch.memory->find(address, operation.bytes) == nullptr) return;
        add_piece(operation, address, operation.bytes);
        warp.cta->started.push_back(std::move(operation));
    });
}

// st.async, red.async. Slots: destination, value or vector, mbarrier.
template <bool kEvaluate>
void store_registers(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    const AsyncDetails details = details_of(i);
    const unsigned size = bytes_of(details.type), count = details.elements;
    for_each_lane(mask, [&](unsigned lane) {
        AsyncOperation operation = begin(warp, Kind::shared_copy, size * count);
        operation.reduces = details.operation != 0;
        CopyTarget target;
        target.space = details.space;
        target.address = lane_address(warp, i.operand[0], lane);
        target.barrier = lane_address(warp, i.operand[2], lane);
        target.alignment = operation.bytes;
        const SharedPlace place = find_targets(warp, lane, target, operation).front();
        if constexpr (kEvaluate) {
            for (unsigned n = 0; n < count; ++n) {
                const std::uint32_t row = count == 1 ? i.operand[1] : warp.elements[i.operand[1] + n];
                const void* value = size == 8 ? static_cast<const void*>(&wide_lane(warp, row, lane))
                                              : static_cast<const void*>(&narrow_lane(warp, row, lane));
                move_bytes(details, place.cta->shared.data() + place.offset + n * size,
                           static_cast<const std::byte*>(value), size);
            }
        }
        warp.cta->started.push_back(std::move(operation));
    });
}

}  // namespace

Handler select_bulk_copy(const Instruction& n, bool evaluate) {
    if (n.opcode != Opcode::cp) return evaluate ? store_registers<true> : store_registers<false>;
    if (n.has(Modifier::prefetch)) return prefetch;
    if (n.space == StateSpace::global) return evaluate ? store_global<true> : store_global<false>;
    if (n.second_space == StateSpace::global) return evaluate ? load_global<true> : load_global<false>;
    return evaluate ? copy_shared<true> : copy_shared<false>;
}

}  // namespace heddle::ptx
