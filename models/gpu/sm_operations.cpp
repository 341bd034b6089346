// The SM's part in asynchronous work: bulk copies, arrivals that wait for copies, and warps that something
// else than their own CTA's instructions lets go on.
#include <algorithm>
#include <bit>

#include "isa/common/error.h"
#include "models/gpu/sm.h"

namespace heddle::models::gpu {

using Kind = ptx::AsyncOperation::Kind;

void Sm::begin_operations(unsigned warp, Cycle now) {
    WarpSlot& slot = state_.warps[warp];
    for (ptx::AsyncOperation& started : state_.cta_slots[slot.cta].cta->started()) {
        if (started.kind == Kind::tensor_product || started.kind == Kind::tensor_copy) {
            begin_tensor_work(state_.cta_slots[slot.cta], started, now);
            continue;
        }
        std::uint32_t index = static_cast<std::uint32_t>(state_.operations.size());
        if (state_.free_operations.empty()) {
            state_.operations.emplace_back();
        } else {
            index = state_.free_operations.back();
            state_.free_operations.pop_back();
        }
        Operation& operation = state_.operations[index];
        operation = {std::move(started), static_cast<std::uint16_t>(warp), slot.cta, 0, 0, kNever};
        operation.what.cache = launch_.plan->kernel.instructions[slot.instruction].info->cache;
        ++state_.cta_slots[slot.cta].loads;
        if (operation.what.kind == Kind::arrive_after_copies) {
            begin_arrival(index, now);
            continue;
        }
        if (operation.what.kind == Kind::tensor_commit || operation.what.kind == Kind::answer) {
            const Cycle end = operation.what.kind == Kind::answer ? now + config_.shared.latency : std::max(state_.cta_slots[slot.cta].tensor_end, now) + config_.tcgen05.tail;
            state_.ended.push_back({index, end, end});
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
            bulk_copies_.begin(index, operation.what, other_destinations(operation), now, state_.ended);
    }
}

// The rate is that of the type in tensor.macs_per_cycle; types of 6 bits, and of 4 that are not packed, go at that of 8 bits.
void Sm::begin_tensor_work(CtaSlot& cta, const ptx::AsyncOperation& work, Cycle now) {
    if (work.kind == Kind::tensor_copy) {
        cta.tensor_end = std::max(cta.tensor_end, tensor_unit_.copy(work.bytes, now));
        return;
    }
    const ptx::AsyncOperation::TensorProduct& product = work.tensor;
    const TensorConfig& rates = config_.tensor;
    const double rate = product.integer ? rates.s8 : product.element_bits == 32 ? rates.tf32 : product.element_bits == 16 ? rates.f16 : product.element_bits == 8 ? rates.f8 : rates.f4;
    if (rate <= 0) {
        throw Error("the tensor cores of this GPU do not take this kind of tcgen05.mma", {"", 0, launch_.plan->launches[cta.launch].source->name()},
                    "choose another kernel, or set tensor.macs_per_cycle in the hardware file");
    }
    const FineCycles full = fine(static_cast<double>(product.macs) / rate);
    state_.statistics.tensor_macs += product.macs * product.ctas;
    state_.statistics.tensor_full_time += full * kSubCores * product.ctas;
    const Cycle end = tensor_unit_.multiply(fine(static_cast<double>(product.slots) / rate), fine(product.fetched / config_.load_store.wavefront_bytes), product.ctas, now);
    cta.tensor_end = std::max(cta.tensor_end, end);
}

// To the shared memory of another CTA, or of the same one: through the network, and back to it.
void Sm::send_shared_copy(std::uint32_t index, const Operation& operation, Cycle now) {
    const CtaSlot& cta = state_.cta_slots[operation.cta];
    const std::uint32_t bytes = operation.what.bytes, wavefronts = (bytes + 127) / 128;
    const auto rank = static_cast<unsigned>(std::countr_zero(operation.what.destinations));
    const Cycle leave = bulk_copies_.begin_shared_copy(bytes, now);
    load_store_.pass_wavefronts(wavefronts, now);
    if (cta.cluster == nullptr || rank == cta.rank) {
        load_store_.pass_wavefronts(wavefronts, now);
        const Cycle end = leave + wavefronts + config_.shared.latency;
        state_.ended.push_back({index, end, end});
        return;
    }
    cluster_port_.request(cta.cluster->sms[rank], RequestKind::store, true, index | ClusterPort::kCopyTag,
                          bytes, wavefronts, leave);
}

// cp.async.mbarrier.arrive: the copies so far are a group of their own.
void Sm::begin_arrival(std::uint32_t index, Cycle now) {
    Operation& operation = state_.operations[index];
    CopyGroups& copies = work_of(operation.warp).copies;
    operation.group = copies.open();
    copies.close();
    state_.arriving.push_back(index);
    end_arrivals(operation.warp, now);
}

void Sm::end_arrivals(unsigned warp, Cycle now) {
    for (std::size_t i = 0; i < state_.arriving.size();) {
        Operation& operation = state_.operations[state_.arriving[i]];
        const Stamp ready =
            operation.warp != warp ? kPending : work_[warp].copies.ready_before(operation.group + 1);
        if (ready == kPending) {
            ++i;
            continue;
        }
        operation.at = std::max<Cycle>(cycle_of(ready), now + 1);
        state_.ending.push_back(state_.arriving[i]);
        state_.side_work = true;
        due(operation.at);
        state_.arriving.erase(state_.arriving.begin() + static_cast<std::ptrdiff_t>(i));
    }
}

// Copies to several CTAs of the cluster: the other SMs. Thread blocks that share this one's SM receive the
// data through the same port.
std::vector<ClusterNeighbour*> Sm::other_destinations(const Operation& operation) {
    std::vector<ClusterNeighbour*> others;
    const ClusterRun* const cluster = state_.cta_slots[operation.cta].cluster.get();
    if (cluster == nullptr || operation.what.kind != Kind::bulk_load) return others;
    for (std::uint32_t left = operation.what.destinations; left != 0; left &= left - 1) {
        const std::uint32_t sm = cluster->sms[static_cast<unsigned>(std::countr_zero(left))];
        if (sm != position_) others.push_back(&cluster_port_.neighbour(sm));
    }
    return others;
}

// Loads end when their data are in place, stores when L2 has them.
void Sm::end_copy(const BulkCopyEngine::Ended& ended, Cycle now) {
    Operation& operation = state_.operations[ended.id];
    state_.side_work = true;
    if (operation.what.in_bulk_group) work_[operation.warp].bulk_reads.finish(operation.group, ended.sent);
    if (operation.what.kind == Kind::bulk_store) {
        operation.stores = load_store_.stores_sent();
        state_.storing.push_back(ended.id);
    } else {
        operation.at = std::max(ended.ready, now + 1);
        state_.ending.push_back(ended.id);
        due(operation.at);
    }
}

void Sm::end_copies(Cycle now) {
    for (const BulkCopyEngine::Ended& ended : state_.ended) {
        end_copy(ended, now);
        const Operation& operation = state_.operations[ended.id];
        const WarpSlot& slot = state_.warps[operation.warp];
        if (operation.what.in_bulk_group && slot.state == WarpState::running && !slot.waits_for_fence)
            look_at_next(operation.warp, now);
    }
    state_.ended.clear();
}

Cycle Sm::next_end() const {
    Cycle next = kNever;
    for (const std::uint32_t index : state_.ending) next = std::min(next, state_.operations[index].at);
    for (const Release& release : state_.releases) next = std::min(next, release.at);
    for (const Cycle at : state_.dependents) next = std::min(next, at);
    return next;
}

void Sm::end_operations(Cycle now) {
    for (std::size_t i = 0; i < state_.storing.size();) {
        Operation& operation = state_.operations[state_.storing[i]];
        if (operation.stores > load_store_.stores_acknowledged()) {
            ++i;
            continue;
        }
        operation.at = now;
        state_.ending.push_back(state_.storing[i]);
        state_.storing.erase(state_.storing.begin() + static_cast<std::ptrdiff_t>(i));
    }
    for (std::size_t i = 0; i < state_.ending.size();) {
        const std::uint32_t index = state_.ending[i];
        if (state_.operations[index].at > now) {
            ++i;
            continue;
        }
        state_.ending.erase(state_.ending.begin() + static_cast<std::ptrdiff_t>(i));
        end_operation(state_.operations[index], now);
        state_.free_operations.push_back(index);
    }
}

void Sm::end_operation(Operation& operation, Cycle now) {
    WarpSlot& slot = state_.warps[operation.warp];
    CtaSlot& cta = state_.cta_slots[operation.cta];
    if (operation.what.in_bulk_group) work_[operation.warp].bulk_writes.finish(operation.group, now);
    state_.ends_operation = true;
    if (cta.cluster != nullptr) cta.cluster->release_at = now + config_.sm.barrier_latency;
    cta.cta->complete(operation.what);
    state_.ends_operation = false;
    --cta.loads;
    if (slot.state == WarpState::running && !slot.waits_for_fence) {
        look_at_next(operation.warp, now);
    } else if (cta.running == 0) {
        finish_cta_if_done(cta, now);
    }
}

void Sm::release_due(Cycle now) {
    for (std::size_t i = 0; i < state_.releases.size();) {
        const Release due = state_.releases[i];
        if (due.at > now) {
            ++i;
            continue;
        }
        state_.releases.erase(state_.releases.begin() + static_cast<std::ptrdiff_t>(i));
        release(state_.cta_slots[due.cta], due.warps, now, now);
    }
}

void Sm::release_dependents(std::uint32_t launch, Cycle at) {
    launch_.dependency_release[launch] = at;
    if (state_.resident_ctas == 0) return;
    state_.dependents.push_back(at);
    state_.side_work = true;
    due(at);
}

void Sm::release_waiting_dependents(Cycle now) {
    if (std::erase_if(state_.dependents, [now](Cycle at) { return at <= now; }) == 0) return;
    for (unsigned warp = 0; warp < kWarps; ++warp) {
        const WarpSlot& slot = state_.warps[warp];
        if (slot.state == WarpState::running &&
            launch_.plan->kernel.instructions[slot.instruction].kind == TimingKind::dependency_wait)
            look_at_next(warp, now);
    }
}

bool Sm::resume_stalled(Cycle now) {
    bool any = false;
    for (CtaSlot& cta : state_.cta_slots) {
        if (!cta.used) continue;
        const std::uint32_t warps = cta.cta->resume_stalled();
        if (warps == 0) continue;
        any = true;
        state_.side_work = true;
        state_.releases.push_back(
            {now + 1, static_cast<std::uint32_t>(&cta - state_.cta_slots.data()), warps});
        due(now + 1);
    }
    return any;
}

}  // namespace heddle::models::gpu
