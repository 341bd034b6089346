#include "sim/run/schedule/together.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "workloads/trace/turns.h"

namespace heddle::sim {
namespace {

/// Kernels that touch for less are taken as one after the other: times are known to about a cycle.
constexpr double kTouch_us = 0.01;
/// Kernels of one run at most: the code of all lies in the caches of each SM.
constexpr std::size_t kMostKernels = 200;
/// Kernels that take longer beside others come to overlap with further ones; so often is that looked at.
constexpr unsigned kRounds = 6;

/// A kernel, by its place in StepWork::work.
struct Candidate {
    std::size_t work = 0, op = 0, kernel = 0;
};

std::vector<Candidate> candidates_of(const trace::Trace& trace, const std::vector<OpOutcome>& outcomes, std::size_t& in_loops) {
    std::vector<Candidate> candidates;
    std::size_t work = 0;
    for (std::size_t op = 0; op < outcomes.size(); ++op) {
        const OpOutcome& outcome = outcomes[op];
        if (outcome.view) continue;
        for (std::size_t k = 0; k < outcome.kernels.size(); ++k, ++work) {
            if (outcome.communication || outcome.copy || outcome.kernels[k].fidelity != Fidelity::cycle) continue;
            if (trace::turns_of(trace.ops[op]) != 1) {
                ++in_loops;
                continue;
            }
            candidates.push_back({work, op, k});
        }
    }
    return candidates;
}

/// Which of the candidates overlap, one through another; what was together once remains so.
class Groups {
  public:
    explicit Groups(std::size_t count) : parent_(count), size_(count, 1) { std::iota(parent_.begin(), parent_.end(), std::size_t{0}); }
    std::size_t find(std::size_t i) {
        while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
        return i;
    }
    /// Whether they were apart. `refused` is set when both together would be too many.
    bool join(std::size_t a, std::size_t b, bool& refused) {
        a = find(a), b = find(b);
        if (a == b) return false;
        if (size_[a] + size_[b] > kMostKernels) {
            refused = true;
            return false;
        }
        parent_[std::max(a, b)] = std::min(a, b);
        size_[std::min(a, b)] = size_[a] + size_[b];
        return true;
    }
    /// Those of two and more, in rising order.
    std::vector<std::vector<std::size_t>> several() {
        std::map<std::size_t, std::vector<std::size_t>> by_first;
        for (std::size_t i = 0; i < parent_.size(); ++i) by_first[find(i)].push_back(i);
        std::vector<std::vector<std::size_t>> groups;
        for (auto& [first, members] : by_first)
            if (members.size() > 1) groups.push_back(std::move(members));
        return groups;
    }

  private:
    std::vector<std::size_t> parent_, size_;
};

/// Joins what overlaps in the schedule. Returns whether anything was joined.
bool join_overlapping(const std::vector<Candidate>& candidates, const StepSchedule& schedule, Groups& groups, bool& refused) {
    std::vector<std::size_t> order(candidates.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto times = [&](std::size_t i) -> const WorkTimes& { return schedule.work[candidates[i].work]; };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return times(a).start_us < times(b).start_us; });
    bool any = false;
    std::size_t latest = 0;  // that which ends last of those that have begun
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (i != 0 && times(order[i]).start_us + kTouch_us < times(latest).end_us) any = groups.join(latest, order[i], refused) || any;
        if (i == 0 || times(order[i]).end_us > times(latest).end_us) latest = order[i];
    }
    return any;
}

/// The run of some candidates, with what they wait for.
ConcurrentRun run_of(const std::vector<std::size_t>& members, const std::vector<Candidate>& candidates, const StepWork& step,
                     const StepSchedule& schedule, const std::vector<OpOutcome>& outcomes) {
    std::map<std::size_t, std::size_t> place;  // by work
    double begin = schedule.work[candidates[members.front()].work].start_us;
    for (const std::size_t member : members) begin = std::min(begin, schedule.work[candidates[member].work].start_us);
    std::map<std::uint32_t, std::size_t> last_of_stream;
    ConcurrentRun run;
    std::size_t next = 0;
    for (std::size_t work = 0; next < members.size(); ++work) {
        const StreamWork& one = step.work[work];
        const auto before = last_of_stream.find(one.stream);
        if (candidates[members[next]].work == work) {
            const Candidate& candidate = candidates[members[next++]];
            const double gap = outcomes[candidate.op].kernels[candidate.kernel].gap_us;
            ConcurrentKernel kernel{candidate.op, candidate.kernel, 0, gap, {}, one.priority};
            std::vector<std::size_t> waits = one.after;
            if (before != last_of_stream.end()) waits.push_back(before->second);
            double outside = schedule.work[work].launched_us + (one.host_us > 0 ? step.launch_latency_us : 0);
            for (const std::size_t earlier : waits) {
                const auto found = place.find(earlier);
                if (found == place.end())
                    outside = std::max(outside, schedule.work[earlier].end_us);
                else if (std::find(kernel.after.begin(), kernel.after.end(), found->second) == kernel.after.end())
                    kernel.after.push_back(found->second);
            }
            std::sort(kernel.after.begin(), kernel.after.end());
            kernel.earliest_us = std::max(0.0, outside + gap - begin);
            place[work] = run.size();
            run.push_back(std::move(kernel));
        }
        last_of_stream[one.stream] = work;
    }
    return run;
}

}  // namespace

StepSchedule schedule_together(const trace::Trace& trace, std::vector<OpOutcome>& outcomes, const SharedDevice& device,
                               const TimeRuns& time_runs, std::vector<std::string>& notes) {
    std::size_t in_loops = 0;
    const std::vector<Candidate> candidates = candidates_of(trace, outcomes, in_loops);
    Groups groups(candidates.size());
    bool refused = false, open = false;
    StepSchedule schedule = schedule_step(trace, outcomes, device);
    std::size_t runs_made = 0, kernels = 0;
    for (unsigned round = 0; (open = join_overlapping(candidates, schedule, groups, refused)) && round < kRounds; ++round) {
        const StepWork step = step_work(trace, outcomes, device);
        std::vector<ConcurrentRun> runs;
        for (const std::vector<std::size_t>& members : groups.several()) runs.push_back(run_of(members, candidates, step, schedule, outcomes));
        const std::vector<std::vector<ConcurrentTime>> times = time_runs(runs);
        runs_made = runs.size();
        kernels = 0;
        for (std::size_t r = 0; r < runs.size(); ++r) {
            kernels += runs[r].size();
            for (std::size_t i = 0; i < runs[r].size(); ++i) {
                KernelResult& row = outcomes[runs[r][i].op].kernels[runs[r][i].kernel];
                if (!row.alone_us) row.alone_us = row.time_us;
                row.time_us = times[r][i].time_us;
                row.queued_us = times[r][i].queued_us;
                row.together = static_cast<std::uint32_t>(r + 1);
            }
        }
        schedule = schedule_step(trace, outcomes, device);
    }
    if (runs_made == 0) {
        notes.push_back("no kernels overlap: none was simulated together with others");
    } else {
        notes.push_back(fmt::format("{} kernels that overlap were simulated together, in {}", kernels,
                                    runs_made == 1 ? "1 run" : fmt::format("{} runs", runs_made)));
    }
    if (open) notes.push_back("kernels still come to overlap with further ones: what they cost one another is taken from rates");
    if (refused)
        notes.push_back(fmt::format("more than {} kernels overlap, one through another: runs end there, and what their borders cost is "
                                    "taken from rates",
                                    kMostKernels));
    if (in_loops != 0)
        notes.push_back(fmt::format("{} kernels of loops whose turns are alike share the device by rates", in_loops));
    return schedule;
}

}  // namespace heddle::sim
