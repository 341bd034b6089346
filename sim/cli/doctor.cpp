#include "sim/cli/doctor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "isa/common/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/cli/paragraph.h"
#include "sim/cli/terminal.h"
#include "sim/cli/programs.h"
#include "sim/hardware/load_hardware.h"
#include "sim/report/chart_library.h"
#include "sim/report/numbers.h"
#include "sim/run/time/kernel_cache.h"
#include "validation/run/capture_now.h"
#include "validation/run/validation.h"

namespace heddle::cli {
namespace {

namespace fs = std::filesystem;
using State = Check::State;

constexpr double kGibibyte = 1024.0 * 1024 * 1024;
constexpr const char* kHeddle = "Heddle";
constexpr const char* kMachine = "this machine";
constexpr const char* kTools = "optional tools";
constexpr const char* kData = "data";

/// The first line of a file, or empty.
std::string line_of(const fs::path& path) {
    std::ifstream stream(path);
    std::string line;
    std::getline(stream, line);
    return line;
}

/// A program in $PATH or one of the folders; empty when it is nowhere.
std::string find_program(const std::string& name, const std::vector<std::string>& folders = {}) {
    std::vector<std::string> places;
    const char* const path = std::getenv("PATH");
    const std::string list = path == nullptr ? "" : path;
    for (std::size_t begin = 0; begin <= list.size();) {
        const std::size_t end = std::min(list.find(':', begin), list.size());
        if (end > begin) places.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    places.insert(places.end(), folders.begin(), folders.end());
    for (const std::string& place : places) {
        std::string program = (fs::path(place) / name).string();
        std::error_code ignored;
        if (fs::is_regular_file(program, ignored) && access(program.c_str(), X_OK) == 0) return program;
    }
    return {};
}

Check tool(const std::string& name, const std::vector<std::string>& programs, const std::string& use,
           const std::string& remedy, const std::vector<std::string>& folders = {}) {
    std::string found, missing;
    for (const std::string& program : programs) {
        const std::string path = find_program(program, folders);
        std::string& list = path.empty() ? missing : found;
        list += (list.empty() ? "" : ", ") + (path.empty() ? program : path);
    }
    if (missing.empty()) return {kTools, name, State::good, found, ""};
    return {kTools, name, State::absent, "no " + missing + ": " + use, remedy};
}

Check program() {
    return {kHeddle, "program", State::good,
            fmt::format("heddle {}, g++ {}, SystemC {}", HEDDLE_VERSION, __VERSION__, HEDDLE_SYSTEMC_VERSION),
            ""};
}

Check hardware() {
    std::size_t count = 0;
    for (const std::string& name : sim::hardware_names()) {
        try {
            sim::load_hardware(name);
            ++count;
        } catch (const Error& error) {
            return {kHeddle, "hardware files", State::bad, error.what(), "mend or remove the file"};
        }
    }
    if (count == 0)
        return {kHeddle, "hardware files", State::bad, "none found",
                "set HEDDLE_HARDWARE_PATH to the folder sim/hardware of the source tree"};
    return {kHeddle, "hardware files", State::good, fmt::format("{} devices, all can be read", count), ""};
}

Check capture_program() {
    try {
        return {kHeddle, "heddle-capture", State::good, validation::capture_program().string(), ""};
    } catch (const Error&) {
        return {kHeddle, "heddle-capture", State::absent,
                "not built: it records a GPU for `heddle validate gpu`", "build the target heddle-capture"};
    }
}

Check cache() {
    const sim::KernelCache cache = sim::KernelCache::standard();
    const char* const variable = std::getenv("HEDDLE_CACHE");
    if (!cache.enabled()) {
        if (variable != nullptr && std::string(variable) == "off")
            return {kMachine, "cache", State::absent, "switched off: every kernel is simulated anew",
                    "unset HEDDLE_CACHE"};
        return {kMachine, "cache", State::bad, "its folder cannot be written: every kernel is simulated anew",
                "set HEDDLE_CACHE to a folder that can be written"};
    }
    std::error_code failure;
    const fs::space_info space = fs::space(cache.folder(), failure);
    double used = 0;
    for (const auto& entry : fs::directory_iterator(cache.folder(), failure)) {
        std::error_code ignored;
        const auto size = fs::file_size(entry.path(), ignored);
        if (!ignored) used += static_cast<double>(size);
    }
    const double free = static_cast<double>(space.available);
    const std::string finding = fmt::format("{}: {} used, {} free on the disk", cache.folder(),
                                            sim::format_binary(used), sim::format_binary(free));
    if (free < kGibibyte / 4)
        return {kMachine, "cache", State::bad, finding,
                "make room, or set HEDDLE_CACHE to a folder on another disk"};
    return {kMachine, "cache", State::good, finding, ""};
}

Check processor() {
    std::string finding = fmt::format("{} cores", std::max(1u, std::thread::hardware_concurrency()));
    if (__builtin_cpu_supports("avx2")) return {kMachine, "processor", State::good, finding + ", AVX2", ""};
    return {kMachine, "processor", State::absent,
            finding + ", no AVX2: values are computed several times slower",
            "use a processor of 2013 or later"};
}

Check memory() {
    std::ifstream stream("/proc/meminfo");
    std::string key, unit;
    double size = 0, available = 0, total = 0;
    while (stream >> key >> size) {
        std::getline(stream, unit);
        if (key == "MemTotal:") total = size * 1024;
        if (key == "MemAvailable:") available = size * 1024;
    }
    const std::string finding = sim::format_binary(available) + " of " + sim::format_binary(total) + " free";
    // A worker that simulates an H100 takes about 150 MB, sampled runs of large kernels up to 1 GB.
    if (available > 0 && available < kGibibyte)
        return {kMachine, "memory", State::bad, finding,
                "end other programs, or give fewer workers with --jobs"};
    return {kMachine, "memory", State::good, finding, ""};
}

Check huge_pages() {
    const std::string setting = line_of("/sys/kernel/mm/transparent_hugepage/enabled");
    const std::string name = "huge pages";
    if (setting.find("[always]") != std::string::npos || setting.find("[madvise]") != std::string::npos)
        return {kMachine, name, State::good, setting, ""};
    return {kMachine, name, State::absent, setting.empty() ? "the kernel does not tell" : setting,
            "as root: echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (simulation gains some 10 "
            "per cent)"};
}

Check gpu() {
    const std::string version = line_of("/proc/driver/nvidia/version");
    if (!version.empty()) return {kTools, "NVIDIA GPU", State::good, version, ""};
    return {kTools, "NVIDIA GPU", State::absent,
            "no driver: `heddle validate gpu` records one where there is one", ""};
}

Check chart_js() {
    const std::string path = sim::chart_library_path();
    if (path.empty())
        return {kTools, "Chart.js", State::absent, "not found: charts of reports are pictures without hover",
                "apt-get install libjs-chart.js"};
    if (sim::chart_library().empty())
        return {kTools, "Chart.js", State::absent, path + " is of no version that is known here",
                "install version 3 or 4"};
    return {kTools, "Chart.js", State::good, path, ""};
}

std::vector<Check> data() {
    std::vector<Check> checks;
    std::size_t captures = 0;
    for (const fs::path& capture : validation::installed_captures()) {
        ++captures;
        checks.push_back({kData, "capture", State::good, capture.string(), ""});
    }
    if (captures == 0)
        checks.push_back({kData, "captures", State::absent, "none of a GPU yet",
                          "on a machine with an NVIDIA GPU: heddle validate gpu"});
    const fs::path folder = validation::data_folder();
    std::error_code ignored;
    if (folder.empty() || !fs::is_directory(folder, ignored)) {
        checks.push_back({kData, "recordings of others", State::absent,
                          "none: `heddle validate` leaves out what needs them",
                          "set HEDDLE_DATA to their folder"});
        return checks;
    }
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder, ignored))
        if (entry.is_directory(ignored)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    std::string list;
    for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
    checks.push_back({kData, "recordings of others", State::good, folder.string() + ": " + list, ""});
    return checks;
}

}  // namespace

std::vector<Check> examine() {
    const std::vector<std::string> cuda{"/usr/local/cuda/bin"};
    std::vector<Check> checks{program(), hardware(),   capture_program(), processor(),
                              memory(),  huge_pages(), cache(),           gpu()};
    checks.push_back(tool("CUDA assembler", {"ptxas"},
                          "generated PTX is not checked, --registers ptxas does not run",
                          "install NVIDIA's CUDA toolkit (cuda-nvcc), or put ptxas into PATH", cuda));
    checks.push_back(tool("CUDA disassemblers", {"cuobjdump", "nvdisasm"}, "machine code is not compared",
                          "install NVIDIA's CUDA toolkit (cuda-cuobjdump, cuda-nvdisasm)", cuda));
    checks.push_back(
        tool("MPI", {"mpirun"}, "explorations use this machine alone", "apt-get install openmpi-bin"));
    checks.push_back(chart_js());
    const std::vector<Check> found = data();
    checks.insert(checks.end(), found.begin(), found.end());
    return checks;
}

std::string format_checks(const std::vector<Check>& checks, std::size_t width, bool colours) {
    std::size_t names = 0;
    for (const Check& check : checks) names = std::max(names, check.name.size());
    const std::size_t lines = width == 0 ? 100 : width;
    const auto indent = static_cast<unsigned>(names + 12);
    std::string text, group;
    for (const Check& check : checks) {
        if (check.group != group)
            text += (text.empty() ? "" : "\n") + painted(check.group, Colour::bold, colours) + "\n";
        group = check.group;
        const bool good = check.state == State::good, bad = check.state == State::bad;
        const std::string state = painted(good  ? "good   "
                                          : bad ? "mend   "
                                                : "absent ",
                                          good  ? Colour::green
                                          : bad ? Colour::red
                                                : Colour::yellow,
                                          colours);
        std::string finding =
            wrap(check.finding, static_cast<unsigned>(std::max<std::size_t>(lines, indent + 20)), indent);
        if (finding.size() > indent) finding.erase(0, indent);
        text += fmt::format("  {}  {:<{}} {}", state, check.name, names, finding);
        if (check.finding.empty()) text += "\n";
        if (!check.remedy.empty() && !good)
            text += wrap("-> " + check.remedy,
                         static_cast<unsigned>(std::max<std::size_t>(lines, indent + 20)), indent);
    }
    const auto mend =
        std::count_if(checks.begin(), checks.end(), [](const Check& c) { return c.state == State::bad; });
    const auto absent =
        std::count_if(checks.begin(), checks.end(), [](const Check& c) { return c.state == State::absent; });
    return text + (mend == 0 ? fmt::format("\nall that Heddle needs is here; {} optional absent\n", absent)
                             : fmt::format("\n{} to mend, {} optional absent\n", mend, absent));
}

std::string checks_json(const std::vector<Check>& checks) {
    using Json = nlohmann::ordered_json;
    Json json{{"good", all_good(checks)}};
    json["checks"] = Json::array();
    for (const Check& check : checks)
        json["checks"].push_back({{"group", check.group},
                                  {"name", check.name},
                                  {"state", check.state == State::good  ? "good"
                                            : check.state == State::bad ? "bad"
                                                                        : "absent"},
                                  {"finding", check.finding},
                                  {"remedy", check.remedy}});
    return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

bool all_good(const std::vector<Check>& checks) {
    return std::none_of(checks.begin(), checks.end(),
                        [](const Check& check) { return check.state == State::bad; });
}

void add_doctor_command(CLI::App& app) {
    const auto json = std::make_shared<bool>(false);
    CLI::App* command = add_command(app, "doctor");
    command->add_flag("--json", *json, "print JSON");
    command->footer(
        "Example: heddle doctor\nExit codes: 0 all that Heddle needs is here, 1 something must be mended.");
    command->callback([json] {
        const std::vector<Check> checks = examine();
        print(*json ? checks_json(checks) : format_checks(checks, table_width(), has_colours(STDOUT_FILENO)));
        if (all_good(checks)) return;
        std::string names;
        for (const Check& check : checks)
            if (check.state == State::bad) names += (names.empty() ? "" : ", ") + check.name;
        throw ComparisonFailed{"to mend: " + names};
    });
}

}  // namespace heddle::cli
