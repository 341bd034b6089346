// `heddle explore` as a user runs it: real simulations, real errors, several ranks.
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
    const std::string mpirun = HEDDLE_MPIRUN;
    const Output alone = shell(tpu(kGrid + "-j 2 --out " + folder.path("alone")));
    expect(alone, 0, "front:");
    const std::string start = mpirun + " --allow-run-as-root --oversubscribe --bind-to none -n ";
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
    const std::string start = mpirun + " --allow-run-as-root --oversubscribe --bind-to none -n 3 ";
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
