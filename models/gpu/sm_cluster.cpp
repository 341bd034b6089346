// The SM's part in thread block clusters: shared memory of other SMs, and warps that other SMs let go on.
#include <algorithm>
#include <bit>

#include "models/gpu/sm.h"

namespace heddle::models::gpu {
namespace {

/// PTX addresses of shared::cluster: the CTA's rank plus one above bit 24 (isa/ptx/execution.h).
constexpr unsigned kRankShift = 24;

}  // namespace

// Every CTA whose memory is reached is asked once. The answer to the last question completes the load.
LoadStoreUnit::Outcome Sm::access_cluster(unsigned warp, const TimedInstruction& row,
                                          const ptx::MemoryAccess& access, const LoadOwner& owner,
                                          Cycle now) {
    const CtaSlot& cta = state_.cta_slots[state_.warps[warp].cta];
    const LoadStoreUnit::Outcome local =
        load_store_.access_shared(access, launch_.patterns->of(row.pattern), now);
    const Cycle leave = local.ready - config_.shared.latency;
    const bool answered = !access.write || (access.atomic && row.written != 0);
    const RequestKind kind = access.atomic  ? RequestKind::atomic
                             : access.write ? RequestKind::store
                                            : RequestKind::load;
    std::array<std::uint8_t, ptx::kMaximumClusterSize> lanes{};
    for (std::uint32_t left = access.lanes; left != 0; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        const auto tag = static_cast<std::uint32_t>(access.address[lane] >> kRankShift);
        ++lanes[tag == 0 ? cta.rank : tag - 1];
    }
    std::uint32_t load = LoadStoreUnit::kNone;
    for (unsigned rank = 0; rank < lanes.size(); ++rank) {
        if (lanes[rank] == 0 || rank == cta.rank) continue;
        const std::uint32_t bytes = std::uint32_t{lanes[rank]} * access.bytes_per_lane;
        // Without an answer nobody waits: the tag must still be no tag of somebody else.
        if (answered) load_store_.join_remote(load, owner, local.ready);
        cluster_port_.request(cta.cluster->sms[rank], kind, answered, answered ? load : 0, bytes,
                              (bytes + 127) / 128, leave);
    }
    if (load == LoadStoreUnit::kNone)
        return answered ? local : LoadStoreUnit::Outcome{local.start, local.start};
    return {local.start, kNever};
}

void Sm::deliver(MemoryRequest& message, Cycle arrival) {
    wake(inbox_.push(message, arrival, message.tag));
}

Cycle Sm::receive_multicast(LinesMask sectors, Cycle arrival) {
    load_store_.pass_fill(clock().now(), line_count(sectors));
    return port_.receive_bulk(sector_count(sectors), arrival);
}

// A question from another SM, or the answer to one of this SM's.
void Sm::take_cluster_message(MemoryRequest& message, Cycle now) {
    const std::uint32_t tag = message.tag & ~(ClusterPort::kTag | ClusterPort::kCopyTag);
    const bool copy = (message.tag & ClusterPort::kCopyTag) != 0;
    if (message.returning) {
        if (copy)
            state_.ended.push_back({tag, now, now});
        else
            load_store_.complete_remote(tag, cluster_port_.receive(message, now), state_.completed);
        cluster_port_.give_back(message);
        return;
    }
    load_store_.pass_wavefronts(ClusterPort::wavefronts_of(message), now);
    if (copy) {
        cluster_port_.confirm(message, cluster_port_.receive(message, now));
        return;
    }
    if (message.kind == RequestKind::store) {
        cluster_port_.receive(message, now);
        cluster_port_.give_back(message);
        return;
    }
    Cycle leave = now;
    if (message.kind == RequestKind::atomic) leave += config_.shared.atomic_latency - config_.shared.latency;
    if (message.wants_data)
        cluster_port_.answer(message, leave);
    else
        cluster_port_.give_back(message);
}

/// When warps go on that an arrival at a barrier of the cluster, or at an mbarrier in another CTA, releases
/// there.
void Sm::set_release(const CtaSlot& cta, const TimedInstruction& row, Cycle now) {
    if (cta.cluster == nullptr) return;
    cta.cluster->release_at =
        now + (row.kind == TimingKind::cluster_arrive || row.kind == TimingKind::cluster_wait
                   ? config_.cluster.barrier_latency
                   : config_.cluster.latency / 2 + config_.sm.barrier_latency);
}

// In the middle of another SM's cycle, or of complete(): the warps go on later.
void Sm::warps_released(std::uint32_t tag, std::uint32_t warps) {
    const std::shared_ptr<ClusterRun>& cluster = state_.cta_slots[tag].cluster;
    const Cycle at = state_.ends_operation || cluster == nullptr ? state_.now + config_.sm.barrier_latency
                                                                 : cluster->release_at;
    state_.releases.push_back({std::max(at, state_.now + 1), tag, warps});
    state_.side_work = true;
    due(state_.releases.back().at);
}

}  // namespace heddle::models::gpu
