#include "sim/run/worker_pool.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "isa/common/error.h"

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

TEST_CASE("a worker that dies is an internal error, not a hang") {
    REQUIRE_THROWS_WITH(
        run_jobs(
            2, 1, [] { return std::make_unique<Dying>(); }, [](std::size_t, const std::string&) {}),
        Catch::Contains("died"));
}

TEST_CASE("an interrupt ends the workers between two results, and the caller hears of it") {
    std::size_t done = 0;
    try {
        run_jobs(
            40, 4, [] { return std::make_unique<Squarer>(); },
            [&](std::size_t, const std::string&) {
                if (++done == 5) ::kill(::getpid(), SIGINT);
            });
        FAIL("nobody noticed");
    } catch (const Interrupted& interrupted) {
        CHECK(interrupted.signal == SIGINT);
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
