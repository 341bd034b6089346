#include "sim/run/workers/worker_pool.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstdio>
#include <exception>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "isa/common/activity.h"
#include "isa/common/error.h"
#include "isa/common/limits.h"
#include "isa/common/out_of_memory.h"

using namespace heddle::sim;

namespace {

/// Says which job it did and in which process.
struct Squarer : JobRunner {
    std::string run(std::size_t job) override {
        if (job == 13) ::usleep(20000);
        return std::to_string(job * job) + " " + std::to_string(::getpid());
    }
};

struct Failing : JobRunner {
    std::string run(std::size_t job) override {
        if (job == 3) throw heddle::Error("job three is bad");
        return "fine";
    }
};

struct Unlimited : JobRunner {
    std::string run(std::size_t job) override {
        if (job == 3) throw heddle::LimitReached("job three takes too long");
        return "fine";
    }
};

/// What it is about is its job, of which it does a half.
struct Telling : JobRunner {
    std::string run(std::size_t job) override {
        const heddle::Doing doing("job " + std::to_string(job), 2, "halves");
        heddle::this_activity().set_done(1);
        ::usleep(600000);
        return "fine";
    }
};

struct Hungry : JobRunner {
    std::string run(std::size_t) override {
        const heddle::Doing doing("reading huge.json");
        std::vector<char> memory(std::size_t{1} << 60);
        return std::string(memory.begin(), memory.end());
    }
};

/// Its memory runs out where no exception may leave: in a destructor.
struct Choking : JobRunner {
    struct Hoard {
        ~Hoard() {
            const std::vector<char> memory(std::size_t{1} << 60);
            std::fputs(memory.data(), stderr);
        }
    };
    std::string run(std::size_t) override {
        const Hoard hoard;
        return "never told";
    }
};

struct Killed : JobRunner {
    std::string run(std::size_t) override {
        ::raise(SIGKILL);
        return {};
    }
};

struct Dying : JobRunner {
    std::string run(std::size_t) override { ::_exit(9); }
};

}  // namespace

TEST_CASE("every job is done once, on several processes, none of them the parent") {
    std::map<std::size_t, std::string> results;
    std::set<std::string> processes;
    run_jobs(
        40, 4, [] { return std::make_unique<Squarer>(); },
        [&](std::size_t job, const std::string& text) {
            REQUIRE(results.count(job) == 0);
            const std::size_t space = text.find(' ');
            results[job] = text.substr(0, space);
            processes.insert(text.substr(space + 1));
        });
    REQUIRE(results.size() == 40);
    for (const auto& [job, text] : results) REQUIRE(text == std::to_string(job * job));
    REQUIRE(processes.count(std::to_string(::getpid())) == 0);
    REQUIRE(processes.size() >= 2);
}

TEST_CASE("jobs that are done elsewhere are waited for") {
    // Job 1 is somebody else's, who gives it up at the third time of asking; job 2 has been done meanwhile.
    struct Shared : JobSource {
        std::vector<std::size_t> given;
        unsigned asked = 0;
        bool first = false, second = false;
        std::optional<std::size_t> next() override {
            if (!std::exchange(first, true)) return given.emplace_back(0);
            if (second || ++asked < 3) return {};
            second = true;
            return given.emplace_back(1);
        }
        bool has_more() const override { return !second; }
    } source;
    std::vector<std::size_t> done;
    run_jobs(
        3, 2, [] { return std::make_unique<Squarer>(); },
        [&](std::size_t job, const std::string&) { done.push_back(job); }, source);
    CHECK(source.given == std::vector<std::size_t>{0, 1});
    CHECK(done == std::vector<std::size_t>{0, 1});
    CHECK(source.asked == 3);
}

TEST_CASE("an error of a job reaches the caller as that error") {
    REQUIRE_THROWS_WITH(
        run_jobs(
            8, 2, [] { return std::make_unique<Failing>(); }, [](std::size_t, const std::string&) {}),
        "job three is bad");
}

TEST_CASE("a limit that a job reaches is one for the caller too") {
    REQUIRE_THROWS_AS(
        run_jobs(
            8, 2, [] { return std::make_unique<Unlimited>(); }, [](std::size_t, const std::string&) {}),
        heddle::LimitReached);
}

TEST_CASE("what workers are about is seen meanwhile, and that they go on") {
    heddle::share_activities();
    struct Watching : JobSource {
        std::size_t given = 0;
        std::map<std::size_t, unsigned> running;
        std::set<std::string> seen;
        std::optional<std::size_t> next() override {
            return given < 2 ? std::optional(given++) : std::nullopt;
        }
        bool has_more() const override { return given < 2; }
        void still_running(std::size_t job) override {
            ++running[job];
            for (const heddle::ActivitySeen& activity : heddle::activities())
                if (activity.share() == 0.5 && activity.part == 0.5) seen.insert(activity.what);
        }
    } source;
    run_jobs(
        2, 2, [] { return std::make_unique<Telling>(); }, [](std::size_t, const std::string&) {}, source);
    CHECK(source.seen == std::set<std::string>{"job 0", "job 1"});
    CHECK(source.running[0] > 0);
    CHECK(source.running[1] > 0);
    CHECK(heddle::activities().empty());
}

TEST_CASE("memory that a worker lacks is bad input, told with what it was for") {
    heddle::name_what_takes_memory("test", 2);
    const auto told = [](const auto& make) {
        try {
            run_jobs(2, 1, make, [](std::size_t, const std::string&) {});
        } catch (const heddle::Error& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    CHECK_THAT(told([] { return std::make_unique<Hungry>(); }),
               Catch::Contains("not enough memory for reading huge.json"));
    CHECK_THAT(told([] { return std::make_unique<Choking>(); }), Catch::Contains("not enough memory"));
    CHECK_THAT(told([] { return std::make_unique<Killed>(); }),
               Catch::Contains("killed") && Catch::Contains("--jobs"));
    std::set_terminate(std::abort);
}

TEST_CASE("a worker that dies is an internal error, not a hang") {
    REQUIRE_THROWS_WITH(
        run_jobs(
            2, 1, [] { return std::make_unique<Dying>(); }, [](std::size_t, const std::string&) {}),
        Catch::Contains("died"));
}

TEST_CASE("an interrupt ends the workers between two results, and the caller hears of it") {
    const int signal = GENERATE(SIGINT, SIGTERM, SIGALRM);
    std::size_t done = 0;
    try {
        run_jobs(
            40, 4, [] { return std::make_unique<Squarer>(); },
            [&](std::size_t, const std::string&) {
                if (++done == 5) ::kill(::getpid(), signal);
            });
        FAIL("nobody noticed");
    } catch (const Interrupted& interrupted) {
        CHECK(interrupted.signal == signal);
        CHECK(interrupted.finished == done);
        CHECK(interrupted.count == 40);
        CHECK(done >= 5);
    }
    // Nothing is left of it: the next run works.
    std::size_t after = 0;
    run_jobs(
        8, 2, [] { return std::make_unique<Squarer>(); }, [&](std::size_t, const std::string&) { ++after; });
    CHECK(after == 8);
}
