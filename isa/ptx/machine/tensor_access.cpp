#include "isa/ptx/machine/paths.h"
#include "isa/ptx/machine/tensor_access.h"

#include <bit>

namespace heddle::ptx {

TensorOperand tensor_operand(const Warp::State& warp, const DecodedInstruction& i, unsigned index) {
    const std::uint32_t* const words = warp.elements + i.operand[0] + 3 * index;
    return {words[0], words[1], static_cast<std::int32_t>(words[2])};
}

std::uint64_t tensor_value(const Warp::State& warp, const TensorOperand& operand, unsigned lane) {
    if (operand.wide != 0) return wide_lane(warp, operand.row, lane) + static_cast<std::uint64_t>(std::int64_t{operand.offset});
    return narrow_lane(warp, operand.row, lane) + static_cast<std::uint32_t>(operand.offset);
}

std::uint64_t uniform_value(const Warp::State& warp, const TensorOperand& operand, std::uint32_t mask, const char* what) {
    const auto first = static_cast<unsigned>(std::countr_zero(mask));
    const std::uint64_t value = tensor_value(warp, operand, first);
    for_each_lane(mask, [&](unsigned lane) {
        if (tensor_value(warp, operand, lane) != value)
            fail_running(warp, lane, std::string(what) + " differs between lanes", "it must be the same in the whole warp");
    });
    return value;
}

void require_whole_warp(const Warp::State& warp, std::uint32_t mask, const char* what) {
    if (mask == kAllLanes) return;
    fail_running(warp, static_cast<unsigned>(std::countr_one(mask)), std::string(what) + " needs all 32 lanes of the warp",
                 "do not branch around it lane by lane");
}

bool gather_warp(Warp::State& warp, std::uint32_t mask, const char* what) {
    if (mask == kAllLanes) return true;
    if (warp.live != kAllLanes || mask != warp.active) require_whole_warp(warp, mask, what);
    return join_named_lanes(warp, mask, kAllLanes) != 0;
}

Cta::Implementation& cta_of_group(const Warp::State& warp, unsigned lane, unsigned group, unsigned index) {
    Cta::Implementation& self = *warp.cta;
    if (group == 1) return self;
    const ClusterState& cluster = self.own_cluster();
    const unsigned rank = (self.cluster_rank & ~1u) | index;
    if (rank == self.cluster_rank) return self;
    Cta::Implementation* const other = rank < cluster.size ? cluster.ctas[rank] : nullptr;
    if (other == nullptr || other->unfinished == 0) {
        fail_running(warp, lane, "cta_group::2 without the other CTA of the pair, rank " + std::to_string(rank),
                     "launch clusters of an even number of CTAs, and let both of a pair wait for one another before they exit");
    }
    return *other;
}

void require_columns(const Warp::State& warp, unsigned lane, const Cta::Implementation& of, unsigned first, unsigned count,
                     unsigned group, const char* what) {
    if (first + count > kTensorColumns) {
        fail_running(warp, lane,
                     std::string(what) + " reaches column " + std::to_string(first + count - 1) + " of tensor memory, which has " +
                         std::to_string(kTensorColumns),
                     "check the address: bits 0 to 15 are the column", Error::Kind::out_of_bounds);
    }
    for (unsigned column = first; column < first + count; ++column) {
        if (of.tensor_memory->owner(column) == &of) continue;
        const std::string which = std::string(what) + " uses column " + std::to_string(column) + " of tensor memory, which ";
        if (of.tensor_memory->former_owner(column) == &of && of.tensor_memory->owner(column) == nullptr)
            fail_running(warp, lane, which + "the CTA has deallocated", "deallocate when the last use has ended", Error::Kind::out_of_bounds);
        fail_running(warp, lane, which + "the CTA has not allocated", "use what tcgen05.alloc gave", Error::Kind::out_of_bounds);
    }
    for (const TensorPermits::Allocation& a : of.tensor_permits.allocations) {
        if (first >= static_cast<unsigned>(a.first + a.count) || first + count <= a.first || a.group == group) continue;
        fail_running(warp, lane,
                     std::string(what) + " of .cta_group::" + std::to_string(group) + " uses tensor memory that was allocated with .cta_group::" +
                         std::to_string(a.group) + " (line " + std::to_string(a.line) + ")",
                     "use one .cta_group in the whole kernel");
    }
}

Handler select_tensor_memory(const Instruction& n, bool evaluate) {
    if (n.has(Modifier::mma)) return select_tensor_multiply(evaluate);
    if (n.has(Modifier::alloc) || n.has(Modifier::dealloc) || n.has(Modifier::relinquish_alloc_permit))
        return select_tensor_allocation(n);
    return select_tensor_move(n, evaluate);
}

}  // namespace heddle::ptx
