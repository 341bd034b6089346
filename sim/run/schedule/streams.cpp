#include "sim/run/schedule/streams.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>

#include "sim/run/schedule/repeated_work.h"

namespace heddle::sim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// Progress that rounding may leave open at an end, of a work's own time.
constexpr double kRounding = 1e-12;
/// Collectives leave at least this part of the SMs to others.
constexpr double kLeastSms = 0.01;

/// Work that has begun.
struct Running {
    std::size_t index = 0;
    double left = 0;  ///< microseconds, alone
    double rate = 0;
    bool flushes = false;  ///< all is computed; it waits for writes of others
};

/// Waves in which that many take their turns: all of the last one, however few it has.
double whole_waves(double waves) {
    return std::max(1.0, std::ceil(waves * (1 - 1e-9)));
}

class Scheduler {
  public:
    Scheduler(const std::vector<StreamWork>& work, double launch_latency)
        : work_(work), latency_(launch_latency), waits_(work.size(), 0), dependents_(work.size()) {
        result_.work.resize(work.size());
        std::map<std::uint32_t, std::size_t> last;
        for (std::size_t i = 0; i < work.size(); ++i) {
            const auto [before, first] = last.try_emplace(work[i].stream, i);
            if (!first) add_edge(before->second, i);
            before->second = i;
            for (const std::size_t earlier : work[i].after) add_edge(earlier, i);
        }
        ready_.assign(work.size(), 0);
    }

    StreamSchedule run(const std::vector<RepeatedWork>& repeated) {
        hand_out();
        while (finished_ < work_.size()) step();
        for (std::size_t i = 0; i < work_.size(); ++i)
            prepared_.push_back(result_.work[i].start_us - work_[i].gap_us);
        if (!repeated.empty()) stretch(repeated);
        divide();
        return std::move(result_);
    }

  private:
    void add_edge(std::size_t from, std::size_t to) {
        dependents_[from].push_back(to);
        ++waits_[to];
    }

    /// The host goes on until it must wait for the device.
    void hand_out() {
        while (handed_out_ < work_.size()) {
            const StreamWork& next = work_[handed_out_];
            host_ += next.host_us;
            result_.work[handed_out_].launched_us = host_;
            // What it waited for may have ended long before it was handed out.
            ready_[handed_out_] = std::max(ready_[handed_out_], host_ + latency_of(next));
            const std::size_t index = handed_out_++;
            if (waits_[index] == 0) make_startable(index);
            if (next.blocks_host) {
                blocked_by_ = index;
                return;
            }
        }
    }
    /// Work that costs the host nothing comes from a graph or a program that already runs.
    double latency_of(const StreamWork& work) const { return work.host_us > 0 ? latency_ : 0; }

    void make_startable(std::size_t index) { startable_.push({start_of(index), index}); }
    double start_of(std::size_t index) const {
        // The gap follows what ran before; a launch that comes late finds the stream idle and pays the same.
        return ready_[index] + work_[index].gap_us;
    }

    /// Rates of everything that runs, by the rules of the header.
    void share() {
        double room = 1, held = 0;
        for (const Running& one : running_) held += work_[one.index].holds;
        const double sms = std::max(kLeastSms, 1 - held);
        std::map<std::string, double> demands;
        std::map<std::uint32_t, double> rooms;                              // of runs together: taken by others before them
        std::map<std::uint32_t, std::map<std::string, double>> of_run;      // demands of runs together
        for (Running& one : running_) {
            const StreamWork& work = work_[one.index];
            one.rate = 1;
            if (one.flushes) continue;
            if (work.engine == Engine::kernels && work.waves > 0) {
                // Those of one run have shared the places among them.
                double& left = work.together == 0 ? room : rooms.try_emplace(work.together, room).first->second;
                const double wanted = std::min(1.0, work.waves), places = std::min(left, wanted);
                one.rate = places / wanted;
                if (work.together == 0) left = std::max(0.0, left - places);
                else room = std::max(0.0, std::min(room, left - places));
                const double longer = whole_waves(work.waves / sms) / whole_waves(work.waves);
                one.rate /= std::max(1.0, need_of_sms(work.demand) * longer);
            }
            for (const auto& [resource, part] : work.demand) {
                demands[resource] += one.rate * part;
                if (work.together != 0) of_run[work.together][resource] += one.rate * part;
            }
        }
        for (Running& one : running_) {
            if (one.flushes) continue;
            const StreamWork& work = work_[one.index];
            double slower = 1;
            for (const auto& [resource, part] : work.demand) {
                if (part <= 0) continue;
                const double others = work.together == 0 ? demands[resource]
                                                         : demands[resource] - of_run[work.together][resource] + one.rate * part;
                slower = std::max(slower, others);
            }
            one.rate /= slower;
        }
    }

    bool engine_busy(Engine engine) const {
        return engine != Engine::kernels &&
               std::any_of(running_.begin(), running_.end(),
                           [&](const Running& one) { return work_[one.index].engine == engine; });
    }

    /// To the next start or end.
    void step() {
        double end = kNever;
        for (const Running& one : running_)
            if (one.rate > 0) end = std::min(end, now_ + one.left / one.rate);
        const double start = startable_.empty() ? kNever : startable_.top().first;
        const double next = std::max(now_, std::min(start, end));
        for (Running& one : running_) one.left -= (next - now_) * one.rate;
        now_ = next;
        finish_ended();
        start_startable();
        share();
    }

    void finish_ended() {
        for (std::size_t i = 0; i < running_.size();) {
            const std::size_t index = running_[i].index;
            if (running_[i].left > kRounding * (now_ + work_[index].time_us)) {
                ++i;
                continue;
            }
            if (const double wait = flush_of(running_[i]); wait > 0) {
                running_[i].flushes = true;
                running_[i].left = wait;
                ++i;
                continue;
            }
            running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
            finish(index);
        }
    }
    /// That the end of a kernel waits for writes of those beside it.
    double flush_of(const Running& ended) const {
        if (work_[ended.index].engine != Engine::kernels || ended.flushes) return 0;
        double collective = 0, copy = 0;
        for (const Running& one : running_) {
            const StreamWork& work = work_[one.index];
            if (work.engine == Engine::kernels || work.time_us <= 0) continue;
            const double at = 1 - one.left / work.time_us;
            if (at < work.writes_from || at > work.writes_until) continue;
            double& longest = work.engine == Engine::network ? collective : copy;
            longest = std::max(longest, work.flush_us);
        }
        return collective + (collective > 0 ? 2 : 1) * copy;
    }
    void finish(std::size_t index) {
        result_.work[index].end_us = now_;
        ++finished_;
        for (const std::size_t dependent : dependents_[index]) {
            ready_[dependent] = std::max(ready_[dependent], now_);
            if (--waits_[dependent] == 0 && dependent < handed_out_) make_startable(dependent);
        }
        if (blocked_by_ == index) {
            host_ = std::max(host_, now_);
            blocked_by_ = kNobody;
            hand_out();
        }
    }

    void begin(std::size_t index) {
        const auto behind = std::find_if(running_.begin(), running_.end(),
                                         [&](const Running& one) { return work_[one.index].priority > work_[index].priority; });
        running_.insert(behind, {index, work_[index].time_us, 0});
    }

    void start_startable() {
        std::vector<std::pair<double, std::size_t>> later;
        while (!startable_.empty() && startable_.top().first <= now_) {
            const std::size_t index = startable_.top().second;
            startable_.pop();
            if (engine_busy(work_[index].engine)) {
                for (const Running& one : running_)
                    if (work_[one.index].engine == work_[index].engine) queued_[one.index].push_back(index);
                continue;
            }
            result_.work[index].start_us = now_;
            begin(index);
        }
        // Whoever waited for an engine tries again when its user has ended.
        for (auto it = queued_.begin(); it != queued_.end();) {
            const bool ended = std::none_of(running_.begin(), running_.end(),
                                            [&](const Running& one) { return one.index == it->first; });
            if (!ended) {
                ++it;
                continue;
            }
            for (const std::size_t index : it->second) later.push_back({now_, index});
            it = queued_.erase(it);
        }
        for (const auto& again : later) startable_.push(again);
    }

    void stretch(const std::vector<RepeatedWork>& repeated) {
        const StretchedTime stretched(work_, result_.work, repeated);
        for (WorkTimes& times : result_.work) {
            const double start = stretched.begin(times.start_us);
            // What takes no time ends where it begins.
            times = {stretched.end(times.launched_us), start, std::max(start, stretched.end(times.end_us))};
        }
        for (double& time : prepared_) time = stretched.begin(time);
        now_ = stretched.end(now_);
        host_ = stretched.end(host_);
    }

    /// Adds up what the device did in each moment.
    void divide() {
        struct Change {
            double at;
            int kernels, network, copies, starting;
        };
        std::vector<Change> changes;
        double sum = 0;
        for (std::size_t i = 0; i < work_.size(); ++i) {
            const WorkTimes& times = result_.work[i];
            const Engine engine = work_[i].engine;
            const int kernel = engine == Engine::kernels, network = engine == Engine::network,
                      copy = engine == Engine::copy;
            changes.push_back({times.start_us, kernel, network, copy, 0});
            changes.push_back({times.end_us, -kernel, -network, -copy, 0});
            changes.push_back({prepared_[i], 0, 0, 0, 1});
            changes.push_back({times.start_us, 0, 0, 0, -1});
            sum += times.end_us - times.start_us;
        }
        std::stable_sort(changes.begin(), changes.end(),
                         [](const Change& a, const Change& b) { return a.at < b.at; });
        StepDivision& d = result_.division;
        d.total_us = std::max(now_, host_);
        double before = 0;
        int kernels = 0, network = 0, copies = 0, starting = 0;
        const auto account = [&](double until) {
            double& part = kernels > 0    ? d.kernels_us
                           : network > 0  ? d.communication_us
                           : copies > 0   ? d.copies_us
                           : starting > 0 ? d.gaps_us
                                          : d.host_us;
            part += until - before;
            before = until;
        };
        for (const Change& change : changes) {
            if (change.at > before) account(change.at);
            kernels += change.kernels;
            network += change.network;
            copies += change.copies;
            starting += change.starting;
        }
        if (d.total_us > before) account(d.total_us);
        d.overlapped_us = sum - d.kernels_us - d.communication_us - d.copies_us;
    }

    static constexpr std::size_t kNobody = ~std::size_t{0};
    using Start = std::pair<double, std::size_t>;

    const std::vector<StreamWork>& work_;
    double latency_;
    StreamSchedule result_;
    std::vector<std::size_t> waits_;  ///< for so many others to end
    std::vector<std::vector<std::size_t>> dependents_;
    std::vector<double> prepared_;  ///< from when on nothing but its gap lay before its start
    std::vector<double> ready_;     ///< all that it waits for has ended, and the host has handed it out
    std::priority_queue<Start, std::vector<Start>, std::greater<>> startable_;
    std::map<std::size_t, std::vector<std::size_t>> queued_;  ///< for the engine of the work that is named
    std::vector<Running> running_;                            ///< by priority, then in order of their starts
    double now_ = 0, host_ = 0;
    std::size_t handed_out_ = 0, finished_ = 0, blocked_by_ = kNobody;
};

}  // namespace

double need_of_sms(const std::map<std::string, double>& demand) {
    const auto part = [&](const char* resource) {
        const auto found = demand.find(resource);
        return found == demand.end() ? 0 : found->second;
    };
    const double memory = std::max(part("dram bandwidth"), part("l2 bandwidth"));
    return std::max({1 - memory, part("tensor"), part("fp32"), part("issue"), part("shared memory")});
}

StreamSchedule schedule_streams(const std::vector<StreamWork>& work, double launch_latency_us,
                                const std::vector<RepeatedWork>& repeated) {
    return Scheduler(work, launch_latency_us).run(repeated);
}

}  // namespace heddle::sim
