#include "sim/sass/trace_block.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "isa/common/error.h"
#include "sim/sass/address_spaces.h"
#include "sim/sass/copy_text.h"
#include "workloads/sass_traces/arrivals.h"

namespace heddle::sass {

ptx::StepResult TraceWarp::step(std::uint64_t clock) {
    return block_.step(*this, clock);
}

void TraceWarp::start(const PackedWarp& packed) {
    cursor_ = packed.begin();
    state_.pc = cursor_.peek();
    state_.blocked = state_.finished = false;
    performed_ = cluster_arrivals_ = 0;
}

void ClusterRendezvous::join(TraceBlock& block) {
    if (block.rank_ >= blocks_.size() || blocks_[block.rank_] != nullptr)
        throw Error("internal: a cluster was given a thread block too many");
    blocks_[block.rank_] = &block;
    ++joined_;
}

std::uint32_t ClusterRendezvous::look(const TraceBlock& self) {
    if (joined_ != blocks_.size()) return 0;
    bool anybody = false;
    for (const TraceBlock* const block : blocks_) {
        if (block == nullptr) continue;
        for (unsigned i = 0; i < block->warp_count(); ++i) {
            const TraceWarp& warp = block->warps_[i];
            if (warp.finished()) continue;
            anybody = true;
            if (warp.cluster_arrivals_ <= phase_) return 0;
        }
    }
    if (!anybody) return 0;
    ++phase_;
    std::uint32_t own = 0;
    for (TraceBlock* const block : blocks_) {
        if (block == nullptr) continue;
        std::uint32_t released = 0;
        for (unsigned i = 0; i < block->warp_count(); ++i) {
            const TraceWarp& warp = block->warps_[i];
            if (warp.blocked() && block->waits_for_cluster(i)) released |= 1u << i;
        }
        block->unblock(released);
        if (block == &self)
            own = released;
        else if (released != 0)
            block->observer_.warps_released(block->tag_, released);
    }
    return own;
}

bool ClusterRendezvous::leave(const TraceBlock& block) {
    blocks_[block.rank_] = nullptr;
    return ++left_ == blocks_.size();
}

void TraceBlock::start(std::uint64_t index, std::uint32_t, ptx::Cluster* cluster) {
    packed_ = launch_.take_block(index);
    index_ = index;
    cluster_ = cluster;
    rank_ = launch_.rank_of(index);
    rendezvous_ = cluster == nullptr ? nullptr : &launch_.rendezvous(cluster);
    if (rendezvous_ != nullptr) rendezvous_->join(*this);
    memory_barriers_.reset();
    while (warps_.size() < packed_.warps.size())
        warps_.emplace_back(*this, static_cast<unsigned>(warps_.size()));
    running_ = warp_count();
    for (unsigned i = 0; i < warp_count(); ++i) warps_[i].start(packed_.warps[i]);
    cluster_waits_ = released_ = 0;
    started_.clear();
}

ptx::StepResult TraceBlock::step(TraceWarp& warp, std::uint64_t clock) {
    const TraceRow& row = launch_.table()[warp.state_.pc];
    std::optional<PackedWarp::Cursor> before;
    if (row.machine.behaviour == Behaviour::memory_barrier) before = warp.cursor_;
    warp.cursor_.next(step_);
    warp.clock_ = clock;
    started_.clear();
    released_ = 0;
    ptx::StepResult result;
    result.info = &row.machine.info;
    result.active_lanes = step_.lanes;
    if (step_.lanes != 0 && !perform(warp, row, result)) {
        warp.cursor_ = *before;
        warp.state_.blocked = true;
        return result;
    }
    ++warp.performed_;
    if (warp.cursor_.at_end()) {
        end_warp(warp);
    } else {
        warp.state_.pc = warp.cursor_.peek();
    }
    result.finished = warp.state_.finished;
    result.started_operations = static_cast<std::uint32_t>(started_.size());
    result.released_warps = released_;
    released_ = 0;
    return result;
}

bool TraceBlock::perform(TraceWarp& warp, const TraceRow& row, ptx::StepResult& result) {
    const unsigned index = warp.index();
    switch (row.machine.behaviour) {
        case Behaviour::load:
        case Behaviour::store:
        case Behaviour::atomic:
        case Behaviour::reduction:
        case Behaviour::async_copy:
        case Behaviour::texture:
        case Behaviour::constant_load:
            access_memory(warp, row, result);
            return true;
        case Behaviour::memory_barrier:
            access_memory(warp, row, result);
            return use_memory_barrier(warp, row);
        case Behaviour::arrive_on_copies:
        case Behaviour::bulk_load:
        case Behaviour::bulk_store:
        case Behaviour::bulk_prefetch:
            start_copy(warp, row);
            return true;
        case Behaviour::block_barrier: {
            const bool waits = row.machine.barrier != BarrierUse::arrive;
            warp.state_.blocked = waits;
            release(packed_.barriers.arrive(row.machine.barrier_number, index, waits), index);
            ++changes_;
            return true;
        }
        case Behaviour::cluster_arrive:
            ++warp.cluster_arrivals_;
            ++changes_;
            if (rendezvous_ != nullptr) released_ |= rendezvous_->look(*this);
            return true;
        case Behaviour::cluster_wait:
            if (rendezvous_ == nullptr || rendezvous_->phase() >= warp.cluster_arrivals_) return true;
            warp.state_.blocked = true;
            cluster_waits_ |= 1u << index;
            return true;
        default:
            return true;
    }
}

void TraceBlock::access_memory(const TraceWarp& warp, const TraceRow& row, ptx::StepResult& result) {
    const MachineInstruction& machine = row.machine;
    const ptx::InstructionInfo& info = machine.info;
    // An mbarrier may be that of another block of the cluster.
    access_.space = machine.behaviour == Behaviour::memory_barrier && launch_.header().cluster.count() > 1
                        ? ptx::StateSpace::generic
                        : info.space;
    access_.write = info.writes_memory;
    access_.atomic = info.atomic;
    access_.bytes_per_lane = machine.bytes_per_lane;
    access_.lanes = step_.lanes;
    access_.zero_filled_lanes = 0;
    if (machine.behaviour == Behaviour::constant_load) {  // from one address: the trace does not say which
        access_.address.fill(0);
        result.access = &access_;
        return;
    }
    if (machine.behaviour == Behaviour::texture && !step_.accesses) {
        // Lane beside lane in one place: texels are taken to lie in L1.
        ++launch_.guessed_textures;
        for (unsigned lane = 0; lane < kWarpSize; ++lane)
            access_.address[lane] = kTexturePlace + std::uint64_t{lane} * machine.bytes_per_lane;
        result.access = &access_;
        return;
    }
    if (!step_.accesses) return;  // the trace holds no addresses: it takes the time of an access without one
    unsigned lane_count = 0;
    for (std::uint32_t left = step_.lanes; left != 0; left &= left - 1, ++lane_count) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        access_.address[lane] = step_.addresses[lane_count];
        // A trace has one address of each lane: that in global memory. The other side is taken to meet no
        // conflicts in its banks.
        access_.shared_address[lane] = lane_count * machine.bytes_per_lane;
    }
    if (machine.matrix_rows) access_.lanes &= ~std::uint32_t{0} >> (32 - 8 * machine.matrices);
    if (access_.lanes == 0) return;
    const std::uint64_t local = (index_ % kLocalBlocks * 32 + warp.index()) * kLocalBytes * 32;
    place_in_space(launch_.header(), local, access_);
    result.access = &access_;
    changes_ += access_.atomic ? 1 : 0;
}

// Without what the trace must say of mbarriers nobody waits at them.
bool TraceBlock::use_memory_barrier(const TraceWarp& warp, const TraceRow& row) {
    if (!launch_.header().complete || access_.lanes == 0) return true;
    const ptx::MemoryBarrierUse use = row.machine.info.memory_barrier;
    std::uint64_t last = ~std::uint64_t{0};
    for (std::uint32_t left = access_.lanes; left != 0; left &= left - 1) {
        const std::uint64_t address = access_.address[static_cast<unsigned>(std::countr_zero(left))];
        if (std::exchange(last, address) == address)
            continue;  // the immediate counts all lanes at an address
        const auto offset = static_cast<std::uint32_t>(address % kWindowBytes);
        if (use == ptx::MemoryBarrierUse::arrive) {
            const auto tag =
                static_cast<unsigned>(address / kWindowBytes);  // rank plus one; 0: the own block
            const Arrival arrival = decode_arrival(row.immediate);
            released_ |= signal(tag == 0 ? rank_ : tag - 1, offset, arrival.arrivals, arrival.transactions);
        } else if (use == ptx::MemoryBarrierUse::none) {
            if (row.immediate > 0)
                memory_barriers_.initialise(offset, static_cast<std::uint32_t>(row.immediate));
        } else if (!memory_barriers_.passes(offset, static_cast<unsigned>(row.immediate & 1), warp.index())) {
            return false;
        }
    }
    return true;
}

std::uint32_t TraceBlock::signal(unsigned rank, std::uint32_t address, std::uint32_t arrivals,
                                 std::int64_t transactions) {
    TraceBlock* const block = rendezvous_ == nullptr || rank == rank_ ? this : rendezvous_->block(rank);
    if (block == nullptr) return 0;
    ++block->changes_;
    const std::uint32_t released = block->memory_barriers_.count(address, arrivals, transactions);
    block->unblock(released);
    if (block == this) return released;
    if (released != 0) block->observer_.warps_released(block->tag_, released);
    return 0;
}

void TraceBlock::start_copy(const TraceWarp& warp, const TraceRow& row) {
    const auto number = static_cast<std::uint64_t>(row.immediate);
    if (!launch_.header().complete || number >= launch_.copies().size()) {
        ++launch_.undescribed_copies;
        return;
    }
    const std::uint64_t base = step_.accesses ? global_place(step_.addresses[0]) : 0;
    for (const ptx::AsyncOperation& described : launch_.copies()[number]) {
        started_.push_back(described);
        ptx::AsyncOperation& operation = started_.back();
        operation.warp = static_cast<std::uint16_t>(warp.index());
        for (ptx::AsyncOperation::Piece& piece : operation.pieces) piece.address += base;
        for (ptx::AsyncOperation::Signal& signal : operation.signals)
            if (signal.rank == kOwnRank) signal.rank = static_cast<std::uint16_t>(rank_);
        if (operation.kind == ptx::AsyncOperation::Kind::bulk_load && operation.destinations == 0)
            operation.destinations = static_cast<std::uint16_t>(1u << rank_);
    }
}

void TraceBlock::complete(const ptx::AsyncOperation& operation) {
    std::uint32_t released = 0;
    for (const ptx::AsyncOperation::Signal& one : operation.signals)
        released |= signal(one.rank, one.address, one.arrivals, -std::int64_t{one.transaction_bytes});
    if (released != 0) observer_.warps_released(tag_, released);
}

void TraceBlock::end_warp(TraceWarp& warp) {
    warp.state_.finished = true;
    warp.state_.blocked = false;
    ++changes_;
    if (rendezvous_ != nullptr) released_ |= rendezvous_->look(*this);
    if (--running_ != 0) return;
    for (PackedWarp& packed : packed_.warps) packed = {};
    launch_.block_ended();
    if (rendezvous_ != nullptr && rendezvous_->leave(*this)) launch_.forget(cluster_);
    rendezvous_ = nullptr;
}

void TraceBlock::unblock(std::uint32_t warps) {
    cluster_waits_ &= ~warps;
    for (; warps != 0; warps &= warps - 1)
        warps_[static_cast<unsigned>(std::countr_zero(warps))].state_.blocked = false;
}

void TraceBlock::release(std::uint32_t warps, unsigned self) {
    unblock(warps);
    released_ |= warps & ~(1u << self);
}

std::uint32_t TraceBlock::resume_stalled() {
    const std::uint32_t warps = packed_.barriers.open_all() | memory_barriers_.open_all() | cluster_waits_;
    unblock(warps);
    launch_.forced_releases += static_cast<std::uint64_t>(std::popcount(warps));
    return warps;
}

ptx::WarpFingerprint TraceBlock::fingerprint(unsigned warp) const {
    return {warps_[warp].performed_, warps_[warp].clock_};
}

std::string TraceBlock::describe_waiting() const {
    std::string text;
    for (unsigned i = 0; i < warp_count(); ++i) {
        const TraceWarp& warp = warps_[i];
        if (warp.finished()) continue;
        const TraceRow& row = launch_.table()[warp.next()];
        text += (text.empty() ? "" : "\n") + std::string("warp ") + std::to_string(packed_.numbers[i]) +
                (warp.blocked() ? " waits" : " stands") + " before " + row.opcode + " at program counter " +
                std::to_string(row.program_counter);
    }
    return text;
}

}  // namespace heddle::sass
