// Two runs beside each other: what a difference consists of, against differences that were made on purpose.
#include "sim/report/run_comparison.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "isa/common/error.h"
#include "sample_result.h"
#include "sim/report/run_directory.h"
#include "support/folder.h"

namespace heddle::sim {
using heddle::tests::Folder;

namespace {

namespace fs = std::filesystem;

/// `cycles` at `clock` GHz, half of them waiting for memory.
StoredRun::Kernel kernel(const std::string& op, const std::string& name, double cycles, double clock) {
    StoredRun::Kernel one;
    one.op = op;
    one.name = name;
    one.kind = op.substr(0, op.find(' '));
    one.phase = "forward";
    one.fidelity = "cycle";
    one.cycles = cycles;
    one.time_us = cycles / clock / 1e3;
    one.reasons = {{"issued", 0.5}, {"memory", 0.5}};
    return one;
}

double cause(const RunComparison& comparison, const std::string& name) {
    for (const Both& one : comparison.causes)
        if (one.name == name) return one.second;
    return 0;
}

double sum_of_causes(const RunComparison& comparison) {
    double sum = 0;
    for (const Both& one : comparison.causes) sum += one.second;
    return sum;
}

double sum_of_times(const StoredRun& run) {
    double sum = 0;
    for (const StoredRun::Kernel& one : run.kernels) sum += one.time_us;
    return sum;
}

}  // namespace

TEST_CASE("another clock alone is told as the clock") {
    StoredRun first, second;
    first.kernels = {kernel("matmul a", "k", 20000, 2), kernel("copy b", "c", 2000, 2)};
    second.kernels = {kernel("matmul a", "k", 20000, 1), kernel("copy b", "c", 2000, 1)};
    const RunComparison comparison = compare_runs(first, second);
    CHECK(cause(comparison, "clock") == Approx(11));
    CHECK(sum_of_causes(comparison) == Approx(11));
    for (const Both& one : comparison.causes)
        if (one.name != "clock") CHECK(one.second == Approx(0).margin(1e-9));
}

TEST_CASE("more waiting for memory in the same kernel is told as that, another kernel as another kernel") {
    StoredRun first, second;
    first.kernels = {kernel("matmul a", "k", 20000, 2)};
    second.kernels = {kernel("matmul a", "k", 30000, 2)};
    second.kernels[0].reasons = {{"issued", 1.0 / 3},
                                 {"memory", 2.0 / 3}};  // 10000 issued as before, 20000 memory
    first.kernels[0].l2_bytes = second.kernels[0].l2_bytes = 100;
    first.kernels[0].dram_bytes = 20;
    second.kernels[0].dram_bytes = 90;
    const RunComparison waiting = compare_runs(first, second);
    CHECK(cause(waiting, "same kernels: memory") == Approx(5));
    CHECK(cause(waiting, "same kernels: issued") == Approx(0).margin(1e-9));
    CHECK(waiting.ops.at(0).more == "kept in L2: 80 % -> 10 %");

    second.kernels[0].name = "other";
    const RunComparison chosen = compare_runs(first, second);
    CHECK(cause(chosen, "other kernels chosen") == Approx(5));
    CHECK(chosen.ops.at(0).more == "k -> other");
}

TEST_CASE("ops of one run alone, ops that occur more often, and estimates are told apart") {
    StoredRun first, second;
    first.kernels = {kernel("matmul a", "k", 2000, 2), kernel("only first", "x", 4000, 2),
                     kernel("copy b", "c", 2000, 2)};
    second.kernels = {kernel("matmul a", "k", 2000, 2), kernel("matmul a", "k", 2000, 2),
                      kernel("only second", "y", 6000, 2), kernel("copy b", "c", 0, 2)};
    second.kernels[3].fidelity = "estimated";
    second.kernels[3].time_us = 5;
    const RunComparison comparison = compare_runs(first, second);
    CHECK(cause(comparison, "more or fewer of an op") == Approx(1));
    CHECK(cause(comparison, "ops that the second run has not") == Approx(-2));
    CHECK(cause(comparison, "ops that the first run has not") == Approx(3));
    CHECK(cause(comparison, "coverage: simulated in one run, not in the other") == Approx(4));
    CHECK(sum_of_causes(comparison) == Approx(sum_of_times(second) - sum_of_times(first)));
    CHECK_THAT(format_run_comparison(comparison, 20, 0), Catch::Contains("only in the second run"));
}

TEST_CASE("whatever differs, the causes add up to the difference") {
    std::mt19937 random(7);
    const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
    for (int round = 0; round < 200; ++round) {
        StoredRun runs[2];
        for (StoredRun& run : runs) {
            for (int i = 0, count = 1 + draw(12); i < count; ++i) {
                StoredRun::Kernel one = kernel("op " + std::to_string(draw(5)), "k" + std::to_string(draw(3)),
                                               1000 + draw(9000), 1 + 0.1 * draw(10));
                const double issued = 0.1 * draw(10);
                one.reasons = {{"issued", issued}, {"memory", 1 - issued}};
                if (draw(5) == 0) one.fidelity = "estimated";
                if (draw(5) == 0) one.cycles = 0;
                run.kernels.push_back(one);
            }
        }
        const double expected = sum_of_times(runs[1]) - sum_of_times(runs[0]);
        CHECK(sum_of_causes(compare_runs(runs[0], runs[1])) == Approx(expected).margin(1e-9));
    }
}

TEST_CASE("a run is read back from its folder, with what it was made with") {
    Folder folder;
    RunResult result = sample_result();
    write_run_directory(result, folder / "first",
                        {{"configuration.json", R"({"parameters": {"l2.size": "50 MiB"}})"}});
    result.step_time_us = 250;
    result.kernels[0].time_us = 75;
    write_run_directory(result, folder / "second",
                        {{"configuration.json", R"({"parameters": {"l2.size": "25 MiB"}})"}});
    const RunComparison comparison = compare_runs(read_run(folder / "first"), read_run(folder / "second"));
    CHECK(comparison.first.kernels.size() == 3);
    CHECK(comparison.first.kernels[0].reasons.at("memory") == 0.5);
    CHECK(comparison.first.cycle == 0.75);
    CHECK(sum_of_causes(comparison) == Approx(25));
    REQUIRE(comparison.parameters.size() == 1);
    CHECK(comparison.parameters[0].second.second == "25 MiB");
    const std::string text = format_run_comparison(comparison, 20, 0);
    CHECK_THAT(text, Catch::Contains("l2.size") && Catch::Contains("takes 125.0 % of the first: +50.0 us"));
    const auto json = nlohmann::json::parse(run_comparison_json(comparison));
    CHECK(json["second"]["step_time_us"] == 250);
    CHECK(json["parameters"][0]["first"] == "50 MiB");
}

TEST_CASE("what is no run, and what is damaged, is told with its name") {
    Folder folder;
    CHECK_THROWS_WITH(read_run(folder / "nowhere"), Catch::Contains("no such folder"));
    fs::create_directories(folder / "empty");
    CHECK_THROWS_WITH(read_run(folder / "empty"), Catch::Contains("no summary.json"));
    write_run_directory(sample_result(), folder / "run");
    std::ofstream(folder / "run/summary.json") << "{\"workload\": ";
    CHECK_THROWS_WITH(read_run(folder / "run"), Catch::Contains("damaged"));
    std::ofstream(folder / "run/summary.json") << "[1]";
    CHECK_THROWS_WITH(read_run(folder / "run"), Catch::Contains("not what a run leaves"));
    const std::string deep = std::string(1000000, '[') + std::string(1000000, ']');
    write_run_directory(sample_result(), folder / "deep",
                        {{"configuration.json", "{\"parameters\": {\"a\": " + deep + "}}"}});
    CHECK_THROWS_WITH(read_run(folder / "deep"),
                      Catch::Contains("configuration.json") && Catch::Contains("nested"));
    write_run_directory(sample_result(), folder / "other");
    std::ofstream(folder / "other/stats.sqlite")
        << "this is no database, however long it may be, and never was one";
    CHECK_THROWS_WITH(read_run(folder / "other"), Catch::Contains("cannot be read"));
}

}  // namespace heddle::sim
