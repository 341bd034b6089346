// The SM's part in asynchronous work: bulk copies, arrivals that wait for copies, and warps that something
// else than their own CTA's instructions lets go on.
#include <algorithm>
#include <bit>

#include "models/gpu/sm.h"

namespace heddle::models::gpu {

using Kind = ptx::AsyncOperation::Kind;

void Sm::begin_operations(unsigned warp, Cycle now) {
    WarpSlot& slot = warps_[warp];
    for (ptx::AsyncOperation& started : cta_slots_[slot.cta].cta->started()) {
        std::uint32_t index = static_cast<std::uint32_t>(operations_.size());
        if (free_operations_.empty()) {
            operations_.emplace_back();
        } else {
            index = free_operations_.back();
            free_operations_.pop_back();
        }
        Operation& operation = operations_[index];
        operation = {std::move(started), static_cast<std::uint16_t>(warp), slot.cta, 0, 0, kNever};
        operation.what.cache = plan_->kernel.instructions[slot.instruction].info->cache;
        ++cta_slots_[slot.cta].loads;
        if (operation.what.kind == Kind::arrive_after_copies) {
            begin_arrival(index, now);
            continue;
        }
        if (operation.what.in_bulk_group) {
            WarpWork& work = work_of(warp);
            operation.group = work.bulk_reads.open();
            work.bulk_reads.begin();
            work.bulk_writes.begin();
        }
        if (operation.what.kind == Kind::shared_copy)
            send_shared_copy(index, operation, now);
        else
            bulk_copies_.begin(index, operation.what, other_destinations(operation), now, ended_);
    }
}

// To the shared memory of another CTA, or of the same one: through the network, and back to it.
void Sm::send_shared_copy(std::uint32_t index, const Operation& operation, Cycle now) {
    const CtaSlot& cta = cta_slots_[operation.cta];
    const std::uint32_t bytes = operation.what.bytes, wavefronts = (bytes + 127) / 128;
    const auto rank = static_cast<unsigned>(std::countr_zero(operation.what.destinations));
    const Cycle leave = bulk_copies_.begin_shared_copy(bytes, now);
    load_store_.pass_wavefronts(wavefronts, now);
    if (cta.cluster == nullptr || rank == cta.rank) {
        load_store_.pass_wavefronts(wavefronts, now);
        const Cycle end = leave + wavefronts + config_.shared.latency;
        ended_.push_back({index, end, end});
        return;
    }
    cluster_port_.request(cta.cluster->sms[rank], RequestKind::store, true, index | ClusterPort::kCopyTag,
                          bytes, wavefronts, leave);
}

// cp.async.mbarrier.arrive: the copies so far are a group of their own.
void Sm::begin_arrival(std::uint32_t index, Cycle now) {
    Operation& operation = operations_[index];
    CopyGroups& copies = work_of(operation.warp).copies;
    operation.group = copies.open();
    copies.close();
    arriving_.push_back(index);
    end_arrivals(operation.warp, now);
}

void Sm::end_arrivals(unsigned warp, Cycle now) {
    for (std::size_t i = 0; i < arriving_.size();) {
        Operation& operation = operations_[arriving_[i]];
        const Stamp ready =
            operation.warp != warp ? kPending : work_[warp].copies.ready_before(operation.group + 1);
        if (ready == kPending) {
            ++i;
            continue;
        }
        operation.at = std::max<Cycle>(cycle_of(ready), now + 1);
        ending_.push_back(arriving_[i]);
        side_work_ = true;
        due(operation.at);
        arriving_.erase(arriving_.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

// Copies to several CTAs of the cluster: the other SMs. Thread blocks that share this one's SM receive the
// data through the same port.
std::vector<ClusterNeighbour*> Sm::other_destinations(const Operation& operation) {
    std::vector<ClusterNeighbour*> others;
    const ClusterRun* const cluster = cta_slots_[operation.cta].cluster.get();
    if (cluster == nullptr || operation.what.kind != Kind::bulk_load) return others;
    for (std::uint32_t left = operation.what.destinations; left != 0; left &= left - 1) {
        const std::uint32_t sm = cluster->sms[static_cast<unsigned>(std::countr_zero(left))];
        if (sm != position_) others.push_back(&cluster_port_.neighbour(sm));
    }
    return others;
}

// Loads end when their data are in place, stores when L2 has them.
void Sm::end_copy(const BulkCopyEngine::Ended& ended, Cycle now) {
    Operation& operation = operations_[ended.id];
    side_work_ = true;
    if (operation.what.in_bulk_group) work_[operation.warp].bulk_reads.finish(operation.group, ended.sent);
    if (operation.what.kind == Kind::bulk_store) {
        operation.stores = load_store_.stores_sent();
        storing_.push_back(ended.id);
    } else {
        operation.at = std::max(ended.ready, now + 1);
        ending_.push_back(ended.id);
        due(operation.at);
    }
}

void Sm::end_copies(Cycle now) {
    for (const BulkCopyEngine::Ended& ended : ended_) {
        end_copy(ended, now);
        const Operation& operation = operations_[ended.id];
        const WarpSlot& slot = warps_[operation.warp];
        if (operation.what.in_bulk_group && slot.state == WarpState::running && !slot.waits_for_fence)
            look_at_next(operation.warp, now);
    }
    ended_.clear();
}

Cycle Sm::next_end() const {
    Cycle next = kNever;
    for (const std::uint32_t index : ending_) next = std::min(next, operations_[index].at);
    for (const Release& release : releases_) next = std::min(next, release.at);
    return next;
}

void Sm::end_operations(Cycle now) {
    for (std::size_t i = 0; i < storing_.size();) {
        Operation& operation = operations_[storing_[i]];
        if (operation.stores > load_store_.stores_acknowledged()) {
            ++i;
            continue;
        }
        operation.at = now;
        ending_.push_back(storing_[i]);
        storing_.erase(storing_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (std::size_t i = 0; i < ending_.size();) {
        const std::uint32_t index = ending_[i];
        if (operations_[index].at > now) {
            ++i;
            continue;
        }
        ending_.erase(ending_.begin() + static_cast<std::ptrdiff_t>(i));
        end_operation(operations_[index], now);
        free_operations_.push_back(index);
    }
}

void Sm::end_operation(Operation& operation, Cycle now) {
    WarpSlot& slot = warps_[operation.warp];
    CtaSlot& cta = cta_slots_[operation.cta];
    if (operation.what.in_bulk_group) work_[operation.warp].bulk_writes.finish(operation.group, now);
    ends_operation_ = true;
    if (cta.cluster != nullptr) cta.cluster->release_at = now + config_.sm.barrier_latency;
    cta.cta->complete(operation.what);
    ends_operation_ = false;
    --cta.loads;
    if (slot.state == WarpState::running && !slot.waits_for_fence) {
        look_at_next(operation.warp, now);
    } else if (cta.running == 0) {
        finish_cta_if_done(cta, now);
    }
}

void Sm::release_due(Cycle now) {
    for (std::size_t i = 0; i < releases_.size();) {
        const Release due = releases_[i];
        if (due.at > now) {
            ++i;
            continue;
        }
        releases_.erase(releases_.begin() + static_cast<std::ptrdiff_t>(i));
        release(cta_slots_[due.cta], due.warps, now, now);
    }
}

bool Sm::resume_stalled(Cycle now) {
    bool any = false;
    for (CtaSlot& cta : cta_slots_) {
        if (!cta.used) continue;
        const std::uint32_t warps = cta.cta->resume_stalled();
        if (warps == 0) continue;
        any = true;
        side_work_ = true;
        releases_.push_back({now + 1, static_cast<std::uint32_t>(&cta - cta_slots_.data()), warps});
        due(now + 1);
    }
    return any;
}

}  // namespace heddle::models::gpu
