// Distribution of kernels that several processes need at the same time: each is simulated by one of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "isa/common/activity.h"
#include "sim/run/time/kernel_cache.h"
#include "sim/run/workers/worker_pool.h"

namespace heddle::sim {

/// A source of jobs that no other process is working on, so that two processes that explore the same designs
/// never simulate the same kernel at the same time. Results that another process has finished are taken from
/// the cache. A process that has not renewed its claim for `patience` is stopped or hangs; its job is taken
/// over. While there is nothing to do except wait, the status of this process says for whom it waits
/// (isa/common/activity.h). `cache` must outlive it.
class UnclaimedJobs : public JobSource {
  public:
    /// How the source learns about a job from its number.
    struct Functions {
        std::function<std::string(std::size_t)> key;   ///< key of the job's result in the cache
        std::function<std::string(std::size_t)> name;  ///< name for messages: "kernel saxpy"
        std::function<bool(std::size_t)>
            take;  ///< takes the result from the cache, or says that it is not there
    };
    UnclaimedJobs(std::size_t count, const KernelCache& cache, Functions functions,
                  std::chrono::milliseconds patience = claim_patience());
    std::optional<std::size_t> next() override;
    bool has_more() const override { return !open_.empty(); }
    void still_running(std::size_t job) override;
    /// Releases the claim on a job whose result has been stored in the cache.
    void finished(std::size_t job) { claims_.erase(job); }

    /// Returns 30 seconds, or $HEDDLE_CLAIM_SECONDS where that is set.
    static std::chrono::milliseconds claim_patience();

  private:
    using Clock = std::chrono::steady_clock;
    struct Claimed {
        KernelClaim claim;
        Clock::time_point renewed;
    };
    struct Waited {
        std::int64_t renewed;     // by the other process
        Clock::time_point since;  // when that was seen first
    };
    std::optional<KernelClaim> claim_of(std::size_t job);
    void say_that_it_waits();

    const KernelCache& cache_;
    const Functions functions_;
    const std::chrono::milliseconds patience_;
    std::list<std::size_t> open_;
    std::map<std::size_t, Claimed> claims_;
    std::map<std::size_t, Waited> waited_;
    Clock::time_point said_{};
    std::string waiting_text_;
    std::unique_ptr<Doing> waiting_;
};

}  // namespace heddle::sim
