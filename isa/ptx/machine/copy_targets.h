// What bulk and tensor copies have in common: who receives the data, and what their end signals.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/ptx/machine/asynchronous.h"
#include "isa/ptx/machine/lane_operands.h"

namespace heddle::ptx {

/// What the decoder has packed into the instruction.
inline AsyncDetails details_of(const DecodedInstruction& i) {
    return std::bit_cast<AsyncDetails>(i.offset);
}

/// The places that a copy to shared memory fills: that of `address`, or with a mask the same offset in each
/// CTA of the mask. For each the end of the copy is signalled to the mbarrier at `barrier`, in the same CTA
/// when there is a mask. Fills `destinations` and `signals` of the operation, whose `bytes` are set.
struct CopyTarget {
    StateSpace space = StateSpace::shared_cluster;  ///< shared::cta or shared::cluster
    std::uint64_t address = 0, barrier = 0;         ///< addresses of the data and of the mbarrier
    bool multicast = false;                         ///< `mask` counts
    std::uint32_t mask = 0;                         ///< of cluster ranks
    std::uint64_t alignment = 16;                   ///< bytes that the address must be a multiple of
    /// .cta_group::2: the barrier lies in the pair of the CTA that receives the data, in the CTA of the barrier's parity; an address without a
    /// rank is that of the first CTA of the pair, as programs write it by clearing the lowest bit of the rank.
    bool pair = false;
};
std::vector<SharedPlace> find_targets(const Warp::State& warp, unsigned lane, const CopyTarget& target,
                                      AsyncOperation& operation);

/// Adds a contiguous piece of global memory, to the last one where they touch.
void add_piece(AsyncOperation& operation, std::uint64_t address, std::uint64_t bytes);

}  // namespace heddle::ptx
