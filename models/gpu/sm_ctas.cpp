// The life of thread blocks and warps on an SM.
#include <algorithm>
#include <bit>
#include <string>

#include "isa/common/error.h"
#include "models/gpu/sm.h"

namespace heddle::models::gpu {

namespace {

/// `what`: the launch, the SM, and whether the CTA has ended, as Sm::report() packs them into a message.
void tell_scheduler(CtaReporter& scheduler, std::uintptr_t what, Cycle at) {
    const auto launch = static_cast<std::uint32_t>(what >> 32);
    if ((what & 1) != 0)
        scheduler.cta_finished(static_cast<std::uint32_t>(what & 0xffffffff) >> 1, launch, at);
    else
        scheduler.cta_triggered(launch, at);
}

}  // namespace

void Sm::start_cta(CtaOfRun cta, Cycle first_instruction, ClusterPlace place) {
    if (!used_) prepare();
    state_.arriving_ctas.push_back({cta, first_instruction, std::move(place)});
    state_.side_work = true;
    due(first_instruction);
}

/// The warp slot for one more warp: in the sub-core that has most free.
unsigned Sm::choose_slot() const {
    unsigned best = 0;
    for (unsigned sub_core = 1; sub_core < kSubCores; ++sub_core)
        if (std::popcount(state_.free_slots[sub_core]) > std::popcount(state_.free_slots[best]))
            best = sub_core;
    if (state_.free_slots[best] == 0) return kWarps;
    return static_cast<unsigned>(std::countr_zero(state_.free_slots[best])) * kSubCores + best;
}

void Sm::place_cta(const Arrival& arrival, Cycle now) {
    const RunLaunch& launch = launch_.plan->launches[arrival.cta.launch];
    const auto place = std::find_if(state_.cta_slots.begin(), state_.cta_slots.end(),
                                    [](const CtaSlot& s) { return !s.used; });
    if (place == state_.cta_slots.end())
        throw Error("internal: " + std::string(name()) + " was given a CTA too many");
    CtaSlot& cta = *place;
    if (cta.cta != nullptr && cta.launch != arrival.cta.launch) cta.cta.reset();
    cta.launch = arrival.cta.launch;
    if (cta.cta == nullptr)
        cta.cta = launch.source->make_block(
            *this, static_cast<std::uint32_t>(place - state_.cta_slots.begin()), launch_.part);
    if (!state_.arrived[cta.launch]) {
        state_.arrived[cta.launch] = true;
        if (launch_.plan->launches.size() > 1) instructions_.prefetch(launch.first_line, launch.end_line);
    }
    cta.cluster = arrival.place.run;
    cta.rank = arrival.place.rank;
    cta.cta->start(arrival.cta.index, position_, cta.cluster == nullptr ? nullptr : &cta.cluster->cluster);
    instructions_.extend(launch_.plan->kernel.lines);
    cta.used = true;
    cta.warp_count = cta.running = cta.cta->warp_count();
    cta.loads = 0;
    cta.tensor_end = 0;
    cta.free_registers = 0;
    cta.triggered = false;
    if (launch_.audit) launch_.audit->cta_started(cta.launch);
    ++state_.statistics.ctas;
    if (state_.resident_ctas++ == 0) state_.busy_since = now;
    for (unsigned i = 0; i < cta.warp_count; ++i) {
        const unsigned warp = choose_slot();
        if (warp == kWarps) throw Error("internal: " + std::string(name()) + " was given a warp too many");
        if (launch_.audit) launch_.audit->warp_started(warp);
        cta.warps[i] = static_cast<std::uint8_t>(warp);
        WarpSlot& slot = state_.warps[warp];
        slot = WarpSlot{};
        slot.source = &cta.cta->warp(i);
        if (const ptx::Warp* const executed = slot.source->ptx_warp())
            slot.warp = *executed;
        else
            slot.warp.status = slot.source->status();
        if (work_[warp].used) work_[warp] = WarpWork{};
        state_.free_slots[warp % kSubCores] &= static_cast<std::uint16_t>(~(1u << warp / kSubCores));
        if (!state_.scoreboards[warp])
            state_.scoreboards[warp] = std::make_unique<Stamp[]>(launch_.plan->kernel.scoreboard_size + 1);
        slot.scoreboard = state_.scoreboards[warp].get();  // stamps of an earlier warp lie in the past
        slot.cta = static_cast<std::uint8_t>(place - state_.cta_slots.begin());
        slot.launch = static_cast<std::uint16_t>(cta.launch);
        slot.registers = static_cast<std::uint16_t>(
            allocated_registers(config_.sm, launch.source->registers_per_thread()));
        slot.state = WarpState::running;
        work_[warp].started = now;
        if (!launch_.watches.empty()) launch_.watches[warp].start(now + *launch_.plan->left_out);
        state_.next_warp_start = std::max(now, state_.next_warp_start);
        slot.not_before = fixed_stamp(state_.next_warp_start);
        state_.next_warp_start += config_.launch.warp_interval;
        SubCore& sub_core = sub_core_of(warp);
        sub_core.account(now);
        sub_core.add_warp(warp / kSubCores);
        look_at_next(warp, now);
    }
}

void Sm::after_step(unsigned warp, const ptx::StepResult& step, Cycle now) {
    WarpSlot& slot = state_.warps[warp];
    CtaSlot& cta = state_.cta_slots[slot.cta];
    const TimingKind kind = launch_.plan->kernel.instructions[slot.instruction].kind;
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
        WarpSlot& slot = state_.warps[warp];
        if (slot.state != WarpState::at_barrier) continue;
        slot.state = WarpState::running;
        slot.not_before = fixed_stamp(first_instruction);
        look_at_next(warp, now);
    }
}

void Sm::finish_warp(unsigned warp, Cycle now) {
    WarpSlot& slot = state_.warps[warp];
    SubCore& sub_core = sub_core_of(warp);
    sub_core.account(now);
    sub_core.remove_warp(warp / kSubCores);
    slot.state = WarpState::finished;
    state_.statistics.warp_cycles += now + 1 - work_[warp].started;
    CtaSlot& cta = state_.cta_slots[slot.cta];
    --cta.running;
    finish_cta_if_done(cta, now);
}

// Dependents may start when every thread block has triggered them, once, or has ended.
void Sm::trigger(CtaSlot& cta, Cycle at) {
    if (cta.triggered) return;
    cta.triggered = true;
    state_.statistics.last_trigger = std::max(state_.statistics.last_trigger, at);
    if (launch_.plan->launches[cta.launch].tells_triggers) report(cta.launch, at, false);
}

void Sm::finish_cta_if_done(CtaSlot& cta, Cycle now) {
    if (cta.running != 0 || cta.loads != 0) return;
    if (launch_.audit) launch_.audit->cta_ended({cta.warps.data(), cta.warp_count}, cta.launch);
    for (unsigned i = 0; i < cta.warp_count; ++i) {
        const unsigned warp = cta.warps[i];
        state_.warps[warp].state = WarpState::empty;
        state_.free_slots[warp % kSubCores] |= static_cast<std::uint16_t>(1u << warp / kSubCores);
    }
    if (!launch_.watches.empty()) count_steps(cta);
    cta.used = false;
    trigger(cta, now + 1);
    cta.cluster.reset();
    if (--state_.resident_ctas == 0) state_.statistics.cta_cycles += now + 1 - state_.busy_since;
    report(cta.launch, now + 1, true);
}

/// Tells the scheduler that a CTA of a launch has ended, or allowed dependents to begin.
void Sm::report(std::uint32_t launch, Cycle at, bool ended) {
    const std::uintptr_t what = std::uintptr_t{launch} << 32 | std::uintptr_t{position_} << 1 | (ended ? 1 : 0);
    if (!clock().apart()) return tell_scheduler(*reporter_, what, at);
    const auto deliver = [](void* reporter, void* told, Cycle when) {
        tell_scheduler(*static_cast<CtaReporter*>(reporter), reinterpret_cast<std::uintptr_t>(told), when);
    };
    static_assert(sizeof(void*) == 8);
    post(nullptr, deliver, reporter_, reinterpret_cast<void*>(what), at);
}

void Sm::count_steps(const CtaSlot& cta) {
    std::uint64_t steps = 0;
    for (unsigned i = 0; i < cta.warp_count; ++i) steps += launch_.watches[cta.warps[i]].steps();
    state_.fewest_steps = std::min(state_.fewest_steps, steps);
    state_.most_steps = std::max(state_.most_steps, steps);
}

std::string Sm::describe_waiting() const {
    for (const CtaSlot& cta : state_.cta_slots) {
        if (cta.used) return cta.cta->describe_waiting() + describe_register_waits();
    }
    return {};
}

}  // namespace heddle::models::gpu
