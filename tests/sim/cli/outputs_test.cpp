// What commands write: never over a file of the user's, and into whatever it is that an option names.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "support/command.h"

using heddle::tests::Folder;
using heddle::tests::Outcome;
using heddle::tests::run_heddle;
using heddle::tests::text_of;
using Json = nlohmann::json;
namespace fs = std::filesystem;

namespace {

const std::string kStep = HEDDLE_SOURCE_DIR "/examples/two-layers.json";
const std::string kSimulate = "simulate " + kStep + " --hardware tpu-v5e";
const std::string kExplore =
    "explore " + kStep + " --hardware tpu-v4 --vary 'matrix.per_core=1..2:*2' --jobs 1";
const std::string kLearn = "learn mlp --widths 2,16,2 --batch 16 --data spirals --workers 2 --rounds 2 --way all-reduce";
const std::string kKernel =
    "kernel " HEDDLE_SOURCE_DIR "/examples/kernels/saxpy/launch.yaml --hardware h100-sxm";

std::map<std::string, std::string> files_of(const fs::path& folder) {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file())
            files[fs::relative(entry.path(), folder).string()] = text_of(entry.path());
    return files;
}

}  // namespace

TEST_CASE("no --out takes anything from a folder of the user's") {
    const Folder folder;
    for (const char* place : {"work", "work/inner", "home"}) {
        const std::string base = std::string(place) + "/";
        folder.write(base + "summary.json", "{}");
        folder.write(base + "report.html", "a report of mine");
        folder.write(base + "learning.csv", "mine");
        folder.write(base + "exploration.sqlite", "mine");
        folder.write(base + ".git/HEAD", "ref: refs/heads/main");
        folder.write(base + "source.cpp", "int main() {}");
    }
    const auto before = files_of(folder.path());
    const std::string inner = "HOME='" + (folder / "home").string() + "'";
    for (const std::string& command : {kSimulate, kExplore, kLearn}) {
        for (const std::string& out : {std::string("."), std::string("work"), std::string("work/inner/.."),
                                       (folder / "home").string(), std::string("/"), std::string("..")}) {
            const Outcome outcome = run_heddle(folder, command + " --out '" + out + "'", inner);
            CAPTURE(command, out, outcome.err);
            CHECK(outcome.code == 2);
            CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
            CHECK(files_of(folder.path()) == before);
        }
    }
}

TEST_CASE("a run, an exploration and a training are replaced by their like, beside files of the user's") {
    const Folder folder;
    for (const auto& [name, command] : std::map<std::string, std::string>{
             {"run", kSimulate}, {"designs", kExplore}, {"learning", kLearn}}) {
        const std::string whole = command + " --out " + name;
        const Outcome first = run_heddle(folder, whole);
        CAPTURE(command, first.err);
        REQUIRE(first.code == 0);
        const auto files = files_of(folder / name);
        folder.write(name + "/notes.txt", "mine");
        CHECK(run_heddle(folder, whole + (name == "designs" ? " --resume" : "")).code == 0);
        CHECK(text_of(folder / name / "notes.txt") == "mine");
        CHECK(files_of(folder / name).size() == files.size() + 1);
        for (const std::string& other : {kSimulate, kExplore, kLearn}) {
            if (other == command) continue;
            const Outcome refused = run_heddle(folder, other + " --out " + name);
            CHECK(refused.code == 2);
            CHECK_THAT(refused.err, Catch::Contains("results of another kind"));
        }
    }
}

TEST_CASE("files that options name are written through links, FIFOs and descriptors") {
    const Folder folder;
    folder.write("disk/old.json", "old");
    fs::create_symlink("disk/old.json", folder / "link.json");
    const Outcome linked = run_heddle(folder, kKernel + " --timeline link.json");
    CAPTURE(linked.err);
    REQUIRE(linked.code == 0);
    CHECK(fs::is_symlink(folder / "link.json"));
    CHECK(Json::accept(text_of(folder / "disk/old.json")));
    const std::string timeline = text_of(folder / "disk/old.json");

    CHECK(run_heddle(folder, kKernel + " --timeline /dev/null").code == 0);
    CHECK(fs::is_character_file("/dev/null"));

    const std::string fifo = (folder / "fifo").string();
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    REQUIRE(std::system(("cat '" + fifo + "' > '" + (folder / "read").string() + "' &").c_str()) == 0);
    CHECK(run_heddle(folder, kKernel + " --timeline fifo").code == 0);
    CHECK(fs::is_fifo(fifo));
    for (int i = 0; i < 100 && text_of(folder / "read") != timeline; ++i) ::usleep(20'000);
    CHECK(text_of(folder / "read") == timeline);

    // Standard output is a file here, and goes on where it stands.
    const Outcome printed = run_heddle(folder, kKernel + " --timeline /dev/stdout");
    CHECK(printed.code == 0);
    CHECK(printed.out.substr(0, timeline.size()) == timeline);
    CHECK_THAT(printed.out, Catch::Contains("written: /dev/stdout"));

    const Outcome full = run_heddle(folder, "trace export mlp /dev/full");
    CHECK(full.code == 2);
    CHECK_THAT(full.err, Catch::Contains("No space left on device"));
    CHECK(fs::is_character_file("/dev/full"));
    const Outcome exported = run_heddle(folder, "trace export mlp /dev/stdout");
    CAPTURE(exported.err, exported.out.substr(0, 200));
    CHECK(exported.code == 0);
    CHECK(Json::parse(exported.out)["heddle_trace"] == 1);
    CHECK_THAT(exported.err, Catch::Contains("wrote"));
}

TEST_CASE("a terminal is given no control characters of a file's names") {
    const Folder folder;
    std::string step = text_of(kStep);
    const std::size_t at = step.find("\"name\": \"") + 9;
    REQUIRE(at != std::string::npos + 9);
    step.insert(at, "\\u001b]0;owned\\u0007");
    folder.write("step.json", step);
    const std::string base = folder.path().string();
    const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
    REQUIRE(terminal >= 0);
    REQUIRE((::grantpt(terminal) == 0 && ::unlockpt(terminal) == 0));
    const std::string name = ::ptsname(terminal);
    const std::string command =
        "cd '" + base + "' && TERM=xterm '" HEDDLE_COMMAND "' trace inspect step.json >" + name +
        " 2>&1 </dev/null; '" HEDDLE_COMMAND "' simulate step.json --hardware tpu-v5e --no-out >" + name +
        " 2>&1 </dev/null";
    // Held open, so that what was written can be read when its writer has ended.
    const int kept = ::open(name.c_str(), O_RDWR | O_NOCTTY);
    ::fcntl(terminal, F_SETFL, O_NONBLOCK);
    std::FILE* const process = ::popen((command + "; echo done").c_str(), "r");
    std::string shown;
    char buffer[4096];
    const auto take = [&] {
        for (ssize_t count; (count = ::read(terminal, buffer, sizeof buffer)) > 0;)
            shown.append(buffer, static_cast<std::size_t>(count));
    };
    ::fcntl(::fileno(process), F_SETFL, O_NONBLOCK);
    for (int i = 0; i < 3000; ++i) {
        take();
        if (::read(::fileno(process), buffer, sizeof buffer) > 0) break;
        ::usleep(20'000);
    }
    take();
    ::pclose(process);
    ::close(kept);
    ::close(terminal);
    CAPTURE(shown);
    CHECK(shown.find("\x1b]0;") == std::string::npos);
    CHECK(shown.find('\x07') == std::string::npos);
    CHECK_THAT(shown, Catch::Contains("owned"));
}
