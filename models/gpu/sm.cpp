#include "models/gpu/sm.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "isa/common/error.h"
#include "models/gpu/lookahead.h"

namespace heddle::models::gpu {

Sm::Sm(const sc_core::sc_module_name& name, ClockDomain& clock, const GpuConfig& config,
       std::uint32_t position, MemoryRequestPool& pool)
    : Block(name, clock),
      requests("requests"),
      responses("responses"),
      ctas("ctas"),
      scheduler("scheduler"),
      neighbours("neighbours"),
      cluster("cluster"),
      config_(config),
      port_(config, position, pool),
      load_store_(config_, port_),
      line_fetch_(port_),
      bulk_copies_(config_, port_, load_store_),
      cluster_port_(config.cluster, position, pool),
      warpgroup_unit_(config.wgmma),
      tensor_unit_(config.tcgen05),
      position_(position) {
    responses.bind(*this);
    ctas.bind(*this);
    cluster.bind(*this);
    reset();
}

Sm::~Sm() = default;

void Sm::end_of_elaboration() {
    port_.connect(*requests[0]);
    reporter_ = scheduler[0];
    std::vector<ClusterNeighbour*> sms;
    sms.reserve(static_cast<std::size_t>(neighbours.size()));
    for (int i = 0; i < neighbours.size(); ++i) sms.push_back(neighbours[i]);
    cluster_port_.connect(std::move(sms), places_);
}

void Sm::reset() {
    for (SubCore& sub_core : sub_cores_) sub_core.reset(config_.sm.scheduler, config_.load_store.queue);
    launch_ = {};
    // Without a thread block nothing else has changed: kernels of few blocks cost few SMs.
    if (!std::exchange(used_, false)) return;
    state_ = {};
    for (WarpWork& work : work_)
        if (std::exchange(work.used, false)) work = WarpWork{};
    inbox_.reset();
    port_.reset();
    load_store_.reset();
    line_fetch_.reset();
    bulk_copies_.reset();
    cluster_port_.reset();
    warpgroup_unit_.reset();
    tensor_unit_.reset();
    tensor_memory_.reset();
}

void Sm::begin(const LaunchPlan& plan) {
    launch_.plan = &plan;
    launch_.part = plan.patterns.size() > 1 ? group() : 0;
    launch_.patterns = &plan.patterns[launch_.part];
    launch_.clustered = false;
    launch_.first_instruction.clear();
    launch_.dependency_release.clear();
    for (const RunLaunch& one : plan.launches) {
        launch_.clustered = launch_.clustered || ptx::cluster_size(*one.launch) > 1;
        launch_.first_instruction.push_back(one.first_instruction);
        launch_.dependency_release.push_back(one.dependency_release);
    }
    launch_.window_mask = std::min(plan.window, sm_window(config_, launch_.clustered)) - 1;
    if (signals_) signals_->begin();
    launch_.observed = plan.audit || signals_ != nullptr;
    launch_.audit = plan.audit ? std::make_unique<SmAudit>(name(), config_, plan) : nullptr;
    launch_.profile.assign(plan.profile ? plan.kernel.instructions.size() : 0, {});
    launch_.watches.assign(plan.left_out != nullptr ? kWarps : 0, {});
    for (SubCore& sub_core : sub_cores_)
        sub_core.set_profile(plan.profile ? launch_.profile.data() : nullptr);
}

/// What only an SM that is given a thread block needs.
void Sm::prepare() {
    used_ = true;
    inbox_.set_lookahead(launch_.window_mask + 1);
    check_registers();
    std::uint64_t l1_bytes = config_.l1.unified_bytes;
    unsigned ctas = 0;
    for (const RunLaunch& one : launch_.plan->launches) {
        l1_bytes = std::min(l1_bytes, one.occupancy.l1_bytes);
        ctas += one.occupancy.ctas_per_sm;
    }
    load_store_.begin(l1_bytes);
    instructions_.begin(config_.instruction_cache, launch_.plan->kernel.lines, kSubCores, line_fetch_);
    constants_.begin(config_.constant_cache, config_.instruction_cache, kSubCores, line_fetch_);
    port_.set_window(launch_.plan->only().launch->access_policy_window);
    state_.arrived.resize(launch_.plan->launches.size());
    state_.cta_slots.resize(launch_.plan->launches.size() == 1 ? ctas : std::min(ctas, config_.sm.ctas));
}

std::uint64_t Sm::events() const {
    std::uint64_t events = state_.writes + load_store_.stores_sent() + state_.statistics.ctas;
    for (const CtaSlot& slot : state_.cta_slots) {
        events = events * 31 + (slot.used ? 1 : 0);
        if (slot.used) events = events * 31 + slot.cta->linear_index() + slot.cta->changes();
    }
    return events;
}

ptx::WarpFingerprint Sm::fingerprint(unsigned warp) const {
    const WarpSlot& slot = state_.warps[warp];
    return state_.cta_slots[slot.cta].cta->fingerprint(slot.warp.index());
}

void Sm::finish(Cycle end) {
    for (SubCore& sub_core : sub_cores_) {
        sub_core.plan(end);
        sub_core.account(end);
    }
}

void Sm::due(Cycle at) {
    state_.next = std::min(state_.next, at);
    if (!state_.performing) wake(end_of(at));
}

Cycle Sm::tick(Cycle now) {
    state_.arrivals = inbox_.take(now);
    for (const ArrivalWindows::Arrival& arrival : state_.arrivals) {
        if (LoadStoreUnit::owns(arrival.hint))
            prefetch_warp(state_.warps[load_store_.waiting_warp(arrival.hint)]);
    }
    state_.performing = true;
    for (;;) {
        state_.now =
            state_.arrivals.empty() ? state_.next : std::min<Cycle>(state_.next, state_.arrivals.front().at);
        if (state_.now > now) break;
        state_.next = kNever;
        const Cycle following = run_cycle(state_.now);
        if (signals_) [[unlikely]]
            tell_signals(state_.now);
        state_.next = std::min(state_.next, following);
    }
    state_.now = now;
    state_.performing = false;
    return std::min(state_.next == kNever ? kNever : end_of(state_.next), inbox_.next(now));
}

// Returns the next cycle in which something happens, but for arrivals.
Cycle Sm::run_cycle(Cycle now) {
    if (needs_acknowledgements() || now >= state_.drain_at) drain_acknowledgements(now);
    if (!state_.arrivals.empty() && state_.arrivals.front().at == now) take_arrivals(now);
    if (state_.side_work) {
        if (!state_.storing.empty() || !state_.ending.empty()) end_operations(now);
        if (!state_.releases.empty()) release_due(now);
        if (!state_.dependents.empty()) release_waiting_dependents(now);
    }
    if (state_.loads_blocked || state_.stores_blocked) update_room(now);
    while (state_.side_work && !state_.arriving_ctas.empty() && state_.arriving_ctas.front().at <= now) {
        const Arrival arrival = std::move(state_.arriving_ctas.front());
        state_.arriving_ctas.pop_front();
        place_cta(arrival, now);
    }
    issue_due(now);
    Cycle next = kNever;
    for (unsigned changed = std::exchange(state_.changed, 0); changed != 0; changed &= changed - 1)
        plan(static_cast<unsigned>(std::countr_zero(changed)), now + 1);
    for (const Cycle at : state_.issue_at) next = std::min(next, at);
    if (needs_acknowledgements()) next = std::min(next, load_store_.next_acknowledgement());
    if (!state_.side_work) return next;
    state_.side_work = !(state_.arriving_ctas.empty() && state_.storing.empty() && state_.ending.empty() &&
                         state_.releases.empty() && state_.dependents.empty());
    if (!state_.arriving_ctas.empty()) next = std::min(next, state_.arriving_ctas.front().at);
    return std::min(next, next_end());
}

void Sm::plan(unsigned sub_core, Cycle from) {
    sub_cores_[sub_core].plan(from);
    state_.issue_at[sub_core] = sub_cores_[sub_core].next_cycle();
}

// The load-store unit takes turns among the sub-cores: first comes the one after the last it served.
void Sm::issue_due(Cycle now) {
    const unsigned first = state_.first_sub_core;
    unsigned passed = 0;  // of the sub-cores in their order
    for (;;) {
        unsigned due = state_.changed;
        for (unsigned i = 0; i < kSubCores; ++i) due |= state_.issue_at[i] <= now ? 1u << i : 0u;
        const unsigned in_order = (due | due << kSubCores) >> first & ((1u << kSubCores) - 1) & ~passed;
        if (in_order == 0) return;
        const auto place = static_cast<unsigned>(std::countr_zero(in_order));
        passed |= (2u << place) - 1;
        const unsigned sub_core = (first + place) % kSubCores;
        if ((state_.changed >> sub_core & 1u) != 0) {
            state_.changed &= ~(1u << sub_core);
            plan(sub_core, now);
        }
        if (state_.issue_at[sub_core] <= now)
            issue(sub_cores_[sub_core].next_slot() * kSubCores + sub_core, now);
    }
}

bool Sm::can_act(Cycle now) const {
    if (end_of(now) != now) return false;
    if (inbox_.due(now)) return true;
    if (!state_.arriving_ctas.empty() && state_.arriving_ctas.front().at <= now) return true;
    if (next_end() <= now) return true;
    if (needs_acknowledgements() && load_store_.next_acknowledgement() <= now) return true;
    for (unsigned warp = 0; warp < kWarps; ++warp) {
        const WarpSlot& slot = state_.warps[warp];
        if (slot.state != WarpState::running) continue;
        const TimedInstruction& row = launch_.plan->kernel.instructions[next_instruction(slot)];
        const Stamp ready = ready_stamp(warp, row);
        if (ready == kPending || slot.fetched > now || cycle_of(std::max(ready, slot.not_before)) > now)
            continue;
        if (sub_cores_[warp % kSubCores].can_take(row.unit, now)) return true;
    }
    return false;
}

/// When the operands of the warp's next instruction, and what else it waits for, are there.
Stamp Sm::ready_stamp(unsigned warp, const TimedInstruction& row) const {
    return row.waits_for_registers ? ready_of_registers(state_.warps[warp], row) : ready_of_groups(warp, row);
}

Stamp Sm::ready_of_registers(const WarpSlot& slot, const TimedInstruction& row) const {
    const std::uint16_t* const registers = launch_.plan->kernel.registers.data() + row.first_register;
    Stamp ready = 0;
    for (unsigned i = 0; i < row.touched; ++i) ready = std::max(ready, slot.scoreboard[registers[i]]);
    return ready;
}

Stamp Sm::ready_of_groups(unsigned warp, const TimedInstruction& row) const {
    const WarpSlot& slot = state_.warps[warp];
    const WarpWork& work = work_[warp];
    switch (row.kind) {
        case TimingKind::wait_group:
            return work.copies.ready(row.groups_left);
        case TimingKind::tensor_wait: {  // not memory's fault
            const Stamp ready = work.products.ready(row.groups_left);
            return ready == kPending ? ready : fixed_stamp(cycle_of(ready));
        }
        case TimingKind::bulk_wait:
            return std::max(work.bulk_reads.ready(row.groups_left), work.bulk_writes.ready(row.groups_left));
        case TimingKind::bulk_wait_read:
            return work.bulk_reads.ready(row.groups_left);
        case TimingKind::dependency_wait:
            return launch_.dependency_release[slot.launch] == kNever ? kPending
                                                                      : memory_stamp(launch_.dependency_release[slot.launch]);
        case TimingKind::tensor_load_wait:
            return work.tensor_loads;
        case TimingKind::tensor_store_wait:
            return work.tensor_stores;
        case TimingKind::warpgroup_product:
            return std::max(work.product_begins[slot.next_product], ready_of_registers(slot, row));
        case TimingKind::more_registers:
            return has_registers(slot, row) ? ready_of_registers(slot, row) : kPending;
        case TimingKind::fence:
            return load_store_.stores_outstanding() ? kPending : ready_of_registers(slot, row);
        default:
            return ready_of_registers(slot, row);
    }
}

void Sm::set_written(WarpSlot& slot, const TimedInstruction& row, Stamp stamp) {
    const std::uint16_t* const registers = launch_.plan->kernel.registers.data() + row.first_register;
    for (unsigned i = 0; i < row.written; ++i) slot.scoreboard[registers[i]] = stamp;
}

// The place of the barrier that says that the operands have been read stands behind those that are written.
void Sm::set_operands_read(WarpSlot& slot, const TimedInstruction& row, Cycle at) {
    slot.scoreboard[launch_.plan->kernel.registers[row.first_register + row.written]] = fixed_stamp(at);
}

/// Why the warp's next instruction does not issue before `ready`.
CycleReason Sm::reason_of(const WarpSlot& slot, Stamp ready) const {
    const std::uint32_t cycle = cycle_of(ready);
    if (from_memory(ready)) return CycleReason::memory;
    if (cycle == slot.fetched && cycle > cycle_of(slot.not_before)) return CycleReason::instruction_fetch;
    return cycle == slot.constant ? CycleReason::constant_miss : CycleReason::fixed_latency;
}

/// Finds out when the warp's next instruction can issue and tells its sub-core. Instructions that take no
/// issue slot are performed on the way, as soon as their operands' time is known.
void Sm::look_at_next(unsigned warp, Cycle now) {
    WarpSlot& slot = state_.warps[warp];
    SubCore& sub_core = sub_core_of(warp);
    sub_core.account(now);
    for (;;) {
        slot.instruction = next_instruction(slot);
        const TimedInstruction& row = launch_.plan->kernel.instructions[slot.instruction];
        if (row.kind == TimingKind::fence) load_store_.drain_acknowledgements(now);
        const Stamp ready = ready_stamp(warp, row);
        if (row.line != slot.line && row.kind != TimingKind::free) {
            slot.line = row.line;
            slot.fetched = instructions_.fetch(warp % kSubCores, row.line, static_cast<std::uint32_t>(now));
        }
        if (ready == kPending) {
            if (row.kind == TimingKind::fence) {
                slot.waits_for_fence = true;
                ++state_.fences_waiting;
            }
            sub_core.set_next(
                warp / kSubCores, kPending, row.unit,
                slot.constant == kPendingCycle ? CycleReason::constant_miss : CycleReason::memory,
                slot.instruction);
            return;
        }
        if (row.kind != TimingKind::free) {
            const Stamp able = std::max({ready, slot.not_before, fixed_stamp(slot.fetched)});
            sub_core.set_next(warp / kSubCores, able, row.unit, reason_of(slot, able), slot.instruction);
            return;
        }
        const ptx::StepResult step = slot.step(now);
        ++state_.statistics.warp_instructions;
        if (!launch_.watches.empty()) watch_step(warp, slot.instruction, row.kind, now);
        if (row.parameter_offset >= 0) {
            slot.constant =
                constants_.parameter(warp % kSubCores, static_cast<std::uint32_t>(row.parameter_offset),
                                     static_cast<std::uint32_t>(now));
            if (slot.constant == kPendingCycle)
                wait_for_constants({static_cast<std::uint16_t>(warp), false, true, slot.instruction}, now, 0);
            set_written(
                slot, row,
                slot.constant == kPendingCycle ? kPending : std::max(ready, fixed_stamp(slot.constant)));
        } else {
            set_written(slot, row, ready);
        }
        if (step.finished) {
            finish_warp(warp, now);
            return;
        }
    }
}

void Sm::issue(unsigned warp, Cycle now) {
    WarpSlot& slot = state_.warps[warp];
    const TimedInstruction& row = launch_.plan->kernel.instructions[slot.instruction];
    const std::uint32_t index = slot.instruction;
    if (launch_.clustered) set_release(state_.cta_slots[slot.cta], row, now);
    sub_core_of(warp).issue(warp / kSubCores, now, row.unit, row.interval, row.slots, row.reads);
    const ptx::StepResult step = slot.step(now);
    if (launch_.observed) tell_issue(warp, row, step, now);
    ++state_.statistics.warp_instructions;
    state_.statistics.machine_instructions += row.slots;
    state_.statistics.pipeline_instructions[static_cast<std::size_t>(row.pipeline)] += row.slots;
    slot.not_before = 0;
    switch (row.kind) {
        case TimingKind::free:
        case TimingKind::arithmetic:
        case TimingKind::fence:
        case TimingKind::wait_group:
            if (row.tensor_macs != 0) {
                state_.statistics.tensor_macs += row.tensor_macs;
                state_.statistics.tensor_full_time += row.tensor_full_time;
            }
            set_written(slot, row, fixed_stamp(now + row.latency));
            break;
        case TimingKind::commit_group:
            work_of(warp).copies.commit();
            break;
        case TimingKind::warpgroup_product:
            multiply(warp, row, now);
            break;
        case TimingKind::tensor_commit:
            work_of(warp).products.commit();
            break;
        case TimingKind::bulk_commit:
            work_of(warp).bulk_reads.commit();
            work_of(warp).bulk_writes.commit();
            break;
        case TimingKind::launch_dependents:
            trigger(state_.cta_slots[slot.cta], now);
            break;
        case TimingKind::dependency_wait:
            slot.not_before = fixed_stamp(now + 1);
            break;
        case TimingKind::fewer_registers:
        case TimingKind::more_registers:
            change_registers(warp, row, now);
            break;
        case TimingKind::tensor_wait:
        case TimingKind::bulk_wait:
        case TimingKind::bulk_wait_read:
            slot.not_before = fixed_stamp(now + 1);
            break;
        case TimingKind::branch:
            if (!step.finished && !slot.warp.blocked() && slot.warp.next() != index + 1) {
                slot.not_before = fixed_stamp(now + config_.sm.branch_latency);
            }
            break;
        case TimingKind::cluster_arrive:
            slot.cluster_arrival = fixed_stamp(now + config_.cluster.barrier_latency);
            break;
        case TimingKind::cluster_wait:
            slot.not_before = std::max(slot.cluster_arrival, fixed_stamp(now + 1));
            break;
        case TimingKind::barrier:
            slot.not_before = fixed_stamp(now + config_.sm.barrier_latency);
            break;
        case TimingKind::tensor_memory_load: {
            const Cycle end = tensor_unit_.load(warp % kSubCores, row.info->tensor_memory_bytes, now);
            work_of(warp).tensor_loads = std::max(work_of(warp).tensor_loads, fixed_stamp(end));
            set_written(slot, row, fixed_stamp(end));
            break;
        }
        case TimingKind::tensor_memory_store: {
            const Cycle end = tensor_unit_.store(warp % kSubCores, row.info->tensor_memory_bytes, now);
            work_of(warp).tensor_stores = std::max(work_of(warp).tensor_stores, fixed_stamp(end));
            break;
        }
        case TimingKind::tensor_load_wait:
        case TimingKind::tensor_store_wait:
            slot.not_before = fixed_stamp(now + 1);
            break;
        case TimingKind::shuffle:
        case TimingKind::memory:
        case TimingKind::memory_barrier:
        case TimingKind::async_copy:
            use_load_store(warp, row, step, now);
            break;
    }
    if (row.stall != 0) slot.not_before = std::max(slot.not_before, fixed_stamp(now + row.stall));
    if (row.tells_operands && row.pipeline != ptx::Pipeline::load_store)
        set_operands_read(slot, row, now + kOperandsRead);
    if (!launch_.watches.empty()) watch_step(warp, index, row.kind, now);
    if (step.started_operations != 0) {
        begin_operations(warp, now);
        update_room(now);
    }
    after_step(warp, step, now);
    if (step.started_operations != 0) end_copies(now);
}

void Sm::multiply(unsigned warp, const TimedInstruction& row, Cycle now) {
    WarpSlot& slot = state_.warps[warp];
    WarpWork& work = work_of(warp);
    state_.statistics.tensor_macs += row.tensor_macs;
    state_.statistics.tensor_full_time += row.tensor_full_time;
    const WarpgroupUnit::Outcome outcome = warpgroup_unit_.start(
        warp % kSubCores, launch_.plan->kernel.products[row.latency], load_store_.busy_time(), now);
    work.products.add(outcome.end);
    work.product_begins[slot.next_product] = fixed_stamp(outcome.begin);
    slot.next_product = static_cast<std::uint8_t>((slot.next_product + 1u) % config_.wgmma.queue);
    if (row.commits) work.products.commit();
}

// For sampling. A wait for an mbarrier that has to wait is performed again: it does not count.
void Sm::watch_step(unsigned warp, std::uint32_t instruction, TimingKind kind, Cycle now) {
    const ptx::Warp& performed = state_.warps[warp].warp;
    WarpWatch& watch = launch_.watches[warp];
    if (performed.blocked() && kind == TimingKind::memory_barrier) return;
    watch.step();
    ++state_.steps;
    if (!performed.finished() && kind == TimingKind::branch && performed.next() <= instruction)
        watch.turn(performed.next(), now + *launch_.plan->left_out);
}

}  // namespace heddle::models::gpu
