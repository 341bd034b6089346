// Two commands that want the same kernels: each is simulated once, and one that is stopped holds up the other
// for a while only.
#include <signal.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "command.h"

namespace fs = std::filesystem;
using namespace heddle::robustness;

namespace {

using Json = nlohmann::ordered_json;

/// Ten kernels of tenths of a second. --json says how it was simulated under "simulation" alone.
const std::vector<std::string> kStep{"simulate",   "mlp",      "--batch", "512", "--widths", "512,512",
                                     "--hardware", "h100-sxm", "--jobs",  "1",   "--no-out", "--json"};

bool has_claim(const fs::path& cache) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(cache, none))
        if (entry.path().extension() == ".claim") return true;
    return false;
}

std::size_t claims(const fs::path& cache) {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(cache)) count += entry.path().extension() == ".claim";
    return count;
}

/// What is simulated, without how.
Json result_of(const Outcome& outcome) {
    Json json = Json::parse(outcome.out);
    json.erase("simulation");
    return json;
}

}  // namespace

TEST_CASE("a process that is stopped is told, and its kernel is taken over") {
    const Folder alone, cache, first, second;
    const Outcome expected = run(alone, kStep);
    INFO(expected.err);
    REQUIRE(expected.code == 0);

    Conditions conditions;
    conditions.cache = cache.path().string();
    conditions.claim_seconds = "5";  // the other kernels are done before
    Running stopped(first, kStep, conditions);
    REQUIRE(comes_true([&] { return has_claim(cache.path()); }));
    stopped.signal(SIGSTOP);

    conditions.progress = "0.2";
    const Outcome outcome = run(second, kStep, conditions);
    INFO(outcome.err);
    REQUIRE(outcome.code == 0);
    CHECK_THAT(outcome.err,
               Catch::Contains("waiting for PID " + std::to_string(stopped.process()) + " (stopped)"));
    CHECK(result_of(outcome) == result_of(expected));

    // The one that was stopped goes on to the same end, and what it held is gone.
    stopped.signal(SIGCONT);
    const Outcome resumed = stopped.wait();
    INFO(resumed.err);
    CHECK(resumed.code == 0);
    CHECK(result_of(resumed) == result_of(expected));
    CHECK(claims(cache.path()) == 0);
}

TEST_CASE("a process that goes on keeps its kernel, however long it takes") {
    const Folder cache, first, second;
    Conditions conditions;
    conditions.cache = cache.path().string();
    conditions.claim_seconds = "0.4";
    Running working(first, kStep, conditions);
    REQUIRE(comes_true([&] { return has_claim(cache.path()); }));
    const Outcome outcome = run(second, kStep, conditions);
    const Outcome before = working.wait();
    INFO(outcome.err << before.err);
    REQUIRE(outcome.code == 0);
    REQUIRE(before.code == 0);
    const std::size_t simulated =
        Json::parse(outcome.out)["simulation"]["kernels_simulated"].get<std::size_t>() +
        Json::parse(before.out)["simulation"]["kernels_simulated"].get<std::size_t>();
    // Each kernel once, by one of them.
    const Folder alone;
    CHECK(simulated ==
          Json::parse(run(alone, kStep).out)["simulation"]["kernels_simulated"].get<std::size_t>());
}

TEST_CASE("an exploration that another process writes names it") {
    const Folder folder;
    const std::vector<std::string> words{"explore",         "mlp",    "--hardware", "h100-sxm", "--vary",
                                         "sm.count=66,132", "--jobs", "1",          "--out",    "designs"};
    Running writer(folder, words);
    REQUIRE(comes_true([&] { return fs::exists(folder.path() / "designs/exploration.sqlite"); }));
    writer.signal(SIGSTOP);
    const Folder elsewhere;
    std::vector<std::string> same = words;
    same.back() = (folder.path() / "designs").string();
    same.push_back("--resume");
    const Outcome outcome = run(elsewhere, same);
    INFO(outcome.err);
    CHECK(fault_of_refusal(outcome) == "");
    CHECK_THAT(outcome.err,
               Catch::Contains("PID " + std::to_string(writer.process()) + " (stopped) is exploring"));
}
