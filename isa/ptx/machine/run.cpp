// A launch without time: which CTAs run beside one another, in which order, and when to give up.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "isa/common/activity.h"
#include "isa/common/error.h"
#include "isa/common/limits.h"
#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {
namespace {

constexpr unsigned kTurn = 256;          // steps of a warp before the next one has its turn
// The same behind a barrier: on a GPU its warps go on together, and there are kernels that read what was shared
// just behind one barrier and write it again before the next. That is a race, which no GPU shows.
constexpr unsigned kFirstTurn = 32;
constexpr unsigned kPatientRounds = 64;  // without an event, before CTAs are started beside those that run
constexpr std::uint64_t kSuspiciousRounds = 4096;    // without an event, before states are compared
constexpr std::uint64_t kHopelessRounds = 1u << 20;  // ... before a kernel that polls is declared to hang
constexpr unsigned kVainResumptions = 128;           // of stalled warps without an event
constexpr std::size_t kResidentCtas = 132 * 32;      // at once: as many as the largest device can hold

constexpr std::uint64_t kWorthThreads = 20'000;  // steps of a launch, before other threads come to help

// CTAs that run together: a cluster, or one.
struct Group {
    std::uint64_t number = 0;
    std::unique_ptr<Cluster> cluster;
    std::vector<std::unique_ptr<Cta>> ctas;
    std::vector<std::uint32_t> released;  ///< of each: the warps that have not gone on since a barrier
    bool finished() const {
        return std::all_of(ctas.begin(), ctas.end(), [](const auto& cta) { return cta->finished(); });
    }
};

/// The groups of a launch, which threads take one after the other. The error that counts is that of the first group in the
/// launch's order that has one, however many threads there are: groups before it are finished, groups behind it are given up.
class Groups {
  public:
    explicit Groups(std::uint64_t total) : total_(total), failed_(total) {}

    /// False: there are no more.
    bool take(std::uint64_t* number) {
        *number = next_.fetch_add(1, std::memory_order_relaxed);
        return *number < failed_.load(std::memory_order_relaxed);
    }
    bool are_left() const { return next_.load(std::memory_order_relaxed) < failed_.load(std::memory_order_relaxed); }
    bool is_given_up(std::uint64_t number) const { return number > failed_.load(std::memory_order_relaxed); }
    std::uint64_t total() const { return total_; }

    void finish(std::uint64_t ctas) { this_activity().set_done(finished_.fetch_add(ctas) + ctas); }
    void fail(std::uint64_t number, std::exception_ptr error) {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (number >= failed_ && error_) return;
        failed_ = std::min<std::uint64_t>(number, failed_);
        error_ = std::move(error);
    }
    void rethrow() const {
        if (error_) std::rethrow_exception(error_);
    }

  private:
    const std::uint64_t total_;
    std::atomic<std::uint64_t> next_{0}, finished_{0}, failed_;
    std::mutex mutex_;
    std::exception_ptr error_;
};

/// What one thread of the host does of a launch.
class FunctionalRun {
  public:
    FunctionalRun(const LaunchContext& launch, Groups& groups)
        : launch_(launch), size_(cluster_size(launch)), groups_(groups) {
        add_group();
    }

    /// `help`: called once, when the launch is worth other threads.
    template <class Help>
    std::uint64_t run(const Help& help) {
        bool alone = true;
        start_more(launch_.grid_workspace != 0 ? groups_.total() : 1);
        while (!running_.empty()) {
            if (is_out_of_time()) throw out_of_time();
            if (groups_.is_given_up(first_running())) return steps_;
            if (alone && steps_ > kWorthThreads && groups_.are_left()) {
                alone = false;
                help();
            }
            const bool progress = play_round();
            recycle();
            if (running_.empty()) start_more(1);
            if (running_.empty()) break;
            if (!progress) {
                resume_stalled();
            } else if (++quiet_rounds_ % kPatientRounds == 0) {
                start_more(running_.size());  // they may wait for CTAs that have not started
                if (quiet_rounds_ >= kSuspiciousRounds) look_for_repetition();
            }
        }
        return steps_;
    }

    /// The group that an error is told of.
    std::uint64_t first_running() const {
        std::uint64_t first = groups_.total();
        for (const std::unique_ptr<Group>& group : running_) first = std::min(first, group->number);
        return first;
    }

  private:
    // The first Cta checks the launch.
    void add_group() {
        auto group = std::make_unique<Group>();
        for (unsigned rank = 0; rank < size_; ++rank) group->ctas.push_back(std::make_unique<Cta>(launch_));
        idle_.push_back(std::move(group));
    }

    void start_more(std::size_t count) {
        for (; count != 0; --count) {
            if (idle_.empty() && (running_.size() + 1) * size_ > kResidentCtas) return;
            std::uint64_t number = 0;
            if (!groups_.take(&number)) return;
            if (idle_.empty()) add_group();
            std::unique_ptr<Group> group = std::move(idle_.back());
            idle_.pop_back();
            group->number = number;
            group->released.assign(size_, 0);
            if (size_ > 1) group->cluster = std::make_unique<Cluster>(launch_);
            for (unsigned rank = 0; rank < size_; ++rank) {
                group->ctas[rank]->start(cta_of_cluster(launch_, number, rank), rank, group->cluster.get());
            }
            running_.push_back(std::move(group));
            quiet_rounds_ = 0;
        }
    }

    bool play_round() {
        bool progress = false;
        for (const std::unique_ptr<Group>& group : running_) {
            for (std::size_t rank = 0; rank < group->ctas.size(); ++rank) {
                Cta& cta = *group->ctas[rank];
                const std::uint64_t before = cta.changes();
                for (unsigned w = 0; w < cta.warp_count(); ++w)
                    progress = play(cta, w, group->released[rank]) || progress;
                if (cta.changes() != before) event();
            }
        }
        return progress;
    }

    /// `released`: bit i is set while warp i has not gone on since a barrier.
    bool play(Cta& cta, unsigned index, std::uint32_t& released) {
        Warp& warp = cta.warp(index);
        unsigned turn = 0, most = kTurn;
        bool stored = false;
        const std::uint32_t own = 1u << index;
        if ((released & own) != 0 && !warp.blocked()) {
            most = kFirstTurn;
            released &= ~own;
        }
        for (; turn < most && !warp.finished() && !warp.blocked(); ++turn) {
            const StepResult result = warp.step(steps_);
            ++steps_;
            if (result.released_warps != 0) {
                released |= result.released_warps;
                most = std::min(most, turn + kFirstTurn);
            }
            stored = stored || (result.access != nullptr && result.access->write && !result.access->atomic);
            if (result.started_operations != 0) end_operations(cta);
        }
        if (stored) event();
        return turn != 0;
    }

    // Copies take no time here.
    static void end_operations(Cta& cta) {
        for (const AsyncOperation& operation : cta.started()) cta.complete(operation);
    }

    void event() {
        quiet_rounds_ = 0;
        vain_resumptions_ = 0;
        remembered_ = 0;
    }

    void recycle() {
        for (std::size_t i = 0; i < running_.size();) {
            if (!running_[i]->finished()) {
                ++i;
                continue;
            }
            event();
            groups_.finish(size_);
            idle_.push_back(std::move(running_[i]));
            running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
            start_more(1);
        }
    }

    // Every warp is blocked.
    void resume_stalled() {
        std::uint32_t released = 0;
        if (vain_resumptions_ < kVainResumptions) {  // else they stay as they are, for the report
            for (const std::unique_ptr<Group>& group : running_) {
                for (const std::unique_ptr<Cta>& cta : group->ctas) released |= cta->resume_stalled();
            }
        }
        if (released != 0) {
            ++vain_resumptions_;
            return;
        }
        const std::size_t before = running_.size();
        start_more(before);
        if (running_.size() == before) fail("every unfinished warp waits");
    }

    // Nothing has happened for long. When the state of all warps is one that has been seen since, nothing
    // ever will (the state is remembered at powers of two, after Brent).
    void look_for_repetition() {
        std::uint64_t hash = 0xcbf29ce484222325u;
        for (const std::unique_ptr<Group>& group : running_) {
            for (const std::unique_ptr<Cta>& cta : group->ctas) hash = add_state(hash, cta->implementation());
        }
        if (hash == remembered_ || quiet_rounds_ >= kHopelessRounds) {
            fail("the warps that are not blocked go round in loops and nothing changes any more");
        }
        if ((quiet_rounds_ & (quiet_rounds_ - 1)) == 0 || remembered_ == 0) remembered_ = hash;
    }

    static std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
        hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
        return hash ^ hash >> 29;
    }
    static std::uint64_t add_state(std::uint64_t hash, const Cta::Implementation& cta) {
        for (const Warp::State& warp : cta.states) {
            hash = mix(mix(hash, warp.pc), std::uint64_t{warp.active} << 32 | warp.live);
            for (const Path& path : warp.paths) hash = mix(mix(hash, path.pc), path.lanes);
        }
        for (const Line& line : cta.registers) {
            std::array<std::uint64_t, 8> words;
            std::memcpy(words.data(), line.bytes.data(), sizeof(words));
            for (const std::uint64_t word : words) hash = mix(hash, word);
        }
        return hash;
    }

    [[noreturn]] void fail(const std::string& problem) const {
        std::string waiting;
        unsigned described = 0;
        for (const std::unique_ptr<Group>& group : running_) {
            for (const std::unique_ptr<Cta>& cta : group->ctas) {
                if (cta->finished() || described >= 8) continue;
                ++described;
                waiting += "\n" + cta->describe_waiting();
            }
        }
        throw Error(
            "deadlock in kernel " + launch_.kernel->name() + ": " + problem + waiting,
            {launch_.kernel->implementation().file_name, launch_.kernel->implementation().kernel.line, ""},
            "look for a barrier that not all warps reach, or a flag that nobody sets");
    }

    const LaunchContext& launch_;
    const unsigned size_;
    Groups& groups_;
    std::uint64_t steps_ = 0;
    std::vector<std::unique_ptr<Group>> running_, idle_;
    std::uint64_t quiet_rounds_ = 0, remembered_ = 0;
    unsigned vain_resumptions_ = 0;
};

}  // namespace

std::uint64_t run_functionally(const LaunchContext& launch) {
    Groups groups(launch.grid.count() / cluster_size(launch));
    FunctionalRun mine(launch, groups);  // checks the launch
    if (launch.grid_workspace != 0 && launch.grid.count() > kResidentCtas) {
        throw Error("kernel " + launch.kernel->name() + ": a cooperative launch of " +
                        std::to_string(launch.grid.count()) + " thread blocks is too large",
                    {}, "no device runs more than " + std::to_string(kResidentCtas) + " at once",
                    Error::Kind::cooperative_too_large);
    }
    const Doing doing("kernel " + launch.kernel->name(), launch.grid.count(), "thread blocks");
    const unsigned most = launch.check == nullptr && launch.grid_workspace == 0 && launch.kernel->blocks_are_independent()
                              ? launch.threads
                              : 1;
    std::vector<std::thread> others;
    std::atomic<std::uint64_t> steps{0};
    const auto work = [&](FunctionalRun& run, const auto& help) {
        try {
            steps += run.run(help);
        } catch (...) {
            groups.fail(run.first_running(), std::current_exception());
        }
    };
    work(mine, [&] {
        for (unsigned i = 1; i < most; ++i) {
            others.emplace_back([&] {
                FunctionalRun other(launch, groups);
                work(other, [] {});
            });
        }
    });
    for (std::thread& other : others) other.join();
    groups.rethrow();
    return steps;
}

}  // namespace heddle::ptx
