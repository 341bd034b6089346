// Kernels without end, and commands that would take too long: a limit ends them with exit code 5 and one line
// that says what ran; what was done before is kept; nothing goes on in the background.
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "command.h"

namespace fs = std::filesystem;
using namespace heddle::robustness;

namespace {

const fs::path kSource = HEDDLE_SOURCE_DIR;

/// It counts for ever and stores every number, so its state never repeats.
const char* const kEndless = R"(.version 7.8
.target sm_80
.address_size 64
.visible .entry endless(.param .u64 p) {
    .reg .u64 %rd<2>;
    .reg .u32 %r<2>;
    ld.param.u64 %rd1, [p];
    mov.u32 %r1, 0;
again:
    add.u32 %r1, %r1, 1;
    st.global.u32 [%rd1], %r1;
    bra again;
}
)";

std::string launch_of(const std::string& geometry) {
    return "module: endless.ptx\nbuffers:\n  out: {type: u32, count: 64, fill: zeros}\nlaunches:\n  - entry: "
           "endless\n" +
           geometry + "    arguments: [out]\noutputs:\n  - {buffer: out, file: out.npy}\n";
}

void write_endless(const Folder& folder) {
    folder.write("endless.ptx", kEndless);
    folder.write("launch.yaml", launch_of("    grid: 3\n    block: 32\n"));
}

const std::vector<std::string> kEndlessRun{"kernel", "launch.yaml", "--hardware", "a100-sxm"};

std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
}

/// Empty, or what is wrong with the end of a command that reached a limit.
std::string fault_of_limit(const Outcome& outcome) {
    if (outcome.late) return "it did not end";
    if (outcome.code != 5) return "its exit code is " + std::to_string(outcome.code);
    if (outcome.err.rfind("heddle: ", 0) != 0) return "its message does not begin with `heddle: `";
    if (std::count(outcome.err.begin(), outcome.err.end(), '\n') != 1) return "its message is not one line";
    if (!outcome.out.empty()) return "it wrote to stdout";
    return {};
}

std::set<std::string> files_of(const Folder& folder) {
    std::set<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
        names.insert(fs::relative(entry.path(), folder.path()).string());
    return names;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

}  // namespace

TEST_CASE("a kernel without end that stores ends at --max-cycles") {
    for (const std::vector<std::string>& mode :
         {std::vector<std::string>{"--jobs", "1"}, {"--jobs", "2"}, {"--numerics"}, {"--tick-every-cycle"}}) {
        const Folder folder;
        write_endless(folder);
        const Outcome outcome = run(folder, with(with(kEndlessRun, {"--max-cycles", "20000"}), mode));
        INFO(outcome.err);
        CHECK(fault_of_limit(outcome) == "");
        CHECK_THAT(outcome.err,
                   Catch::Contains("the limit of 20000 cycles was reached by kernel endless (0 of 3 "
                                   "thread blocks, cycle ") &&
                       Catch::Contains("look for an endless loop"));
        CHECK(files_of(folder) == std::set<std::string>{".err", ".out", "endless.ptx", "launch.yaml"});
    }
}

TEST_CASE("a limit of cycles holds for kernels of workers, for programs of TPUs and for recorded kernels") {
    const Folder folder;
    const auto check = [&](const std::vector<std::string>& words, const std::string& what) {
        const Outcome outcome = run(folder, words);
        INFO(words[0] << ": " << outcome.err);
        CHECK(fault_of_limit(outcome) == "");
        CHECK_THAT(outcome.err, Catch::Contains("the limit of 500 cycles was reached by " + what));
    };
    const std::string step = (kSource / "examples/two-layers.json").string();
    check({"gemm", "256", "256", "256", "--hardware", "h100-sxm", "--max-cycles", "500"}, "kernel ");
    check({"gemm", "256", "256", "256", "--hardware", "tpu-v5e", "--max-cycles", "500"}, "program ");
    check({"simulate", step, "--hardware", "a100-sxm", "--max-cycles", "500", "--out", "run"}, "kernel ");
    check({"simulate", step, "--hardware", "tpu-v4", "--max-cycles", "500", "--out", "run"}, "program ");
    CHECK_FALSE(fs::exists(folder.path() / "run"));
    const std::string launch = (kSource / "examples/kernels/saxpy/launch.yaml").string();
    const Outcome recorded =
        run(folder, {"kernel", launch, "--hardware", "a100-sxm", "--record-trace", "traces"});
    INFO(recorded.err);
    REQUIRE(recorded.code == 0);
    check(
        {"simulate", "traces/kernelslist.g", "--hardware", "a100-sxm", "--max-cycles", "500", "--out", "run"},
        "kernel saxpy");
    // One that is not reached changes nothing.
    const Outcome free = run(folder, {"kernel", launch, "--hardware", "a100-sxm", "--json"});
    const Outcome limited =
        run(folder, {"kernel", launch, "--hardware", "a100-sxm", "--json", "--max-cycles", "1000000"});
    CHECK(limited.code == 0);
    const auto without_cost = [](const std::string& text) {  // what the simulation took on this machine
        auto answer = nlohmann::json::parse(text);
        answer.erase("simulation");
        return answer;
    };
    CHECK(without_cost(limited.out) == without_cost(free.out));
}

TEST_CASE("functional runs have no cycles that a limit could count") {
    const Folder folder;
    write_endless(folder);
    const Outcome outcome = run(folder, {"kernel", "launch.yaml", "--functional", "--max-cycles", "500"});
    INFO(outcome.err);
    CHECK(fault_of_refusal(outcome) == "");
    CHECK_THAT(outcome.err, Catch::Contains("--max-seconds"));
}

TEST_CASE("a command whose time is over ends with what it was about, and nothing goes on") {
    const auto check = [](const Folder& folder, const std::vector<std::string>& words,
                          const std::string& what) {
        Running command(folder, with(words, {"--max-seconds", "0.7"}));
        const Outcome outcome = command.wait();
        INFO(words[0] << ": " << outcome.err);
        CHECK(fault_of_limit(outcome) == "");
        CHECK_THAT(outcome.err, Catch::Contains("--max-seconds 0.7") && Catch::Contains(what));
        // Of its group of processes none is left.
        CHECK(comes_true([&] { return ::kill(-command.process(), 0) != 0; }, 20));
    };
    const Folder folder;
    write_endless(folder);
    check(folder, kEndlessRun, "kernel endless (0 of 3 thread blocks, cycle ");
    check(folder, with(kEndlessRun, {"--numerics"}), "kernel endless");
    check(folder, {"kernel", "launch.yaml", "--functional"}, "kernel endless (0 of 3 thread blocks)");
    // Simulated by workers.
    check(folder, {"gemm", "16384", "16384", "16384", "--hardware", "h100-sxm", "--full", "--jobs", "2"},
          "0 of 1 kernels were done");
    // It waits for a file's first byte: nothing that looks at the clock.
    REQUIRE(::mkfifo((folder.path() / "step.json").c_str(), 0600) == 0);
    check(folder, {"simulate", "step.json", "--hardware", "h100-sxm", "--out", "run"}, "is over");
    CHECK(files_of(folder) ==
          std::set<std::string>{".err", ".out", "endless.ptx", "launch.yaml", "step.json"});
}

TEST_CASE("an exploration whose time is over keeps its designs, and goes on to the same end") {
    const std::vector<std::string> words{"explore",    (kSource / "examples/two-layers.json").string(),
                                         "--hardware", "tpu-v4",
                                         "--vary",     "matrix.per_core=1..8:1",
                                         "--jobs",     "1",
                                         "--out",      "designs"};
    const Folder whole;
    const Outcome all = run(whole, words);
    INFO(all.err);
    REQUIRE(all.code == 0);
    // In the middle of it, and before the first design.
    for (const double seconds : {all.seconds / 2, 0.001}) {
        const Folder folder;
        const Outcome part = run(folder, with(words, {"--max-seconds", std::to_string(seconds)}));
        INFO(seconds << " s: " << part.err);
        if (part.code != 0) {  // this machine may have been quicker now
            CHECK(fault_of_limit(part) == "");
            CHECK_THAT(part.err, Catch::Contains("designs are kept; the same command with --resume goes on"));
            CHECK_FALSE(fs::exists(folder.path() / "designs/report.html"));
        }
        const Outcome rest = run(folder, with(words, {"--resume"}));
        CHECK(rest.code == 0);
        CHECK(folder.read("designs/points.csv") == whole.read("designs/points.csv"));
    }
}

TEST_CASE("a design whose kernels take more cycles than allowed is one that failed") {
    const Folder folder;
    const std::vector<std::string> words{"explore",    (kSource / "examples/two-layers.json").string(),
                                         "--hardware", "tpu-v4",
                                         "--vary",     "hbm.latency=300 cycles,100000 cycles",
                                         "--jobs",     "1",
                                         "--out",      "designs"};
    const Outcome outcome = run(folder, with(words, {"--max-cycles", "100000"}));
    INFO(outcome.err);
    CHECK(outcome.code == 0);
    const std::string points = folder.read("designs/points.csv");
    INFO(points);
    std::size_t failed = 0;
    for (const std::string& line : lines_of(points))
        if (line.find("the limit of 100000 cycles was reached by program ") != std::string::npos) ++failed;
    CHECK(failed == 1);
    // With more cycles it is evaluated after all.
    const Outcome again = run(folder, with(words, {"--resume", "--retry-failed"}));
    CHECK(again.code == 0);
    CHECK(folder.read("designs/points.csv").find("the limit of") == std::string::npos);
}

TEST_CASE("launches beyond CUDA's limits are refused where they stand") {
    const Folder folder;
    folder.write("endless.ptx", kEndless);
    const auto refused = [&](const std::string& geometry, const std::string& problem) {
        folder.write("launch.yaml", launch_of(geometry));
        const Outcome outcome = run(folder, kEndlessRun, {.time_limit = 60});
        INFO(outcome.err);
        CHECK(fault_of_refusal(outcome) == "");
        CHECK_THAT(outcome.err, Catch::Contains("launch.yaml:") && Catch::Contains(problem));
    };
    refused("    grid: [1, 2147483648]\n    block: 32\n",
            "launches[0].grid: a grid has at most 65535 blocks in y, this has 2147483648");
    refused("    grid: [2147483648]\n    block: 32\n", "a grid has at most 2147483647 blocks in x");
    refused("    grid: 1\n    block: [1, 1, 65]\n", "launches[0].block: a block has at most 64 threads in z");
    refused("    grid: 34\n    block: 32\n    cluster: 17\n", "a cluster has at most 16 blocks");
}

TEST_CASE("a long kernel tells how far it is, in a log too") {
    const Folder folder;
    write_endless(folder);
    const Outcome outcome = run(folder, with(kEndlessRun, {"--max-seconds", "3"}), {.progress = "0.2"});
    CHECK(outcome.code == 5);
    const std::vector<std::string> lines = lines_of(outcome.err);
    INFO(outcome.err);
    REQUIRE(lines.size() > 4);
    std::set<std::string> different;
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        CHECK_THAT(lines[i], Catch::Contains(" so far: ") || Catch::Contains(" left: "));
        if (lines[i].find("kernel endless (0 of 3 thread blocks, cycle ") != std::string::npos)
            different.insert(lines[i]);
    }
    CHECK(different.size() > 2);  // its cycles go on
    CHECK(outcome.out.empty());
    // Nobody asked: silence.
    CHECK(lines_of(run(folder, with(kEndlessRun, {"--max-seconds", "1"})).err).size() == 1);
    const Outcome wrong = run(folder, kEndlessRun, {.progress = "often"});
    CHECK(fault_of_refusal(wrong) == "");
    CHECK_THAT(wrong.err, Catch::Contains("HEDDLE_PROGRESS"));
}

TEST_CASE("kernels of workers tell how far they are, and what they are is counted") {
    const Folder folder;
    const Outcome outcome = run(folder,
                                {"gemm", "8192", "8192", "8192", "--hardware", "h100-sxm", "--full", "--jobs",
                                 "2", "--max-seconds", "6"},
                                {.progress = "0.3"});
    INFO(outcome.err);
    CHECK(outcome.code == 5);
    const std::vector<std::string> lines = lines_of(outcome.err);
    // Its thread blocks end together at the end; its cycles say how far it is.
    CHECK(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
        return line.find(" left: kernel ") != std::string::npos &&
               line.find(" thread blocks, cycle ") != std::string::npos;
    }));
}

TEST_CASE("a command that only reads tells what it reads") {
    const Folder folder;
    // A recording that is read for a while.
    std::string calls;
    for (unsigned i = 0; i < 150000; ++i)
        calls += (i == 0 ? "" : ",\n") + std::string(R"({"ph":"X","cat":"kernel","name":"k","ts":)") +
                 std::to_string(i) + R"(,"dur":1,"args":{"stream":7,"correlation":)" + std::to_string(i) +
                 R"(,"grid":[1,1,1],"block":[32,1,1]}})";
    folder.write("step.json", "{\"traceEvents\":[" + calls + "]}");
    const Outcome outcome = run(folder, {"trace", "inspect", "step.json"}, {.progress = "0.05"});
    INFO(outcome.err);
    CHECK_THAT(outcome.err, Catch::Contains("reading step.json (") && Catch::Contains(" bytes)"));
}

TEST_CASE("every command that simulates has both limits") {
    const Folder folder;
    for (const std::vector<std::string>& command : {std::vector<std::string>{"simulate"},
                                                    {"kernel"},
                                                    {"gemm"},
                                                    {"explore"},
                                                    {"learn"},
                                                    {"parallelism"},
                                                    {"collective"},
                                                    {"validate"},
                                                    {"validate", "gemm"},
                                                    {"validate", "attention"},
                                                    {"validate", "trace"},
                                                    {"validate", "training"},
                                                    {"validate", "collectives"}}) {
        const Outcome outcome = run(folder, with(command, {"--help"}));
        INFO(command.back());
        CHECK_THAT(outcome.out, Catch::Contains("--max-cycles") && Catch::Contains("--max-seconds"));
    }
}
