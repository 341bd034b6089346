// Damaged hardware files, launch files and traces: each is refused with one line and exit code 2, or runs to
// its end. HEDDLE_ROBUSTNESS_CASES=2000 tries many (a quarter of an hour of one core); the usual few keep the
// tests short.
#include <lzma.h>
#include <zlib.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <iomanip>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "command.h"
#include "support/text_mutation.h"

namespace fs = std::filesystem;
using namespace heddle::robustness;

namespace {

const fs::path kSource = HEDDLE_SOURCE_DIR;
constexpr unsigned kUsualCases = 24;

std::string unpacked_xz(const std::string& packed) {
    std::string text(std::size_t{1} << 24, '\0');
    std::uint64_t memory = UINT64_MAX;
    std::size_t from = 0, to = 0;
    const lzma_ret code = ::lzma_stream_buffer_decode(
        &memory, 0, nullptr, reinterpret_cast<const std::uint8_t*>(packed.data()), &from, packed.size(),
        reinterpret_cast<std::uint8_t*>(text.data()), &to, text.size());
    if (code != LZMA_OK) throw std::runtime_error("not an xz file of at most 16 MiB");
    text.resize(to);
    return text;
}

/// A file of the source tree; what gzip or xz packed is unpacked.
std::string sample(const std::string& name) {
    if (fs::path(name).extension() == ".xz") return unpacked_xz(text_of(kSource / name));
    const gzFile file = ::gzopen((kSource / name).c_str(), "rb");
    std::string text;
    char buffer[65536];
    for (int count; file != nullptr && (count = ::gzread(file, buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(count));
    if (file != nullptr) ::gzclose(file);
    if (text.empty()) throw std::runtime_error("cannot read " + name);
    return text;
}

/// A file to damage, and the command that reads it under the name `file`.
struct Subject {
    std::string original;  ///< in the source tree
    std::string file;
    std::vector<std::string> command;
};

struct Count {
    unsigned ran = 0, refused = 0;
};

/// Damages the subjects one after the other and runs each. What is neither an error of one line nor a run
/// that ended by itself is a failure, told with the text that caused it. Exit code 1: values compared differ;
/// 4: the step does not fit the device. Both are results.
Count run_damaged(const Folder& folder, const std::vector<Subject>& subjects, unsigned seed, unsigned count) {
    std::mt19937 random(seed);
    std::vector<std::string> texts;
    for (const Subject& subject : subjects) texts.push_back(sample(subject.original));
    Count result;
    Conditions conditions;
    conditions.cache = (folder.path() / "cache").string();  // most damage leaves most kernels as they were
    for (unsigned i = 0; i < count; ++i) {
        const std::size_t which = i % subjects.size();
        const Subject& subject = subjects[which];
        const std::string mutant =
            heddle::test::damaged(texts[which], texts[random() % texts.size()], random);
        folder.write(subject.file, mutant);
        const Outcome outcome = run(folder, subject.command, conditions);
        const bool ran = outcome.code == 0 || outcome.code == 1 || outcome.code == 4;
        std::string fault = ran ? "" : fault_of_refusal(outcome);
        if (outcome.late) fault = "it did not end";
        if (ran && outcome.out.empty() && outcome.code == 0) fault = "it printed nothing";
        if (!fault.empty()) {
            // Kept, so that it can be looked at.
            const fs::path kept = fs::temp_directory_path() /
                                  ("heddle-damaged-" + std::to_string(seed) + "-" + std::to_string(i) + "-" +
                                   fs::path(subject.file).filename().string());
            fs::copy_file(folder.path() / subject.file, kept, fs::copy_options::overwrite_existing);
            FAIL_CHECK(subject.original << ", case " << i << ": " << fault << "\n"
                                        << outcome.err.substr(0, 1000) << "\nthe file: " << kept.string());
        }
        ++(ran ? result.ran : result.refused);
    }
    return result;
}

}  // namespace

TEST_CASE("Damaged hardware files are refused with one line, or describe a device that runs") {
    const Folder folder;
    const std::string kernel = (kSource / "examples/kernels/saxpy/launch.yaml").string();
    const std::string program = (kSource / "examples/tpu/two-tiles.tpu").string();
    const std::vector<std::string> on_gpu{"kernel", kernel, "--hardware", "device.yaml", "--jobs", "1"};
    const std::vector<std::string> on_tpu{"simulate", program, "--hardware", "device.yaml"};
    std::vector<Subject> subjects;
    for (const char* name : {"h100-sxm", "a100-sxm", "v100-sxm"})
        subjects.push_back({std::string("sim/hardware/") + name + ".yaml", "device.yaml", on_gpu});
    for (const char* name : {"tpu-v1", "tpu-v5e", "tpu-v4"})
        subjects.push_back({std::string("sim/hardware/") + name + ".yaml", "device.yaml", on_tpu});
    subjects.push_back({"examples/my-accelerator.yaml", "device.yaml", on_gpu});
    subjects.push_back({"sim/clusters/dgx-h100.yaml",
                        "cluster.yaml",
                        {"collective", "all-reduce", "1MiB", "--cluster", "cluster.yaml"}});
    const Count count = run_damaged(folder, subjects, 20261122, cases(kUsualCases));
    CHECK(count.refused > 0);
    CHECK(count.ran > 0);
}

TEST_CASE("Two hundred cluster files with one wrong value each are refused with one line, or run") {
    const Folder folder;
    std::mt19937 random(20261125);
    const char* const presets[] = {"dgx-a100", "dgx-h100", "dgx-b200", "gb200-nvl72", "ideal", "tpu-v4-slice", "parameter-server-rack"};
    const char* const words[] = {"-5 GB/s",     "0 GB/s", "-1",     "nan",  "inf",      "1e400",
                                 "99999999999", "5 ms",   "[1, 2]", "none", "torus",    "dragonfly",
                                 "0 %",         "250 %",  "3.5",    "~",    "h100-smx", "{a: b}"};
    const double factors[] = {0, -1, 1e-6, 1e6, 2, 3, 0.5, 1e-12, 1e12};
    const std::regex quantity(R"(^(\s*[\w.]+:\s*)([\d.]+)( .*|$))"), value(R"(^(\s*[\w.]+: )\S.*$)");
    unsigned ran = 0, refused = 0;
    for (unsigned i = 0; i < cases(200); ++i) {
        std::vector<std::string> lines;
        std::stringstream text(sample(std::string("sim/clusters/") + presets[i % 5] + ".yaml"));
        for (std::string line; std::getline(text, line);) lines.push_back(line);
        std::smatch match;
        std::string* line = nullptr;
        do line = &lines[random() % lines.size()];
        while (!std::regex_match(*line, match, value));
        const std::string before = *line;
        if (i % 3 != 0 && std::regex_match(before, match, quantity)) {
            const double number = std::stod(match[2]) * factors[random() % std::size(factors)];
            std::ostringstream said;
            said << match[1] << std::setprecision(17) << number << match[3];
            *line = said.str();
        } else {
            std::regex_match(before, match, value);
            *line = match[1].str() + words[random() % std::size(words)];
        }
        const std::string after = *line;
        std::string file;
        for (const std::string& each : lines)
            file += (each == "extends: ideal.yaml" ? std::string("extends: ideal") : each) + "\n";
        folder.write("cluster.yaml", file);
        const Outcome outcome = run(folder, {"collective", i % 2 == 0 ? "all-reduce" : "all-to-all", "256KiB",
                                             "--cluster", "cluster.yaml"});
        INFO(presets[i % 5] << ": " << before << "\nbecame " << after << "\n" << outcome.err << outcome.out);
        if (outcome.code == 0) {
            ++ran;
            CHECK_THAT(outcome.out,
                       Catch::Contains("GB/s") && !Catch::Contains("nan") && !Catch::Contains("inf "));
        } else {
            ++refused;
            CHECK(fault_of_refusal(outcome).empty());
        }
        CHECK_FALSE(outcome.late);
    }
    CHECK(ran >= 20);
    CHECK(refused >= 60);
}

TEST_CASE("Damaged launch files are refused with one line, or run") {
    const Folder folder;
    std::vector<Subject> subjects;
    for (const char* name : {"saxpy", "reduction", "dependent_launch"}) {
        const std::string from = std::string("examples/kernels/") + name + "/";
        folder.write(std::string(name) + ".ptx", sample(from + name + ".ptx"));
        const std::vector<std::string> tail{"--hardware", "h100-sxm", "--jobs", "1", "--numerics"};
        std::vector<std::string> launch{"kernel", "launch.yaml"}, text{"kernel", std::string(name) + ".yaml"};
        launch.insert(launch.end(), tail.begin(), tail.end());
        text.insert(text.end(), tail.begin(), tail.end());
        subjects.push_back({from + "launch.yaml", "launch.yaml", launch});
    }
    const Count count = run_damaged(folder, subjects, 20261123, cases(kUsualCases));
    CHECK(count.refused > 0);
    CHECK(count.ran > 0);
}

TEST_CASE("Damaged traces of every kind are refused with one line, or run") {
    const Folder folder;
    folder.write("kernelslist.g", sample("examples/traces/saxpy/kernelslist.g"));
    const auto on_tpu = [](const std::string& file) {
        return std::vector<std::string>{"simulate", file,  "--hardware", "tpu-v5e",
                                        "--out",    "run", "--jobs",     "1"};
    };
    const std::vector<Subject> subjects{
        {"examples/two-layers.json", "step.json", on_tpu("step.json")},
        {"examples/recorded/mlp.et.gz", "step.et", on_tpu("step.et")},
        {"examples/recorded/cnn.et.gz", "step.et", {"trace", "inspect", "step.et"}},
        {"examples/xla/mlp.hlo", "step.hlo", on_tpu("step.hlo")},
        {"examples/xla/mlp.mlir", "step.mlir", on_tpu("step.mlir")},
        {"examples/xla/lstm.optimized.hlo", "step.hlo", {"trace", "inspect", "step.hlo"}},
        {"examples/models/small-decoder.yaml", "model.yaml", on_tpu("model.yaml")},
        {"examples/tpu/two-tiles.tpu", "step.tpu", {"simulate", "step.tpu", "--hardware", "tpu-v5e"}},
        {"examples/traces/saxpy/kernel-1.traceg.xz",
         "kernel-1.traceg",
         {"simulate", "kernelslist.g", "--hardware", "a100-sxm", "--out", "run", "--jobs", "1"}},
    };
    const Count count = run_damaged(folder, subjects, 20261124, cases(kUsualCases));
    CHECK(count.refused > 0);
    CHECK(count.ran > 0);
}
