// Carries out a schedule over a transport: which worker may go on, and when. Knows neither algorithms nor
// links.
#pragma once

#include <queue>
#include <vector>

#include "models/network/schedule.h"
#include "models/network/transport.h"

namespace heddle::models::network {

/// One run of a schedule; schedule and transport must outlive it. Cycles are picoseconds.
class ScheduleRun {
  public:
    ScheduleRun(const Schedule& schedule, Transport& transport);

    /// Lets every worker begin, at time 0.
    void begin();
    /// The cycle of the next event; kNever when there is none.
    Cycle next() const { return timers_.empty() ? kNever : timers_.top().at; }
    /// Carries out the events that are due at `now`.
    void act(Cycle now);
    /// To be called when the transport has sent the last byte of the message with this token.
    void sent(std::uint32_t token, Cycle now);

    /// Whether every worker has performed its last operation.
    bool finished() const { return busy_workers_ == 0; }
    /// The time at which the last worker ended, the time at which each one ended, and the number of events
    /// that were carried out. Cycles are picoseconds.
    Cycle end() const { return end_; }
    const std::vector<Cycle>& worker_ends() const { return worker_ends_; }
    std::uint64_t events() const { return events_; }
    /// A sentence about who waits for what, when nothing happens any more and workers are left.
    std::string stuck() const;

  private:
    enum class What : std::uint8_t { arrived, credit, worked };
    struct Timer {
        Cycle at;
        std::uint64_t order;
        What what;
        std::uint32_t which;
        bool operator>(const Timer& other) const {
            return at != other.at ? at > other.at : order > other.order;
        }
    };
    struct WorkerState {
        std::uint32_t operation = 0;
        std::uint32_t pending = 0;  ///< transfers and local work of the present slice
        std::uint64_t done = 0;     ///< bytes of the present operation
        std::uint64_t slice = 0;    ///< bytes of the present slice
    };
    struct ConnectionState {
        std::uint32_t arrived = 0, credits = 0;
    };

    void plan(Cycle at, What what, std::uint32_t which) { timers_.push({at, planned_++, what, which}); }
    void try_start(std::uint32_t worker, Cycle now);
    void finish_part(std::uint32_t worker, Cycle now);
    bool may_start(const Operation& operation) const;

    const Schedule& schedule_;
    Transport& transport_;
    std::vector<WorkerState> workers_;
    std::vector<ConnectionState> connections_;
    std::vector<Cycle> worker_ends_;
    std::priority_queue<Timer, std::vector<Timer>, std::greater<>> timers_;
    std::uint64_t planned_ = 0, events_ = 0;
    std::size_t busy_workers_ = 0;
    Cycle end_ = 0;
};

/// The times and traffic of a run.
struct RunOutcome {
    double seconds = 0;           ///< from begin() to the end of the last worker
    std::vector<double> carried;  ///< bytes by link, headers included
    std::uint64_t events = 0;     ///< that were carried out, for benchmarks
};

/// Runs a schedule at flow level. Throws heddle::Error when workers wait for one another for ever, which
/// means that the schedule is wrong.
RunOutcome run_flows(const Schedule& schedule, const std::vector<Link>& links);

}  // namespace heddle::models::network
