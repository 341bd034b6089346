// From addresses in registers to host memory: evaluates, reports and checks one access of a warp. Included by
// the handler files only, see lanes.h.
#pragma once

#include <algorithm>
#include <cstring>

#include "isa/ptx/handlers/lanes.h"
#include "isa/ptx/machine/memory_slow_path.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {

/// Where the bytes are: lane l's at base + offset[l].
struct Located {
    std::uintptr_t base = 0;                ///< address on the host
    const std::uint64_t* offset = nullptr;  ///< by lane; belongs to the caller
    bool contiguous = false;                ///< active lanes are one after another in memory
    bool one_allocation = true;             ///< false: look at each lane by itself
    bool dropped = false;                   ///< there is no memory behind a store, and need not be
    /// The host address of a lane's bytes.
    std::byte* at(unsigned lane) const { return reinterpret_cast<std::byte*>(base + offset[lane]); }
};

/// Fills access.address from the address operand.
inline void compute_addresses(State& warp, std::uint32_t operand, bool wide, std::int64_t offset,
                              std::array<std::uint64_t, kWarpSize>& address) {
    if (wide) {
        const std::uint64_t* a = words<std::uint64_t>(warp, operand);
        for (unsigned lane = 0; lane < kWarpSize; ++lane)
            address[lane] = a[lane] + static_cast<std::uint64_t>(offset);
    } else {
        const std::uint32_t* a = words<std::uint32_t>(warp, operand);
        const auto addend = static_cast<std::uint32_t>(offset);
        for (unsigned lane = 0; lane < kWarpSize; ++lane) address[lane] = a[lane] + addend;
    }
}

/// What the addresses of active lanes have in common.
struct AddressRange {
    std::uint64_t low = 0, high = 0;  ///< smallest and largest address of active lanes
    bool contiguous = false;          ///< lane l's is low + l * bytes, as seen from lane 0
    bool aligned = false;             ///< all are multiples of the access's bytes
};

/// `mask` must not be empty; `bytes` is the size of a lane's access.
inline AddressRange summarize(const std::array<std::uint64_t, kWarpSize>& address, std::uint32_t mask,
                              std::uint64_t bytes) {
    AddressRange range;
    const auto first = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint64_t start = address[first] - first * bytes;
    std::uint64_t difference = 0;
    if (mask == kAllLanes) {
        for (unsigned lane = 0; lane < kWarpSize; ++lane)
            difference |= address[lane] ^ (start + lane * bytes);
    } else {
        for (unsigned lane = 0; lane < kWarpSize; ++lane) {
            const std::uint64_t one = address[lane] ^ (start + lane * bytes);
            difference |= (mask >> lane & 1u) != 0 ? one : 0;
        }
    }
    range.contiguous = difference == 0;
    if (range.contiguous) {
        range.low = address[first];
        range.high = start + (31u - static_cast<unsigned>(std::countl_zero(mask))) * bytes;
        range.aligned = (range.low & (bytes - 1)) == 0;
        return range;
    }
    std::uint64_t low = address[first], high = low, bits = 0;
    for (unsigned lane = 0; lane < kWarpSize; ++lane) {
        const std::uint64_t one = (mask >> lane & 1u) != 0 ? address[lane] : address[first];
        low = one < low ? one : low;
        high = one > high ? one : high;
        bits |= one;
    }
    range.low = low;
    range.high = high;
    range.aligned = (bits & (bytes - 1)) == 0;
    return range;
}

/// Checks access.address for the lanes of `mask` and finds the memory behind. `kSpace` none: known at run
/// time only. Without kEvaluate nothing but the checks is done and the result is not to be used.
template <StateSpace kSpace, bool kEvaluate>
inline Located locate(State& warp, const Decoded& i, std::uint32_t mask, MemoryAccess& access,
                      std::array<std::uint64_t, kWarpSize>& scratch) {
    const std::uint64_t bytes = access.bytes_per_lane;
    if constexpr (kSpace == StateSpace::none) {
        if (access.space == StateSpace::generic) access.space = resolve_generic(warp, mask, access);
        if (access.space == StateSpace::generic) {
            Located each;
            each.one_allocation = false;
            return each;
        }
    }
    const StateSpace space = kSpace == StateSpace::none ? access.space : kSpace;
    const AddressRange range = summarize(access.address, mask, bytes);
    if (!range.aligned) fail_access(warp, mask, access);
    Located located;
    located.offset = access.address.data();
    located.contiguous = range.contiguous;
    if (space == StateSpace::shared) {
        const std::uint64_t size = warp.cta->shared_bytes;
        if (range.high >= size || size - range.high < bytes) require_own_shared(warp, mask, access);
        located.base = reinterpret_cast<std::uintptr_t>(warp.cta->shared.data());
        return located;
    }
    if (kSpace == StateSpace::none && space == StateSpace::shared_cluster) {
        located.one_allocation = locate_in_cluster(warp, mask, access, located.base);
        return located;
    }
    if (space == StateSpace::global) {
        Allocation*& last = warp.cta->scratch->last_allocation[static_cast<std::size_t>(&i - warp.code)];
        const std::uint64_t extent = range.high - range.low + bytes;
        if (last == nullptr || !last->contains(range.low, extent)) {
            Allocation* found = find_allocation(warp, i, range.low, extent);
            if (found == nullptr) {
                check_lanes(warp, mask, access);
                located.one_allocation = false;
                return located;
            }
            last = found;
        }
        if constexpr (kEvaluate) {
            if (!last->backed) {
                // In timing mode a store to a buffer without values leaves none; a load has nothing to give.
                located.dropped = access.write && !access.atomic && warp.cta->launch.mode == Mode::timing;
                if (!located.dropped) fail_no_values(warp, access, *last);
                return located;
            }
            located.base = reinterpret_cast<std::uintptr_t>(last->data.data()) - last->base;
        }
        return located;
    }
    if constexpr (kSpace == StateSpace::none) {
        const SmallSpace small = locate_small(warp, mask, access, scratch, range.high);
        located.base = small.base;
        located.offset = scratch.data();
        located.contiguous = false;
    }
    return located;
}

/// Looks at each lane by itself: they lie in several allocations, CTAs or state spaces. Of the spaces a
/// timing model hears one: that of the first lane, unless some lane reaches another CTA.
template <StateSpace kSpace, bool kEvaluate, class Body>
inline void with_each_lane(State& warp, const Decoded& i, std::uint32_t mask, MemoryAccess& access,
                           std::array<std::uint64_t, kWarpSize>& scratch, Body body) {
    const StateSpace declared = access.space;
    StateSpace told = StateSpace::none;
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
        const std::uint32_t one = rest & (~rest + 1);
        access.space = declared;
        const Located lane = locate<kSpace, kEvaluate>(warp, i, one, access, scratch);
        if (!lane.dropped) body(lane, one);
        if (told == StateSpace::none || access.space == StateSpace::shared_cluster) told = access.space;
    }
    access.space = told;
}

/// Runs `body(located, mask)` once, or lane by lane when the lanes lie in several allocations.
template <StateSpace kSpace, class Body>
inline void with_memory(State& warp, const Decoded& i, std::uint32_t mask, MemoryAccess& access, Body body) {
    std::array<std::uint64_t, kWarpSize> scratch;
    const Located located = locate<kSpace, true>(warp, i, mask, access, scratch);
    if (!located.one_allocation) {
        with_each_lane<kSpace, true>(warp, i, mask, access, scratch, body);
    } else if (!located.dropped) {
        body(located, mask);
    }
}

/// The checks alone, for accesses whose values are not evaluated.
template <StateSpace kSpace>
inline void check_access(State& warp, const Decoded& i, std::uint32_t mask, MemoryAccess& access) {
    std::array<std::uint64_t, kWarpSize> scratch;
    const Located located = locate<kSpace, false>(warp, i, mask, access, scratch);
    if (kSpace == StateSpace::none && !located.one_allocation)
        with_each_lane<kSpace, false>(warp, i, mask, access, scratch, [](const Located&, std::uint32_t) {});
}

/// Fills in what the step reports; addresses are still to be written. The object is the StepScratch's.
inline MemoryAccess& begin_access(State& warp, std::uint32_t mask, StateSpace space, unsigned bytes,
                                  bool write, bool atomic = false) {
    MemoryAccess& access = warp.cta->scratch->access;
    access.space = space;
    access.write = write;
    access.atomic = atomic;
    access.bytes_per_lane = static_cast<std::uint8_t>(bytes);
    access.lanes = mask;
    access.zero_filled_lanes = 0;
    access.texels = nullptr;
    return access;
}

/// Reads a T from any address.
template <class T>
inline T read_unaligned(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof(T));
    return value;
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
