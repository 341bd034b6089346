// Questions and answers of evaluations, and the processes that carry them.
#include <signal.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <map>

#include "isa/common/error.h"
#include "sim/explore/evaluator.h"
#include "sim/explore/workers.h"
#include "sim/hardware/load_hardware.h"
#include "sim/run/workers/worker_pool.h"

using namespace heddle::explore;

namespace {

std::map<std::uint64_t, WorkerAnswer> all_answers(Workers& workers, const std::vector<std::string>& tasks) {
    std::map<std::uint64_t, WorkerAnswer> answers;
    std::uint64_t next = 0;
    while (answers.size() < tasks.size()) {
        while (next < tasks.size() && next - answers.size() < workers.count()) {
            workers.start(next, tasks[next]);
            ++next;
        }
        for (const WorkerAnswer& answer : workers.wait(-1)) answers[answer.task] = answer;
    }
    return answers;
}

std::string act(const std::string& task) {
    if (task == "crash") ::raise(SIGSEGV);
    if (task == "leave") ::_exit(3);
    return task + " done";
}

void check_answers(Workers& workers) {
    const std::string large(300000, 'x');  // more than a pipe holds
    const auto answers = all_answers(workers, {"one", "crash", "two", "leave", large, "three"});
    CHECK(answers.at(0).text == "one done");
    CHECK(answers.at(1).died);
    CHECK(answers.at(1).text.find("signal 11") != std::string::npos);
    CHECK(answers.at(2).text == "two done");
    CHECK(answers.at(3).died);
    CHECK(answers.at(3).text.find("exit code 3") != std::string::npos);
    CHECK(answers.at(4).text == large + " done");
    CHECK(!answers.at(5).died);
}

}  // namespace

TEST_CASE("local workers answer every task, and a crash costs its own only") {
    for (const unsigned count : {1u, 3u}) {
        LocalWorkers workers(count, act);
        check_answers(workers);
    }
}

TEST_CASE("kept workers do the same behind a process of their own") {
    KeptWorkers workers(2, [] { return TaskFunction(act); });
    check_answers(workers);
}

TEST_CASE("an interrupt ends the wait, and the processes with it") {
    const auto start = std::chrono::steady_clock::now();
    {
        LocalWorkers workers(2, [](const std::string&) {
            ::sleep(60);
            return std::string("late");
        });
        workers.start(0, "");
        ::kill(::getpid(), SIGINT);
        CHECK_THROWS_AS(workers.wait(-1), heddle::sim::Interrupted);
    }
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
}

TEST_CASE("tasks and answers are the same after a journey as text") {
    const Task task{{"sm.count=132", "name=\"odd\" \\ \n"}, Fidelity::full};
    CHECK(Task::from_text(task.to_text()).settings == task.settings);
    CHECK(Task::from_text(task.to_text()).fidelity == Fidelity::full);
    const Answer answer{"", {{"mlp", 0.1, {{"a", 1.0 / 3}, {"b", 5e-324}}, {"note"}}}};
    const Answer back = Answer::from_text(answer.to_text());
    CHECK(back.workloads[0].statistics == answer.workloads[0].statistics);
    CHECK(back.workloads[0].weight == 0.1);
    CHECK(Answer::from_text(Answer{"bad \xff byte", {}}.to_text()).error.find("bad") == 0);
}

TEST_CASE("statistics of a run add up the whole step's energy") {
    heddle::sim::RunResult result;
    result.step_time_us = 1000;
    result.energy_time_us = 600;
    result.energy = {{"dram", 0.01}, {"idle", 0.02}};
    heddle::sim::OpSummary op;
    op.kind = "matmul";
    op.name = "matmul 8x8x8";
    op.time_us = 5;
    result.ops = {op, op};
    const heddle::sim::Hardware hardware = heddle::sim::load_hardware("h100-sxm");
    const auto statistics = statistics_of(result, hardware);
    // Between kernels the board draws idle power and leakage: 37 W and 132 times 0.25 W, for 400 us.
    CHECK(statistics.at("energy_j") == Approx(0.03 + (37 + 132 * 0.25) * 400e-6));
    CHECK(statistics.at("kind/matmul") == 10);
    CHECK(statistics.count("clock_hz") == 0);
}
