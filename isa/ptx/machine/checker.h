// Watches the steps of a CTA for errors that its results need not show: see check.h.
//
// Order between warps is kept in vector clocks (as in FastTrack): each warp knows up to which time of every
// other warp it has been ordered behind it. Barriers, mbarrier objects, and atomic or volatile accesses pass
// that knowledge on. Within a warp, only bar.warp.sync and CTA barriers order the lanes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isa/ptx/check.h"
#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {

/// Keeps shadow state beside the memory of one CTA and reports findings to a CheckLog.
class Checker {
  public:
    Checker(Cta::Implementation& cta, CheckLog& log);
    /// Another CTA starts.
    void restart();
    /// Around the performance of instruction `at` of `warp` for `mask`.
    void before(Warp::State& warp, std::uint32_t at, std::uint32_t mask);
    void after(Warp::State& warp, std::uint32_t at, const MemoryAccess* access);
    /// `warps` go on behind a barrier that all of `arrived` have reached.
    void barrier_released(unsigned number, std::uint32_t warps, bool for_all_threads);
    void cluster_barrier_released();
    /// `lane` arrives at an mbarrier of a CTA of the cluster that has exited.
    void arrives_at_exited(const Warp::State& warp, unsigned lane, std::uint64_t cluster_address);

  private:
    using Clock = std::array<std::uint32_t, 32>;  // by warp
    struct Access {
        std::uint32_t time = 0;  // of the warp's clock; 0: never
        std::uint32_t step = 0;
        std::uint32_t instruction = 0;
        std::uint8_t warp = 0, lane = 0;
    };
    // A byte of shared memory.
    struct Cell {
        bool written = false;
        Access write;
        Access read;       // the latest
        Clock read_times;  // of each warp's latest read
    };

    static void join(Clock& into, const Clock& from);
    void release_to(Clock& object, unsigned warp);
    void synchronize(Clock& object, unsigned warp);
    void note_lanes_together(const Warp::State& warp, std::uint32_t mask);
    bool ordered(const Warp::State& warp, unsigned lane, const Access& earlier) const;
    void check_barrier(const Warp::State& warp, std::uint32_t at, std::uint32_t mask);
    void access_shared(Warp::State& warp, std::uint32_t at, const MemoryAccess& access);
    void access_local(Warp::State& warp, std::uint32_t at, const MemoryAccess& access);
    void access_bytes(Warp::State& warp, std::uint32_t at, unsigned lane, std::uint64_t address,
                      unsigned bytes, bool write, bool read);
    void mark_written(const Warp::State& warp, std::uint32_t at, std::uint64_t address, std::uint64_t bytes);
    void note_operations(Warp::State& warp, std::uint32_t at);

    void report(CheckFinding::Kind kind, const Warp::State& warp, std::uint32_t at, unsigned lane,
                std::uint32_t other, const std::string& what);
    std::string place(std::uint32_t instruction) const;
    std::string describe_shared(std::uint64_t address) const;

    Cta::Implementation& cta_;
    CheckLog& log_;
    std::vector<Cell> cells_;
    std::vector<bool> local_written_;  // [thread][byte]
    std::vector<Clock> clocks_;        // of the warps
    std::array<Clock, kBarrierCount> barrier_clocks_{};
    Clock cluster_clock_{};
    std::map<std::uint64_t, Clock> object_clocks_;  // of mbarriers and atomics, by address
    std::uint32_t step_ = 0;
    /// [warp][lane][lane]: the latest step in which both were at a bar.warp.sync.
    std::vector<std::array<std::array<std::uint32_t, kWarpSize>, kWarpSize>> together_;
};

}  // namespace heddle::ptx
