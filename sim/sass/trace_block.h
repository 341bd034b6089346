// A thread block that is replayed, with its warps.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/gpu/instruction_source.h"
#include "sim/sass/memory_barriers.h"
#include "sim/sass/trace_launch.h"

namespace heddle::sass {

class TraceBlock;

/// One warp of a replayed thread block; its steps come from the trace.
class TraceWarp final : public models::gpu::WarpSource {
  public:
    TraceWarp(TraceBlock& block, unsigned index) : WarpSource(&state_), block_(block) {
        state_.index = static_cast<std::uint16_t>(index);
    }
    ptx::StepResult step(std::uint64_t clock) override;

  private:
    friend class TraceBlock;
    friend class ClusterRendezvous;
    void start(const PackedWarp& packed);

    TraceBlock& block_;
    ptx::WarpStatus state_;
    PackedWarp::Cursor cursor_;
    std::uint64_t performed_ = 0, clock_ = 0;
    std::uint64_t cluster_arrivals_ = 0;
};

/// Synchronises the thread blocks of a cluster: barrier.cluster.
class ClusterRendezvous {
  public:
    explicit ClusterRendezvous(unsigned size) : blocks_(size, nullptr) {}
    /// Adds a thread block; the blocks of a cluster start one after another.
    void join(TraceBlock& block);
    /// Called when a warp has arrived or ended: opens the barrier when all warps have arrived. Returns the
    /// warps of `self` that continue; the SMs of other blocks are notified about theirs.
    std::uint32_t look(const TraceBlock& self);
    std::uint64_t phase() const { return phase_; }
    /// Removes a block that has ended. Returns whether all blocks of the cluster have.
    bool leave(const TraceBlock& block);
    TraceBlock* block(unsigned rank) { return rank < blocks_.size() ? blocks_[rank] : nullptr; }

  private:
    std::vector<TraceBlock*> blocks_;
    unsigned joined_ = 0, left_ = 0;
    std::uint64_t phase_ = 0;  // times that the barrier has opened
};

/// One thread block of a TraceLaunch. It holds the packed steps of its warps while it runs.
class TraceBlock final : public models::gpu::BlockSource {
  public:
    TraceBlock(TraceLaunch& launch, ptx::CtaObserver& observer, std::uint32_t tag)
        : launch_(launch), observer_(observer), tag_(tag) {}

    void start(std::uint64_t index, std::uint32_t sm, ptx::Cluster* cluster) override;
    unsigned warp_count() const override { return static_cast<unsigned>(packed_.warps.size()); }
    models::gpu::WarpSource& warp(unsigned index) override { return warps_[index]; }
    std::uint64_t linear_index() const override { return index_; }
    std::span<ptx::AsyncOperation> started() override { return started_; }
    void complete(const ptx::AsyncOperation& operation) override;
    std::uint32_t resume_stalled() override;
    std::uint64_t changes() const override { return changes_; }
    ptx::WarpFingerprint fingerprint(unsigned warp) const override;
    std::string describe_waiting() const override;

  private:
    friend class TraceWarp;
    friend class ClusterRendezvous;
    ptx::StepResult step(TraceWarp& warp, std::uint64_t clock);
    /// Returns false when the warp has to wait and will execute the same step again.
    bool perform(TraceWarp& warp, const TraceRow& row, ptx::StepResult& result);
    void access_memory(const TraceWarp& warp, const TraceRow& row, ptx::StepResult& result);
    bool use_memory_barrier(const TraceWarp& warp, const TraceRow& row);
    void start_copy(const TraceWarp& warp, const TraceRow& row);
    /// Counts at an mbarrier of the block with this rank. Returns the warps of this block that continue; the
    /// SMs of other blocks are notified.
    std::uint32_t signal(unsigned rank, std::uint32_t address, std::uint32_t arrivals,
                         std::int64_t transactions);
    void end_warp(TraceWarp& warp);
    void unblock(std::uint32_t warps);
    void release(std::uint32_t warps, unsigned self);
    bool waits_for_cluster(unsigned warp) const { return (cluster_waits_ >> warp & 1u) != 0; }

    TraceLaunch& launch_;
    ptx::CtaObserver& observer_;
    const std::uint32_t tag_;
    std::uint64_t index_ = 0;
    unsigned rank_ = 0;
    ptx::Cluster* cluster_ = nullptr;
    ClusterRendezvous* rendezvous_ = nullptr;
    PackedBlock packed_;
    std::deque<TraceWarp> warps_;  // stay where they are
    unsigned running_ = 0;
    MemoryBarriers memory_barriers_;
    std::uint32_t cluster_waits_ = 0;  // warps that wait for the cluster
    ReplayStep step_;
    ptx::MemoryAccess access_;
    std::vector<ptx::AsyncOperation> started_;
    std::uint32_t released_ = 0;  // by the present step
    std::uint64_t changes_ = 0;
};

}  // namespace heddle::sass
