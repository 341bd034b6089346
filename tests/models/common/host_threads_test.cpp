#include "models/common/host_threads.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using heddle::models::HostThreads;

TEST_CASE("each task of each job is performed once, whatever the number of threads and tasks") {
    for (const unsigned threads : {1u, 2u, 3u, 7u}) {
        HostThreads team(threads);
        REQUIRE(team.count() == threads);
        std::vector<unsigned> performed(HostThreads::kMostTasks);
        std::vector<unsigned> expected(HostThreads::kMostTasks);
        const auto task = [&](unsigned i) { ++performed[i]; };
        for (unsigned job = 0; job < 3000; ++job) {
            const unsigned tasks = job * 37 % (HostThreads::kMostTasks + 1);
            if (job % 500 == 0)
                std::this_thread::sleep_for(std::chrono::milliseconds(2));  // they fall asleep
            team.run(tasks, task);
            for (unsigned i = 0; i < tasks; ++i) ++expected[i];
            if (job % 100 == 0) REQUIRE(performed == expected);
        }
        REQUIRE(performed == expected);
    }
}

TEST_CASE("what one job wrote the next one reads, on any thread") {
    HostThreads team(4);
    std::vector<std::uint64_t> values(16, 1), next(16);
    const auto task = [&](unsigned i) { next[i] = values[i] * 3 + values[(i + 5) % 16]; };
    std::vector<std::uint64_t> alone = values, alone_next(16);
    for (unsigned job = 0; job < 5000; ++job) {
        team.run(16, task);
        std::swap(values, next);
        for (unsigned i = 0; i < 16; ++i) alone_next[i] = alone[i] * 3 + alone[(i + 5) % 16];
        std::swap(alone, alone_next);
    }
    REQUIRE(values == alone);
}

TEST_CASE("a failed task does not keep the others, and of several the first is told") {
    HostThreads team(3);
    std::vector<int> performed(20);
    const auto task = [&](unsigned i) {
        ++performed[i];
        if (i == 7 || i == 12) throw std::runtime_error("task " + std::to_string(i));
    };
    for (int job = 1; job <= 50; ++job) {
        REQUIRE_THROWS_WITH(team.run(20, task), "task 7");
        REQUIRE(performed == std::vector<int>(20, job));
    }
}
