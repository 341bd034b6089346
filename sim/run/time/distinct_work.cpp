#include "sim/run/time/distinct_work.h"

#include <algorithm>

#include "sim/run/time/kernel_cache.h"
#include "sim/run/time/unclaimed_jobs.h"

namespace heddle::sim {

unsigned workers_of(const SimulateOptions& options) {
    return options.jobs != 0 ? options.jobs : available_cores();
}

std::map<std::string, LaunchOutcome> time_distinct(const std::vector<DistinctWork>& work, const WorkTimer& timer,
                                                   const SimulateOptions& options, RunResult& result) {
    KernelCache cache = KernelCache::standard_if(options.cache && !options.tick_every_cycle);
    const auto find = [&](const DistinctWork& one) {
        std::optional<std::string> stored;
        for (const std::string& key : one.cache_keys)
            if (!stored) stored = cache.find(key);
        return stored;
    };
    std::map<std::string, LaunchOutcome> outcomes;
    std::vector<OpenWork> open;
    double total_cost = 0, done_cost = 0;
    for (std::size_t i = 0; i < work.size(); ++i) {
        if (const auto stored = find(work[i])) {
            outcomes[work[i].key] = outcome_from_text(*stored);
        } else {
            open.push_back({i});
        }
    }
    std::sort(open.begin(), open.end(), [&](const OpenWork& a, const OpenWork& b) {
        const DistinctWork &one = work[a.work], &other = work[b.work];
        return one.cost != other.cost ? one.cost > other.cost : one.key < other.key;
    });
    for (const OpenWork& one : open) total_cost += work[one.work].cost;
    for (OpenWork& one : open) one.part = work[one.work].cost / total_cost;
    const auto keep = [&](const DistinctWork& done, const LaunchOutcome& outcome) {
        outcomes[done.key] = outcome;
        done_cost += done.cost;
        if (options.progress) options.progress(done_cost / total_cost, done.name);
    };
    const auto of_job = [&](std::size_t job) -> const DistinctWork& { return work[open[job].work]; };
    UnclaimedJobs unclaimed(open.size(), cache,
                            {.key = [&](std::size_t job) { return of_job(job).cache_keys.front(); },
                             .name = [&](std::size_t job) { return timer.noun + " " + of_job(job).name; },
                             .take = [&](std::size_t job) {
                                 const auto stored = find(of_job(job));
                                 if (stored) keep(of_job(job), outcome_from_text(*stored));
                                 return stored.has_value();
                             }});
    const unsigned workers = workers_of(options);
    result.simulation.workers = workers;
    run_jobs(
        open.size(), workers, [&] { return timer.make_runner(open, workers); },
        [&](std::size_t job, const std::string& text) {
            const DistinctWork& done = of_job(job);
            const LaunchOutcome outcome = outcome_from_text(text);
            cache.store(outcome.own_l2 ? done.cache_keys.back() : done.cache_keys.front(), text);
            unclaimed.finished(job);
            ++result.simulation.kernels_simulated;
            result.simulation.processor_s += outcome.host_seconds;
            timer.simulated(outcome);
            keep(done, outcome);
        },
        unclaimed);
    return outcomes;
}

}  // namespace heddle::sim
