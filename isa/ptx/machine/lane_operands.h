// Operands of instructions that one lane after another performs: mbarriers, bulk copies. Internal to
// machine/.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// The row of an operand, and the value of one lane in a row of 32-bit or 64-bit words.
inline std::byte* operand_row(const Warp::State& warp, std::uint32_t operand) {
    return warp.bank[operand >> 31] + (operand & ~kConstantBank);
}
inline std::uint32_t& narrow_lane(const Warp::State& warp, std::uint32_t operand, unsigned lane) {
    return reinterpret_cast<std::uint32_t*>(operand_row(warp, operand))[lane];
}
inline std::uint64_t& wide_lane(const Warp::State& warp, std::uint32_t operand, unsigned lane) {
    return reinterpret_cast<std::uint64_t*>(operand_row(warp, operand))[lane];
}

/// These instructions have several addresses, so the slot of each is the index of three words in
/// Program::elements: the row of its base, whether that has 64 bits, and the offset.
inline std::uint64_t lane_address(const Warp::State& warp, std::uint32_t slot, unsigned lane) {
    const std::uint32_t row = warp.elements[slot];
    const auto offset = static_cast<std::int64_t>(static_cast<std::int32_t>(warp.elements[slot + 2]));
    if (warp.elements[slot + 1] != 0) return wide_lane(warp, row, lane) + static_cast<std::uint64_t>(offset);
    return narrow_lane(warp, row, lane) + static_cast<std::uint32_t>(offset);
}

/// Calls body(lane) for each lane of the mask, in ascending order.
template <class Body>
inline void for_each_lane(std::uint32_t mask, Body body) {
    for (; mask != 0; mask &= mask - 1) body(static_cast<unsigned>(std::countr_zero(mask)));
}

/// Whose shared memory, and where in it.
struct SharedPlace {
    Cta::Implementation* cta = nullptr;  ///< nullptr: none
    std::uint64_t offset = 0;            ///< bytes from the start of its shared memory
};
/// `space`: shared (the own CTA), shared_cluster, or generic. Ends the run with an error that names `what`
/// when the `bytes` from `address` do not lie in the shared memory of a CTA that runs, or `address` is no
/// multiple of `alignment`.
SharedPlace find_shared(const Warp::State& warp, unsigned lane, StateSpace space, std::uint64_t address,
                        std::uint64_t bytes, std::uint64_t alignment, const std::string& what);

/// The allocation around [address, address + bytes); an error that names `what` when there is none, or
/// `address` is no multiple of `alignment`, or `values` are needed and it holds none.
Allocation& find_global(const Warp::State& warp, unsigned lane, std::uint64_t address, std::uint64_t bytes,
                        std::uint64_t alignment, bool values, const std::string& what);
inline std::byte* bytes_at(Allocation& allocation, std::uint64_t address) {
    return allocation.data.data() + (address - allocation.base);
}

/// Reports accesses to shared memory, of `bytes` per lane: the lanes and their addresses are added one by
/// one.
MemoryAccess& begin_shared_report(Warp::State& warp, unsigned bytes, bool write, bool atomic);
void report_lane(MemoryAccess& access, const Warp::State& warp, unsigned lane, const SharedPlace& place);

}  // namespace heddle::ptx
