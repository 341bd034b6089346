// SIGINT, SIGTERM and a full disk at random moments leave no broken output: what is there afterwards is what
// a whole run writes, or what was there before, or nothing. HEDDLE_ROBUSTNESS_CASES=200 tries more moments.
#include <sqlite3.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <csignal>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>

#include "command.h"

namespace fs = std::filesystem;
using namespace heddle::robustness;

namespace {

const fs::path kSource = HEDDLE_SOURCE_DIR;
constexpr unsigned kUsualCases = 8;

bool is_json(const fs::path& path) {
    return nlohmann::json::accept(text_of(path));
}

bool is_whole_page(const fs::path& path) {
    const std::string text = text_of(path);
    return text.find("</html>") != std::string::npos;
}

bool is_sound_database(const fs::path& path) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE, nullptr);
    const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database(opened, sqlite3_close);
    if (code != SQLITE_OK) return false;
    std::string answer;
    const auto take = [](void* to, int, char** values, char**) {
        *static_cast<std::string*>(to) = values[0] == nullptr ? "" : values[0];
        return 0;
    };
    sqlite3_exec(database.get(), "PRAGMA integrity_check", take, &answer, nullptr);
    return answer == "ok";
}

/// Looks at one file by its ending. Empty, or what is wrong with it.
std::string fault_of_file(const fs::path& path) {
    const std::string ending = path.extension().string();
    bool good = true;
    if (ending == ".json") good = is_json(path);
    if (ending == ".html") good = is_whole_page(path);
    if (ending == ".sqlite") good = is_sound_database(path);
    if (ending == ".csv") good = !text_of(path).empty() && text_of(path).back() == '\n';
    if (ending == ".svg") good = text_of(path).find("</svg>") != std::string::npos;
    return good ? "" : path.string() + " is broken";
}

/// Everything under `folder`: every file is whole, and nothing is a leftover.
std::string fault_of_tree(const fs::path& folder) {
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (name.find("partial") != std::string::npos || name.find(".old-") != std::string::npos)
            return entry.path().string() + " was left behind";
        if (!entry.is_regular_file()) continue;
        const std::string fault = fault_of_file(entry.path());
        if (!fault.empty()) return fault;
    }
    return {};
}

/// A command that writes below `output`, and the files that a whole run leaves there.
struct Job {
    std::vector<std::string> command;
    std::string output;
    std::vector<std::string> files;  ///< within `output`; none: it is a file
};

std::vector<Job> jobs() {
    const std::string step = (kSource / "examples/two-layers.json").string();
    const std::string recorded = (kSource / "examples/recorded/resnet.et.gz").string();
    const std::vector<std::string> run_files{"summary.json",      "kernels.csv",  "timeline.json",
                                             "report.html",       "timeline.svg", "stats.sqlite",
                                             "configuration.json"};
    return {
        {{"simulate", step, "--hardware", "tpu-v5e", "--out", "out/run", "--jobs", "1"},
         "out/run",
         run_files},
        {{"trace", "import", recorded, "out/step.json"}, "out/step.json", {}},
        {{"explore", step, "--hardware", "tpu-v4", "--vary", "matrix.per_core=1..4:*2", "--jobs", "1",
          "--out", "out/designs"},
         "out/designs",
         {}},
        {{"validate", "timing", "--filter", "latency/l1", "--report", "out/report.html"},
         "out/report.html",
         {}},
    };
}

/// What an ended command must have left.
std::string fault_of_end(const Folder& folder, const Job& job, const Outcome& outcome) {
    const fs::path out = folder.path() / "out";
    std::string fault = fault_of_tree(out);
    if (!fault.empty()) return fault;
    const bool there = fs::exists(folder.path() / job.output);
    if (outcome.code == 0 && !there) return "it says that it is done, and left nothing";
    if (there)
        for (const std::string& file : job.files)
            if (!fs::exists(folder.path() / job.output / file)) return file + " is missing";
    return {};
}

}  // namespace

TEST_CASE("SIGINT and SIGTERM at random moments leave whole output or none") {
    std::mt19937 random(20261122);
    for (const Job& job : jobs()) {
        // How long an undisturbed run takes.
        double seconds = 0;
        {
            const Folder folder;
            fs::create_directories(folder.path() / "out");
            const Outcome whole = run(folder, job.command);
            INFO(job.command[0] << ": " << whole.err);
            REQUIRE(whole.code == 0);
            REQUIRE(fault_of_end(folder, job, whole) == "");
            seconds = whole.seconds;
        }
        unsigned stopped = 0;
        const unsigned count = cases(kUsualCases);
        for (unsigned i = 0; i < count; ++i) {
            const Folder folder;
            fs::create_directories(folder.path() / "out");
            Conditions conditions;
            conditions.signal = random() % 2 == 0 ? SIGINT : SIGTERM;
            conditions.interrupt_after = seconds * std::uniform_real_distribution<double>(0, 1.1)(random);
            const Outcome outcome = run(folder, job.command, conditions);
            INFO(job.command[0] << ", signal " << conditions.signal << " after " << conditions.interrupt_after
                                << " s: code " << outcome.code << ", signal " << outcome.signal << ", "
                                << outcome.err);
            CHECK_FALSE(outcome.late);
            const bool ended = outcome.code == 0 || outcome.code == 128 + conditions.signal ||
                               outcome.signal == conditions.signal;
            CHECK(ended);
            CHECK(fault_of_end(folder, job, outcome) == "");
            stopped += outcome.code != 0;
            // An exploration goes on from what is kept, whenever it was stopped.
            if (job.command[0] == "explore" &&
                fs::exists(folder.path() / job.output / "exploration.sqlite")) {
                std::vector<std::string> resumed = job.command;
                resumed.push_back("--resume");
                const Outcome rest = run(folder, resumed);
                CHECK(rest.code == 0);
                CHECK(fault_of_end(folder, job, rest) == "");
            }
        }
        if (count >= kUsualCases) CHECK(stopped > 0);
    }
}

TEST_CASE("a run that is interrupted while it replaces another leaves one of the two") {
    const Job job = jobs()[0];
    const Folder folder;
    fs::create_directories(folder.path() / "out");
    const Outcome whole = run(folder, job.command);
    REQUIRE(whole.code == 0);
    std::mt19937 random(20261123);
    for (unsigned i = 0; i < cases(kUsualCases); ++i) {
        Conditions conditions;
        conditions.signal = random() % 2 == 0 ? SIGINT : SIGTERM;
        conditions.interrupt_after = whole.seconds * std::uniform_real_distribution<double>(0.3, 1.1)(random);
        const Outcome outcome = run(folder, job.command, conditions);
        INFO("after " << conditions.interrupt_after << " s: " << outcome.err);
        CHECK(fault_of_end(folder, job, outcome) == "");
        CHECK(fs::exists(folder.path() / job.output / "summary.json"));
    }
}

// A limit of the size of files makes writes fail as a full disk does, wherever tests run.
TEST_CASE("writes that fail at any size end with one line, and leave whole output or none") {
    std::mt19937 random(20261124);
    for (const Job& job : jobs()) {
        unsigned refused = 0;
        for (unsigned i = 0; i < cases(kUsualCases); ++i) {
            const Folder folder;
            fs::create_directories(folder.path() / "out");
            Conditions conditions;
            conditions.file_limit =
                static_cast<std::uint64_t>(std::exp2(std::uniform_real_distribution<double>(9, 20)(random)));
            const Outcome outcome = run(folder, job.command, conditions);
            INFO(job.command[0] << ", " << conditions.file_limit << " bytes: code " << outcome.code << ", "
                                << outcome.err);
            CHECK_FALSE(outcome.late);
            if (outcome.code != 0) {
                ++refused;
                CHECK(outcome.code == 2);
                CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
            }
            CHECK(fault_of_end(folder, job, outcome) == "");
        }
        CHECK(refused > 0);
    }
}

TEST_CASE("a disk that is full at random moments leaves whole output or none") {
    std::mt19937 random(20261125);
    for (const Job& job : jobs()) {
        for (unsigned i = 0; i < cases(kUsualCases); ++i) {
            const Folder folder;
            fs::create_directories(folder.path() / "out");
            const std::uint64_t bytes = std::uint64_t{4096} << random() % 9;
            const SmallDisk disk(folder.path() / "out", bytes);
            if (!disk.mounted()) {
                WARN("skipped: this system lets no test mount a disk");
                return;
            }
            const Outcome outcome = run(folder, job.command);
            INFO(job.command[0] << ", " << bytes << " bytes: code " << outcome.code << ", " << outcome.err);
            CHECK_FALSE(outcome.late);
            const bool ended = outcome.code == 0 || fault_of_refusal(outcome) == "";
            CHECK(ended);
            CHECK(fault_of_end(folder, job, outcome) == "");
        }
    }
}
