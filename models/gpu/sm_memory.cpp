// The SM's memory instructions: what goes to the load-store unit, and what comes back.
#include <algorithm>
#include <bit>

#include "models/gpu/sm.h"

namespace heddle::models::gpu {

// Bulk copies are told of their lines ahead of time.
void Sm::respond(MemoryRequest& request, Cycle arrival) {
    if ((request.tag & BulkCopyEngine::kTag) != 0) {
        bulk_copies_.respond(request, arrival, clock().now(), state_.ended);
        for (const BulkCopyEngine::Ended& ended : state_.ended) end_copy(ended, clock().now());
        state_.ended.clear();
        return;
    }
    wake(inbox_.push(request, arrival, request.tag));
}

void Sm::acknowledge(Cycle at, unsigned lines) {
    load_store_.acknowledge(at, lines);
    if (needs_acknowledgements()) due(at);
}

void Sm::prefetch(Cycle now, unsigned stage) const {
    if (stage < 2) inbox_.prefetch(now, stage);
    if (stage == 0) {
        __builtin_prefetch(&load_store_);
        for (const SubCore& sub_core : sub_cores_) sub_core.prefetch();
        return;
    }
    if (stage < 3) {
        for (unsigned i = 0; i < kSubCores; ++i) {
            const WarpSlot& slot = state_.warps[sub_cores_[i].next_slot() * kSubCores + i];
            if (stage == 1)
                __builtin_prefetch(&slot);
            else
                prefetch_warp(slot);
        }
    }
    if (stage < 2) return;
    for (const ArrivalWindows::Arrival& arrival : inbox_.peek(now)) {
        if (stage == 2) __builtin_prefetch(arrival.request);
        if (!LoadStoreUnit::owns(arrival.hint)) continue;
        if (stage < 4)
            load_store_.prefetch(arrival.hint, stage - 2);
        else
            __builtin_prefetch(&state_.warps[load_store_.waiting_warp(arrival.hint)]);
    }
}

void Sm::prefetch_warp(const WarpSlot& slot) {
    __builtin_prefetch(slot.warp.status);
    __builtin_prefetch(slot.scoreboard);
}

// Nobody needs the count of acknowledged stores but those who wait for them, and for stores when there is no
// room.
void Sm::drain_acknowledgements(Cycle now) {
    constexpr Cycle kLongest = 512;
    state_.drain_at = now + kLongest;
    if (load_store_.drain_acknowledgements(now) && state_.fences_waiting != 0) release_fences(now);
}

void Sm::take_arrivals(Cycle now) {
    for (; !state_.arrivals.empty() && state_.arrivals.front().at == now;
         state_.arrivals = state_.arrivals.subspan(1)) {
        MemoryRequest& message = *state_.arrivals.front().request;
        if ((message.tag & ClusterPort::kTag) != 0)
            take_cluster_message(message, now);
        else if (LineFetch::owns(message))
            take_lines(message, now);
        else
            load_store_.respond(message, now, state_.completed);
    }
    // A warp looks at its next instruction once for loads that one answer completes.
    for (std::size_t i = 0; i < state_.completed.size(); ++i) {
        const bool more = i + 1 < state_.completed.size() &&
                          state_.completed[i + 1].owner.warp == state_.completed[i].owner.warp;
        complete(state_.completed[i], now, !more);
    }
    state_.completed.clear();
    end_copies(now);
}

void Sm::release_fences(Cycle now) {
    if (load_store_.stores_outstanding()) return;
    for (unsigned warp = 0; warp < kWarps; ++warp) {
        if (!state_.warps[warp].waits_for_fence) continue;
        state_.warps[warp].waits_for_fence = false;
        --state_.fences_waiting;
        look_at_next(warp, now);
    }
}

/// Tells the sub-cores when the load-store unit can take no more loads or stores, and when it can again.
void Sm::update_room(Cycle now) {
    if (!load_store_.room_for_store()) drain_acknowledgements(now);
    const bool loads_blocked = !load_store_.room_for_load();
    const bool stores_blocked = !load_store_.room_for_store();
    if (loads_blocked == state_.loads_blocked && stores_blocked == state_.stores_blocked) return;
    const auto until = [now](bool blocked) {
        return blocked ? kPendingCycle : static_cast<std::uint32_t>(now);
    };
    state_.changed = (1u << kSubCores) - 1;
    for (SubCore& sub_core : sub_cores_) {
        sub_core.account(now);
        if (loads_blocked != state_.loads_blocked) sub_core.block(Unit::global_load, until(loads_blocked));
        if (stores_blocked != state_.stores_blocked)
            sub_core.block(Unit::global_store, until(stores_blocked));
    }
    state_.loads_blocked = loads_blocked;
    state_.stores_blocked = stores_blocked;
}

void Sm::use_load_store(unsigned warp, const TimedInstruction& row, const ptx::StepResult& step, Cycle now) {
    WarpSlot& slot = state_.warps[warp];
    LoadStoreUnit::Outcome outcome;
    if (row.info->texture) {
        const LoadOwner owner{static_cast<std::uint16_t>(warp), false, false, slot.instruction};
        outcome = load_store_.fetch_texels(step.access, static_cast<unsigned>(std::popcount(step.active_lanes)),
                                           CacheUse(*row.info), owner, now);
    } else if (step.access == nullptr || step.access->lanes == 0) {
        outcome = load_store_.shuffle(now);
    } else {
        outcome = access(warp, row, *step.access, now);
    }
    sub_core_of(warp).enqueue_load_store(outcome.start);
    state_.first_sub_core = (warp + 1) % kSubCores;
    if (row.tells_operands) set_operands_read(slot, row, outcome.start + kOperandsRead);
    const bool known = outcome.ready != kNever;
    if (!known) ++state_.cta_slots[slot.cta].loads;
    if (row.kind == TimingKind::async_copy) {
        if (known) {
            work_of(warp).copies.add(outcome.ready);
        } else {
            work_of(warp).copies.begin();
        }
    } else {
        set_written(slot, row, known ? memory_stamp(outcome.ready) : kPending);
    }
    update_room(now);
}

LoadStoreUnit::Outcome Sm::access(unsigned warp, const TimedInstruction& row, const ptx::MemoryAccess& access,
                                  Cycle now) {
    const WarpSlot& slot = state_.warps[warp];
    AccessPattern& pattern = launch_.patterns->of(row.pattern);
    LoadOwner owner{static_cast<std::uint16_t>(warp), row.kind == TimingKind::async_copy, false,
                    slot.instruction};
    const bool own = access.space == ptx::StateSpace::local;  // in the warp's fingerprint
    state_.writes += (access.write && !access.atomic && !own) || owner.async_copy ? 1 : 0;
    if (owner.async_copy) {
        owner.instruction = work_[warp].copies.open();
        return load_store_.load(access, pattern, CacheUse(*row.info), owner, now);
    }
    if (row.kind == TimingKind::memory_barrier && access.space == ptx::StateSpace::shared)
        return load_store_.access_barrier(access, pattern, row.latency, now);
    switch (access.space) {
        case ptx::StateSpace::shared:
            return load_store_.access_shared(access, pattern, now);
        case ptx::StateSpace::shared_cluster:
            return access_cluster(warp, row, access, owner, now);
        case ptx::StateSpace::local:
            return load_store_.access_local(access, pattern, row.info->spill, owner, now);
        case ptx::StateSpace::global:
            if (access.atomic)
                return load_store_.access_atomic(access, pattern, CacheUse(*row.info), row.written != 0,
                                                 owner, now);
            if (access.write) return load_store_.store(access, pattern, CacheUse(*row.info), now);
            return load_store_.load(access, pattern, CacheUse(*row.info), owner, now);
        default: {  // constants, and parameters by address
            LoadStoreUnit::Outcome outcome = load_store_.shuffle(now);
            const Cycle waited = outcome.ready - now - config_.shared.shuffle_latency;
            outcome.ready = waited + constants_.load(access, static_cast<std::uint32_t>(now), slot.launch,
                                                      launch_.plan->launches[slot.launch].first_constant);
            if (constants_.pending().empty()) return outcome;
            owner.constant = true;
            state_.warps[warp].constant = kPendingCycle;
            wait_for_constants(owner, outcome.ready, config_.constant_cache.load_latency);
            --state_.cta_slots[slot.cta].loads;  // the caller counts it
            outcome.ready = kNever;
            return outcome;
        }
    }
}

void Sm::complete(const LoadStoreUnit::Completed& done, Cycle now, bool last) {
    const unsigned warp = done.owner.warp;
    WarpSlot& slot = state_.warps[warp];
    if (done.owner.async_copy) {
        work_[warp].copies.finish(done.owner.instruction, done.ready);
        if (!state_.arriving.empty()) end_arrivals(warp, now);
    } else {
        if (done.owner.constant) slot.constant = static_cast<std::uint32_t>(done.ready);
        set_written(slot, launch_.plan->kernel.instructions[done.owner.instruction],
                    done.owner.constant ? fixed_stamp(done.ready) : memory_stamp(done.ready));
    }
    CtaSlot& cta = state_.cta_slots[slot.cta];
    --cta.loads;
    if (!last) return;
    if (slot.state == WarpState::running && !slot.waits_for_fence) {
        look_at_next(warp, now);
    } else if (slot.state == WarpState::finished) {
        finish_cta_if_done(cta, now);
    }
}

}  // namespace heddle::models::gpu
