// The life of thread blocks and warps on an SM.
#include <algorithm>
#include <bit>
#include <string>

#include "isa/common/error.h"
#include "models/gpu/sm.h"

namespace heddle::models::gpu {

void Sm::start_cta(std::uint64_t index, Cycle first_instruction, ClusterPlace place) {
    if (!used_) prepare();
    arriving_ctas_.push_back({index, first_instruction, std::move(place)});
    side_work_ = true;
    due(first_instruction);
}

/// The warp slot for one more warp: in the sub-core that has most free.
unsigned Sm::choose_slot() const {
    unsigned best = 0;
    for (unsigned sub_core = 1; sub_core < kSubCores; ++sub_core)
        if (std::popcount(free_slots_[sub_core]) > std::popcount(free_slots_[best])) best = sub_core;
    if (free_slots_[best] == 0) return kWarps;
    return static_cast<unsigned>(std::countr_zero(free_slots_[best])) * kSubCores + best;
}

void Sm::place_cta(const Arrival& arrival, Cycle now) {
    const auto place =
        std::find_if(cta_slots_.begin(), cta_slots_.end(), [](const CtaSlot& s) { return !s.used; });
    if (place == cta_slots_.end())
        throw Error("internal: " + std::string(name()) + " was given a CTA too many");
    CtaSlot& cta = *place;
    if (cta.cta == nullptr)
        cta.cta =
            plan_->source->make_block(*this, static_cast<std::uint32_t>(place - cta_slots_.begin()), part_);
    cta.cluster = arrival.place.run;
    cta.rank = arrival.place.rank;
    cta.cta->start(arrival.index, position_, cta.cluster == nullptr ? nullptr : &cta.cluster->cluster);
    instructions_.extend(plan_->kernel.lines);
    cta.used = true;
    cta.warp_count = cta.running = cta.cta->warp_count();
    cta.loads = 0;
    cta.free_registers = 0;
    cta.triggered = false;
    if (audit_) audit_->cta_started();
    ++statistics_.ctas;
    if (resident_ctas_++ == 0) busy_since_ = now;
    for (unsigned i = 0; i < cta.warp_count; ++i) {
        const unsigned warp = choose_slot();
        if (warp == kWarps) throw Error("internal: " + std::string(name()) + " was given a warp too many");
        if (audit_) audit_->warp_started(warp);
        cta.warps[i] = static_cast<std::uint8_t>(warp);
        WarpSlot& slot = warps_[warp];
        slot = WarpSlot{};
        slot.source = &cta.cta->warp(i);
        if (const ptx::Warp* const executed = slot.source->ptx_warp())
            slot.warp = *executed;
        else
            slot.warp.status = slot.source->status();
        if (work_[warp].used) work_[warp] = WarpWork{};
        free_slots_[warp % kSubCores] &= static_cast<std::uint16_t>(~(1u << warp / kSubCores));
        if (!scoreboards_[warp])
            scoreboards_[warp] = std::make_unique<Stamp[]>(plan_->kernel.scoreboard_size + 1);
        slot.scoreboard = scoreboards_[warp].get();  // stamps of an earlier warp lie in the past
        slot.cta = static_cast<std::uint16_t>(place - cta_slots_.begin());
        slot.registers = static_cast<std::uint16_t>(
            allocated_registers(config_.sm, plan_->source->registers_per_thread()));
        slot.state = WarpState::running;
        work_[warp].started = now;
        if (!watches_.empty()) watches_[warp].start(now + *plan_->left_out);
        next_warp_start_ = std::max(now, next_warp_start_);
        slot.not_before = fixed_stamp(next_warp_start_);
        next_warp_start_ += config_.launch.warp_interval;
        SubCore& sub_core = sub_core_of(warp);
        sub_core.account(now);
        sub_core.add_warp(warp / kSubCores);
        look_at_next(warp, now);
    }
}

void Sm::after_step(unsigned warp, const ptx::StepResult& step, Cycle now) {
    WarpSlot& slot = warps_[warp];
    CtaSlot& cta = cta_slots_[slot.cta];
    const TimingKind kind = plan_->kernel.instructions[slot.instruction].kind;
    if (step.finished) {
        finish_warp(warp, now);
    } else if (slot.warp.blocked()) {
        slot.state = WarpState::at_barrier;
        sub_core_of(warp).set_next(warp / kSubCores, kPending, Unit::control, CycleReason::barrier,
                                   slot.instruction);
    } else {
        look_at_next(warp, now);
    }
    if (step.released_warps == 0) return;
    const bool of_cluster = kind == TimingKind::cluster_arrive || kind == TimingKind::cluster_wait;
    release(cta, step.released_warps,
            now + (of_cluster ? config_.cluster.barrier_latency : config_.sm.barrier_latency), now);
}

void Sm::release(CtaSlot& cta, std::uint32_t warps, Cycle first_instruction, Cycle now) {
    for (; warps != 0; warps &= warps - 1) {
        const unsigned warp = cta.warps[static_cast<unsigned>(std::countr_zero(warps))];
        WarpSlot& slot = warps_[warp];
        if (slot.state != WarpState::at_barrier) continue;
        slot.state = WarpState::running;
        slot.not_before = fixed_stamp(first_instruction);
        look_at_next(warp, now);
    }
}

void Sm::finish_warp(unsigned warp, Cycle now) {
    WarpSlot& slot = warps_[warp];
    SubCore& sub_core = sub_core_of(warp);
    sub_core.account(now);
    sub_core.remove_warp(warp / kSubCores);
    slot.state = WarpState::finished;
    statistics_.warp_cycles += now + 1 - work_[warp].started;
    CtaSlot& cta = cta_slots_[slot.cta];
    --cta.running;
    finish_cta_if_done(cta, now);
}

// Dependents may start when every thread block has triggered them, once, or has ended.
void Sm::trigger(CtaSlot& cta, Cycle at) {
    if (cta.triggered) return;
    cta.triggered = true;
    statistics_.last_trigger = std::max(statistics_.last_trigger, at);
}

void Sm::finish_cta_if_done(CtaSlot& cta, Cycle now) {
    if (cta.running != 0 || cta.loads != 0) return;
    if (audit_) audit_->cta_ended({cta.warps.data(), cta.warp_count});
    for (unsigned i = 0; i < cta.warp_count; ++i) {
        const unsigned warp = cta.warps[i];
        warps_[warp].state = WarpState::empty;
        free_slots_[warp % kSubCores] |= static_cast<std::uint16_t>(1u << warp / kSubCores);
    }
    if (!watches_.empty()) count_steps(cta);
    cta.used = false;
    trigger(cta, now + 1);
    cta.cluster.reset();
    if (--resident_ctas_ == 0) statistics_.cta_cycles += now + 1 - busy_since_;
    report_finished(now + 1);
}

void Sm::report_finished(Cycle at) {
    if (!clock().apart()) return reporter_->cta_finished(position_, at);
    const auto deliver = [](void* reporter, void* sm, Cycle free) {
        static_cast<CtaReporter*>(reporter)->cta_finished(static_cast<Sm*>(sm)->position_, free);
    };
    post(nullptr, deliver, reporter_, this, at);
}

void Sm::count_steps(const CtaSlot& cta) {
    std::uint64_t steps = 0;
    for (unsigned i = 0; i < cta.warp_count; ++i) steps += watches_[cta.warps[i]].steps();
    fewest_steps_ = std::min(fewest_steps_, steps);
    most_steps_ = std::max(most_steps_, steps);
}

std::string Sm::describe_waiting() const {
    for (const CtaSlot& cta : cta_slots_) {
        if (cta.used) return cta.cta->describe_waiting() + describe_register_waits();
    }
    return {};
}

}  // namespace heddle::models::gpu
