// `heddle explore` as a user runs it: real simulations, real errors, several ranks.
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>

namespace fs = std::filesystem;

namespace {

struct Output {
    int code = 0;
    std::string text;  ///< both streams
};

Output shell(const std::string& command) {
    Output output;
    std::FILE* pipe = ::popen(("{ " + command + "\n} 2>&1").c_str(), "r");
    REQUIRE(pipe != nullptr);
    std::array<char, 4096> buffer{};
    for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
        output.text.append(buffer.data(), got);
    const int status = ::pclose(pipe);
    output.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return output;
}

class Folder {
  public:
    Folder() : path_(fs::temp_directory_path() / ("heddle-explore-command-" + std::to_string(getpid()))) {
        fs::remove_all(path_);
        fs::create_directories(path_);
        // Not the user's cache, and one that is shared by all runs of a test.
        ::setenv("HEDDLE_CACHE", (path_ / "cache").c_str(), 1);
    }
    ~Folder() { fs::remove_all(path_); }
    std::string path(const std::string& name) const { return (path_ / name).string(); }

  private:
    fs::path path_;
};

const std::string kHeddle = HEDDLE_COMMAND;

// Commas part the options of a workload, so widths is given for all.
std::string tpu(const std::string& more) {
    return kHeddle + " explore mlp --hardware tpu-v4 --batch 64 --option widths=64,128,10 " + more;
}
const std::string kGrid =
    "--vary 'matrix.per_core=1..8:*2' --vary 'hbm.stacks=2,4' --link 'hbm.bandwidth = hbm.stacks * 300 "
    "GB/s' ";

std::string bytes_of(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

/// Points that an exploration has kept so far; 0 where nothing can be read yet. `patience_ms`: for whoever
/// writes.
int points_kept(const std::string& folder, int patience_ms = 0) {
    sqlite3* handle = nullptr;
    int count = 0;
    if (sqlite3_open_v2((folder + "/exploration.sqlite").c_str(), &handle, SQLITE_OPEN_READWRITE, nullptr) ==
        SQLITE_OK) {
        sqlite3_busy_timeout(handle, patience_ms);
        sqlite3_exec(
            handle, "SELECT COUNT(*) FROM points",
            [](void* to, int, char** values, char**) {
                *static_cast<int*>(to) = std::atoi(values[0]);
                return 0;
            },
            &count, nullptr);
    }
    sqlite3_close(handle);
    return count;
}

/// Runs a command until its exploration has kept `points`, then kills it without a warning. False when it had
/// ended before.
bool killed_at(const std::string& command, const std::string& folder, int points) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::execl("/bin/sh", "sh", "-c", ("exec " + command + " >/dev/null 2>&1").c_str(), nullptr);
        ::_exit(127);
    }
    int status = 0;
    while (points_kept(folder) < points) {
        if (::waitpid(child, &status, WNOHANG) == child) return false;
        ::usleep(2000);
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, &status, 0);
    return WIFSIGNALED(status);
}

void expect(const Output& output, int code, const std::string& part) {
    INFO(output.text);
    CHECK(output.code == code);
    CHECK(output.text.find(part) != std::string::npos);
}

}  // namespace

TEST_CASE("a grid on TPUs: a front, exports, resumption, any number of workers") {
    const Folder folder;
    expect(shell(tpu(kGrid + "-j 1 --out " + folder.path("one"))), 0, "front:");
    expect(shell(tpu(kGrid + "-j 4 --out " + folder.path("four"))), 0, "9 designs evaluated");
    const std::string json = bytes_of(folder.path("one") + "/exploration.json");
    CHECK(json == bytes_of(folder.path("four") + "/exploration.json"));
    CHECK(bytes_of(folder.path("one") + "/statistics.csv") ==
          bytes_of(folder.path("four") + "/statistics.csv"));
    const auto parsed = nlohmann::json::parse(json);
    CHECK(parsed["points"].size() == 9);
    CHECK(parsed["points"][1]["settings"] ==
          nlohmann::json({"matrix.per_core=1", "hbm.stacks=2", "hbm.bandwidth=600 GB/s"}));
    // More of both takes area.
    CHECK(parsed["points"][8]["derived"]["area.total"] > parsed["points"][1]["derived"]["area.total"]);
    expect(shell(kHeddle + " explore show " + folder.path("one")), 0, "matrix.per_core");
    expect(shell(kHeddle + " explore export " + folder.path("one") + " --format csv"), 0,
           "id,fidelity,status,front,matrix.per_core,hbm.stacks");
    expect(shell(tpu(kGrid + "--out " + folder.path("one"))), 2, "--resume");
    expect(shell(tpu(kGrid + "--resume --out " + folder.path("one"))), 0, "front:");
    CHECK(json == bytes_of(folder.path("one") + "/exploration.json"));
    expect(shell(tpu("--vary clock=1GHz,2GHz --resume --out " + folder.path("one"))), 2, "there and");
}

TEST_CASE("a step is evaluated on a GPU, with energy and cost") {
    const Folder folder;
    expect(
        shell(
            kHeddle +
            " explore mlp@2 --hardware h100-sxm --batch 16 --option widths=32,32,10 --vary 'hbm.stacks=4,5' "
            "--minimise time,energy,cost --maximise memory-headroom --json --out " +
            folder.path("gpu")),
        0, "\"energy\"");
    const auto json = nlohmann::json::parse(bytes_of(folder.path("gpu") + "/exploration.json"));
    const auto& statistics = json["points"][0]["workloads"][0]["statistics"];
    // Twice the step, 12.29 $ an hour.
    CHECK(json["points"][0]["objectives"]["time"].get<double>() ==
          Approx(2 * statistics["step_time_us"].get<double>()));
    CHECK(json["points"][0]["objectives"]["cost"].get<double>() ==
          Approx(2 * statistics["step_time_us"].get<double>() * 1e-6 / 3600 * 12.29));
    CHECK(statistics["energy_j"] > 0);
}

TEST_CASE("plans for many devices: the quickest that fit, with the price of a training") {
    const Folder folder;
    const std::string model = "gpt2-small --cluster dgx-h100 --nodes 1,2 --tokens 1e9 --json ";
    const Output found = shell(kHeddle + " explore " + model + "--parallelism --batch 64 --top 1000");
    expect(found, 0, "training_usd");
    const auto plans = nlohmann::json::parse(found.text);
    REQUIRE(plans.size() > 10);
    double before = 0, most = 0, least = 1e99;
    for (const auto& plan : plans) {
        CHECK(plan["step_s"].get<double>() >= before);
        before = plan["step_s"];
        most = std::max(most, plan["memory_bytes"].get<double>());
        least = std::min(least, plan["memory_bytes"].get<double>());
        CHECK(most < 80 * 1.074e9);
        // 64 sequences of the model's 1,024 tokens a step; 12.29 $ an hour for a device.
        const double steps = 1e9 / (64 * 1024);
        CHECK(plan["training_usd"].get<double>() ==
              Approx(steps * plan["step_s"].get<double>() / 3600 * 12.29 * plan["devices"].get<double>()));
    }
    // The other name of the same search.
    CHECK(shell(kHeddle + " parallelism " + model + "--batch 64 --top 1000").text == found.text);
    // Less memory leaves plans out, and only those that need more.
    const double limit = (most + least) / 2;
    const Output limited =
        shell(kHeddle + " explore " + model + "--parallelism --batch 64 --top 1000 --memory-limit " +
              std::to_string(static_cast<std::uint64_t>(limit)) + "B");
    expect(limited, 0, "plan");
    const auto smaller = nlohmann::json::parse(limited.text);
    for (const auto& plan : smaller) CHECK(plan["memory_bytes"] <= limit);
    for (const auto& plan : plans)
        if (plan["memory_bytes"] <= limit)
            CHECK(std::find(smaller.begin(), smaller.end(), plan) != smaller.end());
    // The cheapest training is not the quickest: two nodes do not halve the time.
    const Output cheap =
        shell(kHeddle + " explore " + model + "--parallelism --batch 64 --minimise cost --top 1");
    const auto cheapest = nlohmann::json::parse(cheap.text);
    for (const auto& plan : plans) CHECK(plan["training_usd"] >= cheapest[0]["training_usd"]);
    expect(shell("COLUMNS=72 " + kHeddle + " explore gpt2-small --cluster dgx-h100 --parallelism --batch 64"),
           0, "USD/step");
    const std::string plain = kHeddle + " explore gpt2-small --parallelism --batch 64 ";
    expect(shell(plain), 2, "no cluster is named");
    expect(shell(plain + "--cluster dgx-h100 --vary clock=1GHz,2GHz"), 2, "for one device");
    expect(shell("COLUMNS=200 " + plain + "--cluster dgx-h100 --memory-limit 1MiB"), 2,
           "memory than a device has");
    expect(shell(kHeddle + " explore gpt2-small --cluster dgx-h100 --vary clock=1GHz,2GHz"), 2,
           "--parallelism");
}

TEST_CASE("an exploration's table fits the width that it is given") {
    const Folder folder;
    expect(shell("COLUMNS=50 " + tpu(kGrid + "--out " + folder.path("narrow"))), 0, "matrix.per_core");
    const Output narrow = shell("COLUMNS=50 " + kHeddle + " explore show " + folder.path("narrow"));
    std::istringstream lines(narrow.text);
    std::size_t table = 0;
    for (std::string line; std::getline(lines, line);) {
        INFO(line);
        if (line.rfind("base", 0) == 0 || line.find("[mm2]") != std::string::npos || table > 0)
            CHECK(line.size() <= 50);
        table += line.find("matrix.per_core") != std::string::npos ? 1 : 0;
    }
    CHECK(table == 1);
}

TEST_CASE("what workloads need is bought: bandwidth for a stream, tensor cores for a product") {
    const Folder folder;
    for (const bool stream : {true, false}) {
        const std::string out = folder.path(stream ? "stream" : "product");
        expect(
            shell(kHeddle + " explore " HEDDLE_SOURCE_DIR "/examples/explore/" +
                  (stream ? "stream" : "product") +
                  ".json --hardware h100-sxm --graph --set power.governor=false --set host.graph_launch=0us "
                  "--vary hbm.stacks=2,4 --link 'hbm.bandwidth = hbm.stacks * 670 GB/s' "
                  "--vary tensor.macs_per_cycle.f16=512,2048 --minimise time,area --json --out " +
                  out),
            0, "front");
        const auto json = nlohmann::json::parse(bytes_of(out + "/exploration.json"));
        double with[2][2] = {};  // by stacks, by tensor cores
        for (const auto& point : json["points"]) {
            if (point["id"] == 0) continue;
            const bool many_stacks = point["parameters"]["hbm.stacks"] == "4",
                       many_macs = point["parameters"]["tensor.macs_per_cycle.f16"] == "2048";
            with[many_stacks][many_macs] = point["objectives"]["time"];
            // Every design of the front has the fewest of what does not help.
            if (stream && point["front"] == true) CHECK_FALSE(many_macs);
        }
        const double by_bandwidth = with[0][0] / with[1][0], by_macs = with[0][0] / with[0][1];
        CAPTURE(stream, by_bandwidth, by_macs);
        if (stream) {
            CHECK(by_bandwidth > 1.7);  // twice as much of it
            CHECK(by_macs == Approx(1).margin(0.01));
        } else {
            CHECK(by_macs > 2);  // four times as many
            CHECK(by_bandwidth == Approx(1).margin(0.05));
        }
    }
}

TEST_CASE("mistakes are one line each, before anything runs") {
    const Folder folder;
    const std::string out = " --out " + folder.path("none");
    const auto expect_error = [&](const std::string& more, const std::string& part) {
        const Output output = shell(more + out);
        expect(output, 2, part);
        CHECK(std::count(output.text.begin(), output.text.end(), '\n') == 1);
    };
    expect_error(tpu("--vary matrix.per_cor=1..4"), "did you mean `matrix.per_core`");
    expect_error(tpu("--vary matrix.per_core=4..1"), "empty range");
    expect_error(tpu(kGrid + "--constraint 'area.total <= 1 mm2'"), "none of the 8 designs can be built");
    expect_error(tpu(kGrid + "--constraint 'hbm.stacks > 3' --constraint 'hbm.stacks < 3'"),
                 "none of the 8 designs");
    expect_error(tpu(kGrid + "--minimise speed"), "no objective `speed`");
    expect_error(tpu(kGrid + "--minimise energy"), "known of GPUs only");
    expect_error(tpu(kGrid + "--minimise training-cost"), "--training-steps");
    expect_error(tpu(""), "nothing is varied");
    expect_error(kHeddle + " explore --hardware tpu-v4 --vary matrix.per_core=1..4", "no workload is named");
    expect_error(kHeddle + " explore mlp --vary matrix.per_core=1..4", "--hardware");
    expect_error(kHeddle + " explore mlq --hardware tpu-v4 --vary matrix.per_core=1..4", "mlq");
    expect_error(kHeddle + " explore mlp@0 --hardware tpu-v4 --vary matrix.per_core=1..4", "no weight");
    CHECK(!fs::exists(folder.path("none")));
    expect(shell(kHeddle + " explore show " + folder.path("none")), 2, "no such exploration");
    expect(shell(tpu(kGrid + "--out /proc/none")), 2, "cannot make the folder");
}

TEST_CASE("a full disk is one clear error, and the run goes on when there is room") {
    const Folder folder;
    const std::string disk = folder.path("disk"),
                      mount = "mkdir -p " + disk + " && mount -t tmpfs -o size=160k tmpfs " + disk;
    if (shell("unshare -m sh -c '" + mount + "'").code != 0) {
        WARN("skipped: no mounts of one's own here");
        return;
    }
    const std::string many =
        "--vary matrix.per_core=1..8 --vary 'clock=800MHz..1400MHz:100' --out " + disk + "/run";
    // Grown afterwards, the disk holds the rest: the result is that of an undisturbed run.
    const std::string script = folder.path("full.sh");
    std::ofstream(script) << "set -e\n"
                          << mount << "\n"
                          << "code=0; " << tpu(many) << " || code=$?; echo first $code\n"
                          << "mount -o remount,size=50m " << disk << "\n"
                          << tpu(many) << " --resume >/dev/null; echo second $?\n"
                          << "cp " << disk << "/run/exploration.json " << folder.path("full.json") << "\n";
    const Output output = shell("unshare -m bash " + script);
    expect(output, 0, "disk is full");
    expect(output, 0, "first 2");
    expect(output, 0, "second 0");
    expect(shell(tpu("--vary matrix.per_core=1..8 --vary 'clock=800MHz..1400MHz:100' --out " +
                     folder.path("room"))),
           0, "front");
    CHECK(bytes_of(folder.path("full.json")) == bytes_of(folder.path("room") + "/exploration.json"));
}

TEST_CASE("several ranks explore as one process does") {
    const Folder folder;
    // Open MPI leaves memory in modules that it has unloaded, which LeakSanitizer cannot be told to overlook.
    const std::string mpirun = HEDDLE_MPIRUN;
    const Output alone = shell(tpu(kGrid + "-j 2 --out " + folder.path("alone")));
    expect(alone, 0, "front:");
    const std::string start =
        mpirun + " --allow-run-as-root --oversubscribe --bind-to none -x ASAN_OPTIONS=detect_leaks=0 -n ";
    if (mpirun.find("mpirun") == std::string::npos || shell(start + "2 true").code != 0) {
        WARN("skipped: no mpirun that works here");
        return;
    }
    const Output ranks = shell(start + "3 " + tpu(kGrid + "--out " + folder.path("ranks")));
    if (ranks.text.find("built without MPI") != std::string::npos) {
        WARN("skipped: built without MPI");
        return;
    }
    expect(ranks, 0, "front:");
    CHECK(bytes_of(folder.path("alone") + "/exploration.json") ==
          bytes_of(folder.path("ranks") + "/exploration.json"));
    // Only rank 0 speaks.
    CHECK(ranks.text.find("front:") == ranks.text.rfind("front:"));
    const Output wrong = shell(start + "3 " + tpu(kGrid + "--out " + folder.path("ranks")));
    CHECK(wrong.code == 2);
    CHECK(wrong.text.find("--resume") != std::string::npos);
}

TEST_CASE(
    "killed at random moments three times and resumed, with any workers, an exploration ends as it would "
    "have") {
    const Folder folder;
    const std::string many = "--vary matrix.per_core=1..8 --vary 'clock=800MHz..1400MHz:50' ";
    expect(shell(tpu(many + "-j 2 --out " + folder.path("whole"))), 0, "105 designs evaluated");
    const std::string mpirun = HEDDLE_MPIRUN;
    const std::string ranks =
        mpirun + " --allow-run-as-root --oversubscribe --bind-to none -x ASAN_OPTIONS=detect_leaks=0 -n 3 ";
    std::vector<std::pair<std::string, std::string>> ways{{"", "-j 1 "}, {"", "-j 4 "}};
    if (mpirun.find("mpirun") != std::string::npos && shell(ranks + "true").code == 0 &&
        shell(ranks + tpu(kGrid + "--out " + folder.path("try"))).code == 0)
        ways.emplace_back(ranks, "-j 1 ");
    std::mt19937 random(7);
    for (std::size_t way = 0; way < ways.size(); ++way) {
        const std::string out = folder.path("killed-" + std::to_string(way));
        int kills = 0, kept = 0;
        for (int attempt = 0; attempt < 3; ++attempt) {
            kept += 1 + static_cast<int>(random() % 16);
            kills += killed_at(ways[way].first + tpu(many + ways[way].second +
                                                     (attempt == 0 ? "" : "--resume ") + "--out " + out),
                               out, kept)
                         ? 1
                         : 0;
            const int left = points_kept(out, 5000);
            CHECK(left >= kept);  // what was there stays there, also what is shown now
            expect(shell(kHeddle + " explore show " + out), 0, "designs evaluated");
            kept = left;
        }
        CHECK(kills == 3);
        CHECK(kept < 105);
        expect(shell(tpu(many + "-j 2 --resume --out " + out)), 0, "105 designs evaluated");
        for (const char* file : {"/exploration.json", "/statistics.csv", "/points.csv"})
            CHECK(bytes_of(out + file) == bytes_of(folder.path("whole") + file));
    }
}

TEST_CASE(
    "designs of a GPU share kernels: killed three times and resumed, with any workers, they end alike") {
    const Folder folder;
    // Each way with a cache of its own, which its runs and workers share.
    const auto gpu = [&](const std::string& cache, const std::string& more) {
        return "env HEDDLE_CACHE=" + folder.path("cache-" + cache) + " " + kHeddle +
               " explore mlp --hardware h100-sxm --batch 64 --option widths=64,256,10 --fidelity sampled "
               "--vary sm.count=100,116 --vary l2.size=25MiB,50MiB --vary hbm.stacks=4,5 "
               "--link 'hbm.bandwidth = hbm.stacks * 670 GB/s' " +
               more + "--out " + folder.path(cache);
    };
    expect(shell(gpu("whole", "-j 1 ")), 0, "9 designs evaluated");
    expect(shell(gpu("four", "-j 4 ")), 0, "9 designs evaluated");
    int kills = 0;
    for (const int points : {1, 3, 6})
        kills +=
            killed_at(gpu("killed", points == 1 ? "-j 4 " : "-j 4 --resume "), folder.path("killed"), points)
                ? 1
                : 0;
    CHECK(kills == 3);
    expect(shell(gpu("killed", "-j 4 --resume ")), 0, "9 designs evaluated");
    for (const char* way : {"four", "killed"})
        for (const char* file : {"/exploration.json", "/statistics.csv", "/points.csv"})
            CHECK(bytes_of(folder.path(way) + file) == bytes_of(folder.path("whole") + file));
    // Nobody's claim is left but of those that were killed, and each result was stored once.
    std::size_t results_of_one = 0, results_of_four = 0;
    for (const auto& entry : fs::directory_iterator(folder.path("cache-whole")))
        results_of_one += entry.path().extension() == ".json" ? 1 : 0;
    for (const auto& entry : fs::directory_iterator(folder.path("cache-four"))) {
        results_of_four += entry.path().extension() == ".json" ? 1 : 0;
        CHECK(entry.path().extension() == ".json");
    }
    CHECK(results_of_four == results_of_one);
}

TEST_CASE("ranks on two machines with addresses of their own explore as one process does") {
    const Folder folder;
    const std::string script = HEDDLE_SOURCE_DIR "/tests/sim/explore/ranks_in_namespaces.sh 4 ";
    const Output ranks = shell(script + tpu(kGrid + "--out " + folder.path("ranks")));
    if (ranks.code == 77 || ranks.text.find("built without MPI") != std::string::npos) {
        WARN("skipped: no network namespaces, or no MPI, here");
        return;
    }
    expect(ranks, 0, "front:");
    expect(shell(tpu(kGrid + "--out " + folder.path("alone"))), 0, "front:");
    CHECK(bytes_of(folder.path("alone") + "/exploration.json") ==
          bytes_of(folder.path("ranks") + "/exploration.json"));
}

TEST_CASE("a rank that is lost ends the run, which another one finishes") {
    const Folder folder;
    const std::string mpirun = HEDDLE_MPIRUN;
    const std::string start =
        mpirun + " --allow-run-as-root --oversubscribe --bind-to none -x ASAN_OPTIONS=detect_leaks=0 -n 3 ";
    if (mpirun.find("mpirun") == std::string::npos || shell(start + "true").code != 0) {
        WARN("skipped: no mpirun that works here");
        return;
    }
    const std::string many = "--vary matrix.per_core=1..8 --vary 'clock=800MHz..1400MHz:100' ";
    const std::string script = folder.path("lost.sh"), database = folder.path("lost") + "/exploration.sqlite";
    // A rank is killed when some points are there.
    std::ofstream(script) << start << tpu(many + "--out " + folder.path("lost")) << " >/dev/null 2>&1 &\n"
                          << "run=$!\n"
                          << "for i in $(seq 600); do [ \"$(stat -c %s " << database
                          << " 2>/dev/null || echo 0)\" -gt 120000 ] && break; sleep 0.05; done\n"
                          << "kill -9 $(pgrep -P $run | tail -1)\n"
                          << "wait $run; echo ended with $?\n";
    const Output lost = shell("bash " + script);
    INFO(lost.text);
    CHECK(lost.text.find("ended with") != std::string::npos);
    if (lost.text.find("ended with 0") != std::string::npos) WARN("the run had ended before a rank was lost");
    expect(shell(tpu(many + "--resume --out " + folder.path("lost"))), 0, "57 designs evaluated");
    expect(shell(tpu(many + "--out " + folder.path("alone"))), 0, "front:");
    CHECK(bytes_of(folder.path("alone") + "/exploration.json") ==
          bytes_of(folder.path("lost") + "/exploration.json"));
}
