// A launch without time: which CTAs run beside one another, in which order, and when to give up.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "isa/common/activity.h"
#include "isa/common/error.h"
#include "isa/common/limits.h"
#include "isa/ptx/machine/machine.h"

namespace heddle::ptx {
namespace {

constexpr unsigned kTurn = 256;          // steps of a warp before the next one has its turn
constexpr unsigned kPatientRounds = 64;  // without an event, before CTAs are started beside those that run
constexpr std::uint64_t kSuspiciousRounds = 4096;    // without an event, before states are compared
constexpr std::uint64_t kHopelessRounds = 1u << 20;  // ... before a kernel that polls is declared to hang
constexpr unsigned kVainResumptions = 128;           // of stalled warps without an event
constexpr std::size_t kResidentCtas = 132 * 32;      // at once: as many as the largest device can hold

// CTAs that run together: a cluster, or one.
struct Group {
    std::unique_ptr<Cluster> cluster;
    std::vector<std::unique_ptr<Cta>> ctas;
    bool finished() const {
        return std::all_of(ctas.begin(), ctas.end(), [](const auto& cta) { return cta->finished(); });
    }
};

class FunctionalRun {
  public:
    explicit FunctionalRun(const LaunchContext& launch) : launch_(launch), size_(cluster_size(launch)) {}

    std::uint64_t run() {
        add_group();
        if (launch_.grid_workspace != 0 && launch_.grid.count() > kResidentCtas) {
            throw Error("kernel " + launch_.kernel->name() + ": a cooperative launch of " +
                            std::to_string(launch_.grid.count()) + " thread blocks is too large",
                        {}, "no device runs more than " + std::to_string(kResidentCtas) + " at once");
        }
        groups_total_ = launch_.grid.count() / size_;
        const Doing doing("kernel " + launch_.kernel->name(), launch_.grid.count(), "thread blocks");
        start_more(launch_.grid_workspace != 0 ? groups_total_ : 1);
        while (!running_.empty()) {
            if (is_out_of_time()) throw out_of_time();
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

  private:
    // The first Cta checks the launch.
    void add_group() {
        auto group = std::make_unique<Group>();
        for (unsigned rank = 0; rank < size_; ++rank) group->ctas.push_back(std::make_unique<Cta>(launch_));
        idle_.push_back(std::move(group));
    }

    void start_more(std::size_t count) {
        for (; count != 0 && next_group_ < groups_total_; --count) {
            if (idle_.empty()) {
                if ((running_.size() + 1) * size_ > kResidentCtas) return;
                add_group();
            }
            std::unique_ptr<Group> group = std::move(idle_.back());
            idle_.pop_back();
            if (size_ > 1) group->cluster = std::make_unique<Cluster>(launch_);
            for (unsigned rank = 0; rank < size_; ++rank) {
                group->ctas[rank]->start(cta_of_cluster(launch_, next_group_, rank), rank,
                                         group->cluster.get());
            }
            ++next_group_;
            running_.push_back(std::move(group));
            quiet_rounds_ = 0;
        }
    }

    bool play_round() {
        bool progress = false;
        for (const std::unique_ptr<Group>& group : running_) {
            for (const std::unique_ptr<Cta>& cta : group->ctas) {
                const std::uint64_t before = cta->changes();
                for (unsigned w = 0; w < cta->warp_count(); ++w)
                    progress = play(*cta, cta->warp(w)) || progress;
                if (cta->changes() != before) event();
            }
        }
        return progress;
    }

    bool play(Cta& cta, Warp& warp) {
        unsigned turn = 0;
        bool stored = false;
        for (; turn < kTurn && !warp.finished() && !warp.blocked(); ++turn) {
            const StepResult result = warp.step(steps_);
            ++steps_;
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
            this_activity().set_done(finished_ += size_);
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
    std::uint64_t groups_total_ = 0, next_group_ = 0, steps_ = 0, finished_ = 0;
    std::vector<std::unique_ptr<Group>> running_, idle_;
    std::uint64_t quiet_rounds_ = 0, remembered_ = 0;
    unsigned vain_resumptions_ = 0;
};

}  // namespace

std::uint64_t run_functionally(const LaunchContext& launch) {
    return FunctionalRun(launch).run();
}

}  // namespace heddle::ptx
