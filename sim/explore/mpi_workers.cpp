#include "sim/explore/mpi_workers.h"

#include <signal.h>

#include <algorithm>
#include <boost/mpi/communicator.hpp>
#include <boost/mpi/environment.hpp>
#include <boost/serialization/string.hpp>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <thread>
#include <vector>

#include "isa/common/limits.h"
#include "sim/run/workers/worker_pool.h"

namespace heddle::explore {
namespace {

namespace mpi = boost::mpi;

enum Tag { kHello = 1, kTask, kAnswer, kEnd };

/// Open MPI's blocking calls spin, which would take a core from an evaluation: messages are looked for in
/// turn with a short sleep.
constexpr std::chrono::milliseconds kSleep{2};

struct TaskMessage {
    std::uint64_t task = 0;
    std::string text;
    template <class Archive>
    void serialize(Archive& archive, unsigned) {
        archive& task& text;
    }
};

struct AnswerMessage {
    std::uint64_t task = 0;
    bool died = false;
    double wall_s = 0;
    std::string text;
    template <class Archive>
    void serialize(Archive& archive, unsigned) {
        archive& task& died& wall_s& text;
    }
};

volatile sig_atomic_t interrupted_by = 0;
void remember_signal(int signal) {
    interrupted_by = signal;
}

/// Rank 0's own processes and those of all other ranks.
class AllRanks : public Workers {
  public:
    AllRanks(mpi::communicator& world, Workers& own) : world_(world), own_(own), free_(1, own.count()) {
        for (int rank = 1; rank < world.size(); ++rank) {
            unsigned count = 0;
            world.recv(rank, kHello, count);
            free_.push_back(count);
        }
        for (const unsigned count : free_) count_ += count;
    }

    unsigned count() const override { return count_; }

    void start(std::uint64_t task, const std::string& text) override {
        // The rank with most room; of equals the last, since rank 0 has the writing to do.
        const auto most = std::max_element(free_.rbegin(), free_.rend());
        const auto rank = static_cast<int>(free_.rend() - most) - 1;
        --*most;
        if (rank == 0) {
            own_.start(task, text);
        } else {
            world_.send(rank, kTask, TaskMessage{task, text});
        }
    }

    std::vector<WorkerAnswer> wait(int timeout_ms) override {
        const auto begin = std::chrono::steady_clock::now();
        for (;;) {
            std::vector<WorkerAnswer> answers = own_.wait(0);
            free_[0] += static_cast<unsigned>(answers.size());
            while (const auto status = world_.iprobe(mpi::any_source, kAnswer)) {
                AnswerMessage message;
                world_.recv(status->source(), kAnswer, message);
                ++free_[static_cast<std::size_t>(status->source())];
                answers.push_back({message.task, message.died, std::move(message.text), message.wall_s});
            }
            const auto gone = std::chrono::duration_cast<std::chrono::milliseconds>(
                std::chrono::steady_clock::now() - begin);
            if (!answers.empty() || (timeout_ms >= 0 && gone.count() >= timeout_ms)) return answers;
            if (interrupted_by != 0) throw sim::Interrupted{static_cast<int>(interrupted_by), 0, 0};
            if (is_out_of_time()) throw sim::Interrupted{SIGALRM, 0, 0};
            std::this_thread::sleep_for(kSleep);
        }
    }

  private:
    mpi::communicator& world_;
    Workers& own_;
    std::vector<unsigned> free_;  ///< by rank
    unsigned count_ = 0;
};

}  // namespace

struct MpiSession::State {
    State(unsigned count, const std::function<TaskFunction()>& make_function) : own(count, make_function) {
        environment.emplace(false);
        world.emplace();
        ::signal(SIGINT, remember_signal);
        ::signal(SIGTERM, remember_signal);
        ::signal(SIGALRM, remember_signal);
    }

    KeptWorkers own;  // before MPI: it forks
    std::optional<mpi::environment> environment;
    std::optional<mpi::communicator> world;
    std::unique_ptr<AllRanks> all;
};

bool mpi_is_built() {
    return true;
}

MpiSession::MpiSession(unsigned count, const std::function<TaskFunction()>& make_function)
    : state_(std::make_unique<State>(count, make_function)) {}

MpiSession::~MpiSession() {
    if (rank() != 0) return;
    for (int other = 1; other < ranks(); ++other) state_->world->send(other, kEnd, 0);
}

int MpiSession::rank() const {
    return state_->world->rank();
}
int MpiSession::ranks() const {
    return state_->world->size();
}

Workers& MpiSession::workers() {
    if (!state_->all) state_->all = std::make_unique<AllRanks>(*state_->world, state_->own);
    return *state_->all;
}

void MpiSession::serve() {
    mpi::communicator& world = *state_->world;
    world.send(0, kHello, state_->own.count());
    for (;;) {
        bool idle = true;
        while (const auto status = world.iprobe(0, kTask)) {
            TaskMessage message;
            world.recv(0, kTask, message);
            state_->own.start(message.task, message.text);
            idle = false;
        }
        for (WorkerAnswer& answer : state_->own.wait(0)) {
            world.send(0, kAnswer,
                       AnswerMessage{answer.task, answer.died, answer.wall_s, std::move(answer.text)});
            idle = false;
        }
        if (world.iprobe(0, kEnd)) {
            int nothing = 0;
            world.recv(0, kEnd, nothing);
            return;
        }
        if (idle) std::this_thread::sleep_for(kSleep);
    }
}

}  // namespace heddle::explore
