// tcgen05.alloc, dealloc, relinquish_alloc_permit. In timing mode addresses of tensor memory have no values: dealloc then gives back
// the oldest allocation of its size.
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "isa/ptx/machine/paths.h"
#include "isa/ptx/machine/tensor_access.h"

namespace heddle::ptx {
namespace {

TensorDetails details_of_tensor(const DecodedInstruction& i) {
    return std::bit_cast<TensorDetails>(i.offset);
}

unsigned column_count(const Warp::State& warp, const TensorOperand& operand, std::uint32_t mask) {
    const std::uint64_t count = uniform_value(warp, operand, mask, "the number of columns");
    if (count < 32 || count > kTensorColumns || !std::has_single_bit(count)) {
        fail_running(warp, 0, std::to_string(count) + " columns of tensor memory", "the number must be a power of two from 32 to 512");
    }
    return static_cast<unsigned>(count);
}

// What alloc gives: the address of lane 0 of the first column, in shared memory.
void deliver_address(Warp::State& warp, const TensorOperand& place, std::uint32_t first) {
    Cta::Implementation& cta = *warp.cta;
    // Without a window the address is an offset into shared memory, also where no space is written.
    const std::uint64_t address = tensor_value(warp, place, 0);
    const StateSpace space = address >= kSharedWindow ? StateSpace::generic : StateSpace::shared;
    const SharedPlace to = find_shared(warp, 0, space, address, 4, 4, "the destination of tcgen05.alloc");
    if (to.cta->shared.size() >= to.offset + 4) std::memcpy(to.cta->shared.data() + to.offset, &first, 4);
    report_lane(warp.cta->scratch->access, warp, 0, to);
    ++cta.changes;
}

void take_columns(Cta::Implementation& cta, unsigned first, unsigned count, unsigned group, std::uint32_t line) {
    cta.tensor_memory->take(first, count, &cta);
    cta.tensor_permits.allocations.push_back(
        {static_cast<std::uint16_t>(first), static_cast<std::uint16_t>(count), static_cast<std::uint8_t>(group), line});
    ++cta.changes;
}

void wait_for_columns(Warp::State& warp, unsigned count, std::uint32_t mask) {
    warp.cta->tensor_memory->waiters.push_back({warp.cta, warp.index});
    make_wait(warp, mask, warp.pc - 1, PathWait::tensor_memory, count);
}

void wake_waiters(Cta::Implementation& self, TensorMemory& memory) {
    std::vector<TensorMemory::Waiter> waiters;
    waiters.swap(memory.waiters);
    for (const TensorMemory::Waiter& waiter : waiters) {
        auto& cta = *static_cast<Cta::Implementation*>(waiter.cta);
        Warp::State& warp = cta.states[waiter.warp];
        for (unsigned count = 32; count <= kTensorColumns; count *= 2) wake(warp, PathWait::tensor_memory, count);
        if (&cta != &self) cta.notify();
    }
}

void allocate(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    begin_shared_report(warp, 4, true, false);
    if (!gather_warp(warp, mask, "tcgen05.alloc")) return;
    mask = warp.active;
    Cta::Implementation& cta = *warp.cta;
    TensorPermits& permits = cta.tensor_permits;
    const TensorDetails details = details_of_tensor(i);
    const TensorOperand place = tensor_operand(warp, i, 0);
    const unsigned count = column_count(warp, tensor_operand(warp, i, 1), mask);
    const std::uint32_t line = warp.information[warp.pc - 1].line;
    if (permits.given) {  // the other CTA of the pair has done both halves meanwhile
        const unsigned first = *std::exchange(permits.given, std::nullopt);
        permits.wanted = 0;
        deliver_address(warp, place, first);
        return;
    }
    if (permits.relinquished)
        fail_running(warp, 0, "tcgen05.alloc after tcgen05.relinquish_alloc_permit", "allocate all columns before the permit is given up");
    if (details.group == 1) {
        const std::optional<unsigned> first = cta.tensor_memory->find_free(count);
        if (!first) return wait_for_columns(warp, count, mask);
        take_columns(cta, *first, count, 1, line);
        deliver_address(warp, place, *first);
        return;
    }
    const ClusterState& cluster = cta.own_cluster();
    const unsigned rank = cta.cluster_rank ^ 1u;
    if (rank >= cluster.size)
        fail_running(warp, 0, "tcgen05.alloc.cta_group::2 in a cluster of " + std::to_string(cluster.size) + " CTAs", "launch clusters of an even number of CTAs");
    Cta::Implementation* const peer = cluster.ctas[rank];
    if (peer == nullptr && (cluster.exited >> rank & 1u) != 0)
        fail_running(warp, 0, "tcgen05.alloc.cta_group::2: the other CTA of the pair has exited", "let one warp of each CTA allocate");
    permits.wanted = count;
    if (peer == nullptr || peer->tensor_permits.wanted == 0) return wait_for_columns(warp, count, mask);
    if (peer->tensor_permits.wanted != count) {
        fail_running(warp, 0,
                     "the CTAs of a pair allocate " + std::to_string(count) + " and " + std::to_string(peer->tensor_permits.wanted) + " columns at once",
                     "both must ask for the same number");
    }
    const std::optional<unsigned> first = cta.tensor_memory->find_free(count, peer->tensor_memory);
    if (!first) return wait_for_columns(warp, count, mask);
    take_columns(cta, *first, count, 2, line);
    take_columns(*peer, *first, count, 2, line);
    permits.wanted = 0;
    peer->tensor_permits.given = first;
    deliver_address(warp, place, *first);
    wake_waiters(cta, *peer->tensor_memory);
}

void deallocate(Warp::State& warp, const DecodedInstruction& i, std::uint32_t mask) {
    if (!gather_warp(warp, mask, "tcgen05.dealloc")) return;
    mask = warp.active;
    Cta::Implementation& cta = *warp.cta;
    const TensorDetails details = details_of_tensor(i);
    const unsigned count = column_count(warp, tensor_operand(warp, i, 1), mask);
    auto& allocations = cta.tensor_permits.allocations;
    auto found = allocations.end();
    if (cta.launch.mode == Mode::timing) {
        found = std::find_if(allocations.begin(), allocations.end(), [&](const auto& a) { return a.count == count; });
        if (found == allocations.end()) fail_running(warp, 0, "tcgen05.dealloc of " + std::to_string(count) + " columns that are not allocated");
    } else {
        const std::uint64_t address = uniform_value(warp, tensor_operand(warp, i, 0), mask, "the address of tcgen05.dealloc");
        found = std::find_if(allocations.begin(), allocations.end(), [&](const auto& a) { return a.first == address; });
        if (found == allocations.end()) {
            const bool before = address < kTensorColumns && cta.tensor_memory->former_owner(static_cast<unsigned>(address)) == &cta;
            fail_running(warp, 0, "tcgen05.dealloc of column " + std::to_string(address) + (before ? ", which is deallocated already" : ", where no allocation begins"),
                         "give back each allocation once, by the address that tcgen05.alloc gave", Error::Kind::out_of_bounds);
        }
        if (found->count != count) {
            fail_running(warp, 0, "tcgen05.dealloc of " + std::to_string(count) + " columns, " + std::to_string(found->count) + " were allocated (line " + std::to_string(found->line) + ")",
                         "give back whole allocations");
        }
    }
    if (found->group != details.group) {
        fail_running(warp, 0, "tcgen05.dealloc.cta_group::" + std::to_string(details.group) + " of columns allocated with .cta_group::" + std::to_string(found->group),
                     "use one .cta_group in the whole kernel");
    }
    cta.tensor_memory->give_back(found->first, found->count);
    allocations.erase(found);
    ++cta.changes;
    wake_waiters(cta, *cta.tensor_memory);
}

void relinquish(Warp::State& warp, const DecodedInstruction&, std::uint32_t mask) {
    if (!gather_warp(warp, mask, "tcgen05.relinquish_alloc_permit")) return;
    warp.cta->tensor_permits.relinquished = true;
}

}  // namespace

void begin_tensor_memory(Cta::Implementation& cta) {
    if (!cta.kernel->uses_tensor_memory) return;
    cta.tensor_permits = {};
    cta.tensor_memory = cta.observer == nullptr ? nullptr : cta.observer->tensor_memory();
    if (cta.tensor_memory != nullptr) return;
    if (cta.own_tensor_memory == nullptr) cta.own_tensor_memory = std::make_unique<TensorMemory>();
    cta.own_tensor_memory->reset();
    cta.tensor_memory = cta.own_tensor_memory.get();
}

void end_tensor_memory(Warp::State& warp) {
    const Cta::Implementation& cta = *warp.cta;
    if (!cta.kernel->uses_tensor_memory || cta.tensor_permits.allocations.empty()) return;
    unsigned columns = 0;
    for (const TensorPermits::Allocation& a : cta.tensor_permits.allocations) columns += a.count;
    fail_running(warp, 0,
                 "the CTA exits with " + std::to_string(columns) + " columns of tensor memory allocated (line " +
                     std::to_string(cta.tensor_permits.allocations.front().line) + ")",
                 "call tcgen05.dealloc for each tcgen05.alloc", Error::Kind::resources);
}

Handler select_tensor_allocation(const Instruction& n) {
    if (n.has(Modifier::alloc)) return allocate;
    return n.has(Modifier::dealloc) ? deallocate : relinquish;
}

}  // namespace heddle::ptx
