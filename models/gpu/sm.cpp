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
      position_(position) {
    responses.bind(*this);
    ctas.bind(*this);
    cluster.bind(*this);
    scoreboards_.resize(kWarps);
    reset();
}

Sm::~Sm() = default;

void Sm::end_of_elaboration() {
    port_.connect(*requests[0]);
    reporter_ = scheduler[0];
    std::vector<ClusterNeighbour*> sms;
    for (int i = 0; i < neighbours.size(); ++i) sms.push_back(neighbours[i]);
    cluster_port_.connect(std::move(sms), places_);
}

void Sm::reset() {
    for (SubCore& sub_core : sub_cores_) sub_core.reset(config_.sm.scheduler, config_.load_store.queue);
    plan_ = nullptr;
    // Without a thread block nothing else has changed: kernels of few blocks cost few SMs.
    if (!std::exchange(used_, false)) return;
    port_.reset();
    load_store_.reset();
    line_fetch_.reset();
    constant_waits_.clear();
    bulk_copies_.reset();
    cluster_port_.reset();
    warpgroup_unit_.reset();
    operations_.clear();
    free_operations_.clear();
    ending_.clear();
    arriving_.clear();
    storing_.clear();
    releases_.clear();
    ends_operation_ = side_work_ = clustered_ = false;
    drain_at_ = 0;
    warps_.fill(WarpSlot{});
    for (WarpWork& work : work_)
        if (std::exchange(work.used, false)) work = WarpWork{};
    cta_slots_.clear();
    free_slots_.fill(0xffff);
    for (auto& scoreboard : scoreboards_) scoreboard.reset();
    arriving_ctas_.clear();
    inbox_.reset();
    arrivals_ = {};
    completed_.clear();
    ended_.clear();
    fences_waiting_ = 0;
    loads_blocked_ = stores_blocked_ = false;
    resident_ctas_ = 0;
    next_warp_start_ = 0;
    next_ = kNever;
    issue_at_.fill(kNever);
    changed_ = 0;
    now_ = 0;
    performing_ = false;
    first_sub_core_ = 0;
    busy_since_ = 0;
    watches_.clear();
    fewest_steps_ = ~std::uint64_t{0};
    most_steps_ = steps_ = 0;
    statistics_ = {};
    writes_ = 0;
}

void Sm::begin(const LaunchPlan& plan) {
    plan_ = &plan;
    part_ = plan.patterns.size() > 1 ? group() : 0;
    patterns_ = &plan.patterns[part_];
    clustered_ = ptx::cluster_size(*plan.launch) > 1;
    window_mask_ = std::min(plan.window, sm_window(config_, clustered_)) - 1;
    audit_ = plan.audit ? std::make_unique<SmAudit>(name(), config_, *plan.source) : nullptr;
    profile_.assign(plan.profile ? plan.kernel.instructions.size() : 0, {});
    watches_.assign(plan.left_out != nullptr ? kWarps : 0, {});
    for (SubCore& sub_core : sub_cores_) sub_core.set_profile(plan.profile ? profile_.data() : nullptr);
}

/// What only an SM that is given a thread block needs.
void Sm::prepare() {
    used_ = true;
    inbox_.set_lookahead(window_mask_ + 1);
    check_registers();
    load_store_.begin(plan_->occupancy.l1_bytes);
    instructions_.begin(config_.instruction_cache, plan_->kernel.lines, kSubCores, line_fetch_);
    constants_.begin(config_.constant_cache, config_.instruction_cache, kSubCores, line_fetch_);
    port_.set_window(plan_->launch->access_policy_window);
    cta_slots_.resize(plan_->occupancy.ctas_per_sm);
}

std::uint64_t Sm::events() const {
    std::uint64_t events = writes_ + load_store_.stores_sent() + statistics_.ctas;
    for (const CtaSlot& slot : cta_slots_) {
        events = events * 31 + (slot.used ? 1 : 0);
        if (slot.used) events = events * 31 + slot.cta->linear_index() + slot.cta->changes();
    }
    return events;
}

ptx::WarpFingerprint Sm::fingerprint(unsigned warp) const {
    const WarpSlot& slot = warps_[warp];
    return cta_slots_[slot.cta].cta->fingerprint(slot.warp.index());
}

void Sm::finish(Cycle end) {
    for (SubCore& sub_core : sub_cores_) {
        sub_core.plan(end);
        sub_core.account(end);
    }
}

void Sm::due(Cycle at) {
    next_ = std::min(next_, at);
    if (!performing_) wake(end_of(at));
}

// Bulk copies are told of their lines ahead of time.
void Sm::respond(MemoryRequest& request, Cycle arrival) {
    if ((request.tag & BulkCopyEngine::kTag) != 0) {
        bulk_copies_.respond(request, arrival, clock().now(), ended_);
        for (const BulkCopyEngine::Ended& ended : ended_) end_copy(ended, clock().now());
        ended_.clear();
        return;
    }
    wake(inbox_.push(request, arrival, request.tag));
}

void Sm::acknowledge(Cycle at) {
    load_store_.acknowledge(at);
    if (needs_acknowledgements()) due(at);
}

void Sm::start_cta(std::uint64_t index, Cycle first_instruction, ClusterPlace place) {
    if (!used_) prepare();
    arriving_ctas_.push_back({index, first_instruction, std::move(place)});
    side_work_ = true;
    due(first_instruction);
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
            const WarpSlot& slot = warps_[sub_cores_[i].next_slot() * kSubCores + i];
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
            __builtin_prefetch(&warps_[load_store_.waiting_warp(arrival.hint)]);
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
    drain_at_ = now + kLongest;
    if (load_store_.drain_acknowledgements(now) && fences_waiting_ != 0) release_fences(now);
}

Cycle Sm::tick(Cycle now) {
    arrivals_ = inbox_.take(now);
    for (const ArrivalWindows::Arrival& arrival : arrivals_) {
        if (LoadStoreUnit::owns(arrival.hint)) prefetch_warp(warps_[load_store_.waiting_warp(arrival.hint)]);
    }
    performing_ = true;
    for (;;) {
        now_ = arrivals_.empty() ? next_ : std::min<Cycle>(next_, arrivals_.front().at);
        if (now_ > now) break;
        next_ = kNever;
        const Cycle following = run_cycle(now_);
        next_ = std::min(next_, following);
    }
    now_ = now;
    performing_ = false;
    return std::min(next_ == kNever ? kNever : end_of(next_), inbox_.next(now));
}

// Returns the next cycle in which something happens, but for arrivals.
Cycle Sm::run_cycle(Cycle now) {
    if (needs_acknowledgements() || now >= drain_at_) drain_acknowledgements(now);
    if (!arrivals_.empty() && arrivals_.front().at == now) take_arrivals(now);
    if (side_work_) {
        if (!storing_.empty() || !ending_.empty()) end_operations(now);
        if (!releases_.empty()) release_due(now);
    }
    if (loads_blocked_ || stores_blocked_) update_room(now);
    while (side_work_ && !arriving_ctas_.empty() && arriving_ctas_.front().at <= now) {
        const Arrival arrival = std::move(arriving_ctas_.front());
        arriving_ctas_.pop_front();
        place_cta(arrival, now);
    }
    issue_due(now);
    Cycle next = kNever;
    for (unsigned changed = std::exchange(changed_, 0); changed != 0; changed &= changed - 1)
        plan(static_cast<unsigned>(std::countr_zero(changed)), now + 1);
    for (const Cycle at : issue_at_) next = std::min(next, at);
    if (needs_acknowledgements()) next = std::min(next, load_store_.next_acknowledgement());
    if (!side_work_) return next;
    side_work_ = !(arriving_ctas_.empty() && storing_.empty() && ending_.empty() && releases_.empty());
    if (!arriving_ctas_.empty()) next = std::min(next, arriving_ctas_.front().at);
    return std::min(next, next_end());
}

void Sm::plan(unsigned sub_core, Cycle from) {
    sub_cores_[sub_core].plan(from);
    issue_at_[sub_core] = sub_cores_[sub_core].next_cycle();
}

// The load-store unit takes turns among the sub-cores: first comes the one after the last it served.
void Sm::issue_due(Cycle now) {
    const unsigned first = first_sub_core_;
    unsigned passed = 0;  // of the sub-cores in their order
    for (;;) {
        unsigned due = changed_;
        for (unsigned i = 0; i < kSubCores; ++i) due |= issue_at_[i] <= now ? 1u << i : 0u;
        const unsigned in_order = (due | due << kSubCores) >> first & ((1u << kSubCores) - 1) & ~passed;
        if (in_order == 0) return;
        const auto place = static_cast<unsigned>(std::countr_zero(in_order));
        passed |= (2u << place) - 1;
        const unsigned sub_core = (first + place) % kSubCores;
        if ((changed_ >> sub_core & 1u) != 0) {
            changed_ &= ~(1u << sub_core);
            plan(sub_core, now);
        }
        if (issue_at_[sub_core] <= now) issue(sub_cores_[sub_core].next_slot() * kSubCores + sub_core, now);
    }
}

bool Sm::can_act(Cycle now) const {
    if (end_of(now) != now) return false;
    if (inbox_.due(now)) return true;
    if (!arriving_ctas_.empty() && arriving_ctas_.front().at <= now) return true;
    if (next_end() <= now) return true;
    if (needs_acknowledgements() && load_store_.next_acknowledgement() <= now) return true;
    for (unsigned warp = 0; warp < kWarps; ++warp) {
        const WarpSlot& slot = warps_[warp];
        if (slot.state != WarpState::running) continue;
        const TimedInstruction& row = plan_->kernel.instructions[slot.warp.next()];
        const Stamp ready = ready_stamp(warp, row);
        if (ready == kPending || slot.fetched > now || cycle_of(std::max(ready, slot.not_before)) > now)
            continue;
        if (sub_cores_[warp % kSubCores].can_take(row.unit, now)) return true;
    }
    return false;
}

void Sm::take_arrivals(Cycle now) {
    for (; !arrivals_.empty() && arrivals_.front().at == now; arrivals_ = arrivals_.subspan(1)) {
        MemoryRequest& message = *arrivals_.front().request;
        if ((message.tag & ClusterPort::kTag) != 0)
            take_cluster_message(message, now);
        else if (LineFetch::owns(message))
            take_lines(message, now);
        else
            load_store_.respond(message, now, completed_);
    }
    for (const LoadStoreUnit::Completed& done : completed_) complete(done, now);
    completed_.clear();
    end_copies(now);
}

void Sm::release_fences(Cycle now) {
    if (load_store_.stores_outstanding()) return;
    for (unsigned warp = 0; warp < kWarps; ++warp) {
        if (!warps_[warp].waits_for_fence) continue;
        warps_[warp].waits_for_fence = false;
        --fences_waiting_;
        look_at_next(warp, now);
    }
}

/// Tells the sub-cores when the load-store unit can take no more loads or stores, and when it can again.
void Sm::update_room(Cycle now) {
    if (!load_store_.room_for_store()) drain_acknowledgements(now);
    const bool loads_blocked = !load_store_.room_for_load();
    const bool stores_blocked = !load_store_.room_for_store();
    if (loads_blocked == loads_blocked_ && stores_blocked == stores_blocked_) return;
    const auto until = [now](bool blocked) {
        return blocked ? kPendingCycle : static_cast<std::uint32_t>(now);
    };
    changed_ = (1u << kSubCores) - 1;
    for (SubCore& sub_core : sub_cores_) {
        sub_core.account(now);
        if (loads_blocked != loads_blocked_) sub_core.block(Unit::global_load, until(loads_blocked));
        if (stores_blocked != stores_blocked_) sub_core.block(Unit::global_store, until(stores_blocked));
    }
    loads_blocked_ = loads_blocked;
    stores_blocked_ = stores_blocked;
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
        slot.registers = static_cast<std::uint16_t>(plan_->source->registers_per_thread());
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

/// When the operands of the warp's next instruction, and what else it waits for, are there.
Stamp Sm::ready_stamp(unsigned warp, const TimedInstruction& row) const {
    return row.waits_for_registers ? ready_of_registers(warps_[warp], row) : ready_of_groups(warp, row);
}

Stamp Sm::ready_of_registers(const WarpSlot& slot, const TimedInstruction& row) const {
    const std::uint16_t* const registers = plan_->kernel.registers.data() + row.first_register;
    Stamp ready = 0;
    for (unsigned i = 0; i < row.touched; ++i) ready = std::max(ready, slot.scoreboard[registers[i]]);
    return ready;
}

Stamp Sm::ready_of_groups(unsigned warp, const TimedInstruction& row) const {
    const WarpSlot& slot = warps_[warp];
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
            return memory_stamp(plan_->dependency_release);
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
    const std::uint16_t* const registers = plan_->kernel.registers.data() + row.first_register;
    for (unsigned i = 0; i < row.written; ++i) slot.scoreboard[registers[i]] = stamp;
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
    WarpSlot& slot = warps_[warp];
    SubCore& sub_core = sub_core_of(warp);
    sub_core.account(now);
    for (;;) {
        slot.instruction = slot.warp.next();
        const TimedInstruction& row = plan_->kernel.instructions[slot.instruction];
        if (row.kind == TimingKind::fence) load_store_.drain_acknowledgements(now);
        const Stamp ready = ready_stamp(warp, row);
        if (row.line != slot.line && row.kind != TimingKind::free) {
            slot.line = row.line;
            slot.fetched = instructions_.fetch(warp % kSubCores, row.line, static_cast<std::uint32_t>(now));
        }
        if (ready == kPending) {
            if (row.kind == TimingKind::fence) {
                slot.waits_for_fence = true;
                ++fences_waiting_;
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
        ++statistics_.warp_instructions;
        if (!watches_.empty()) watch_step(warp, slot.instruction, row.kind, now);
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
    WarpSlot& slot = warps_[warp];
    const TimedInstruction& row = plan_->kernel.instructions[slot.instruction];
    const std::uint32_t index = slot.instruction;
    if (clustered_) set_release(cta_slots_[slot.cta], row, now);
    sub_core_of(warp).issue(warp / kSubCores, now, row.unit, row.interval, row.slots, row.reads);
    const ptx::StepResult step = slot.step(now);
    if (audit_) audit_->issued(warp, row.info, step.info, now);
    ++statistics_.warp_instructions;
    statistics_.machine_instructions += row.slots;
    statistics_.pipeline_instructions[static_cast<std::size_t>(row.pipeline)] += row.slots;
    slot.not_before = 0;
    switch (row.kind) {
        case TimingKind::free:
        case TimingKind::arithmetic:
        case TimingKind::fence:
        case TimingKind::wait_group:
            if (row.tensor_macs != 0) {
                statistics_.tensor_macs += row.tensor_macs;
                statistics_.tensor_full_time += row.tensor_full_time;
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
            trigger(cta_slots_[slot.cta], now);
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
        case TimingKind::shuffle:
        case TimingKind::memory:
        case TimingKind::memory_barrier:
        case TimingKind::async_copy:
            use_load_store(warp, row, step, now);
            break;
    }
    if (!watches_.empty()) watch_step(warp, index, row.kind, now);
    if (step.started_operations != 0) {
        begin_operations(warp, now);
        update_room(now);
    }
    after_step(warp, step, now);
    if (step.started_operations != 0) end_copies(now);
}

void Sm::multiply(unsigned warp, const TimedInstruction& row, Cycle now) {
    WarpSlot& slot = warps_[warp];
    WarpWork& work = work_of(warp);
    statistics_.tensor_macs += row.tensor_macs;
    statistics_.tensor_full_time += row.tensor_full_time;
    const WarpgroupUnit::Outcome outcome = warpgroup_unit_.start(
        warp % kSubCores, plan_->kernel.products[row.latency], load_store_.busy_time(), now);
    work.products.add(outcome.end);
    work.product_begins[slot.next_product] = fixed_stamp(outcome.begin);
    slot.next_product = static_cast<std::uint8_t>((slot.next_product + 1u) % config_.wgmma.queue);
    if (row.commits) work.products.commit();
}

void Sm::use_load_store(unsigned warp, const TimedInstruction& row, const ptx::StepResult& step, Cycle now) {
    WarpSlot& slot = warps_[warp];
    LoadStoreUnit::Outcome outcome;
    if (step.access == nullptr || step.access->lanes == 0) {
        outcome = load_store_.shuffle(now);
    } else {
        outcome = access(warp, row, *step.access, now);
    }
    sub_core_of(warp).enqueue_load_store(outcome.start);
    first_sub_core_ = (warp + 1) % kSubCores;
    const bool known = outcome.ready != kNever;
    if (!known) ++cta_slots_[slot.cta].loads;
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
    const WarpSlot& slot = warps_[warp];
    AccessPattern& pattern = patterns_->of(row.pattern);
    LoadOwner owner{static_cast<std::uint16_t>(warp), row.kind == TimingKind::async_copy, false,
                    slot.instruction};
    const bool own = access.space == ptx::StateSpace::local;  // in the warp's fingerprint
    writes_ += (access.write && !access.atomic && !own) || owner.async_copy ? 1 : 0;
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
            outcome.ready = waited + constants_.load(access, static_cast<std::uint32_t>(now));
            if (constants_.pending().empty()) return outcome;
            owner.constant = true;
            warps_[warp].constant = kPendingCycle;
            wait_for_constants(owner, outcome.ready, config_.constant_cache.load_latency);
            --cta_slots_[slot.cta].loads;  // the caller counts it
            outcome.ready = kNever;
            return outcome;
        }
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

// For sampling. A wait for an mbarrier that has to wait is performed again: it does not count.
void Sm::watch_step(unsigned warp, std::uint32_t instruction, TimingKind kind, Cycle now) {
    const ptx::Warp& performed = warps_[warp].warp;
    WarpWatch& watch = watches_[warp];
    if (performed.blocked() && kind == TimingKind::memory_barrier) return;
    watch.step();
    ++steps_;
    if (!performed.finished() && kind == TimingKind::branch && performed.next() <= instruction)
        watch.turn(performed.next(), now + *plan_->left_out);
}

void Sm::count_steps(const CtaSlot& cta) {
    std::uint64_t steps = 0;
    for (unsigned i = 0; i < cta.warp_count; ++i) steps += watches_[cta.warps[i]].steps();
    fewest_steps_ = std::min(fewest_steps_, steps);
    most_steps_ = std::max(most_steps_, steps);
}

void Sm::complete(const LoadStoreUnit::Completed& done, Cycle now) {
    const unsigned warp = done.owner.warp;
    WarpSlot& slot = warps_[warp];
    if (done.owner.async_copy) {
        work_[warp].copies.finish(done.owner.instruction, done.ready);
        if (!arriving_.empty()) end_arrivals(warp, now);
    } else {
        if (done.owner.constant) slot.constant = static_cast<std::uint32_t>(done.ready);
        set_written(slot, plan_->kernel.instructions[done.owner.instruction],
                    done.owner.constant ? fixed_stamp(done.ready) : memory_stamp(done.ready));
    }
    CtaSlot& cta = cta_slots_[slot.cta];
    --cta.loads;
    if (slot.state == WarpState::running && !slot.waits_for_fence) {
        look_at_next(warp, now);
    } else if (slot.state == WarpState::finished) {
        finish_cta_if_done(cta, now);
    }
}

std::string Sm::describe_waiting() const {
    for (const CtaSlot& cta : cta_slots_) {
        if (cta.used) return cta.cta->describe_waiting() + describe_register_waits();
    }
    return {};
}

}  // namespace heddle::models::gpu
