// heddle run
#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "driver/server/recording.h"
#include "driver/server/server.h"
#include "isa/common/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/configuration.h"
#include "sim/cli/output.h"
#include "sim/cli/progress.h"
#include "sim/cli/programs.h"
#include "sim/cli/simulate_options.h"
#include "sim/hardware/load_hardware.h"
#include "sim/kernel/assemble.h"
#include "sim/report/run_directory.h"
#include "sim/report/summary.h"
#include "sim/report/table.h"

namespace heddle::cli {
namespace run_command {

namespace fs = std::filesystem;

struct Options {
    std::string hardware, out, range, save, time = "all", code = "auto", through = "heddle", host_time = "none";
    std::vector<std::string> overrides, words;
    sim::Programs programs = sim::Programs::refused;
    unsigned devices = 1;
    bool no_out = false, check = false, json = false, serve = false;
};

/// Where the libraries lie that take the place of the driver's: beside this program in a build folder, and where a package puts them.
std::string library_folder() {
    std::error_code failure;
    const fs::path here = fs::read_symlink("/proc/self/exe", failure).parent_path();
    for (const fs::path& folder : {here / "../../driver/lib", here / "driver"})
        if (fs::exists(folder / "libcuda.so.1")) return fs::canonical(folder).string();
    throw Error("the libraries of the virtual GPU are not there", {here.string(), 0, ""}, "build the target heddle-run, or install heddle again");
}

/// "train" of "./train": what the run is called.
std::string name_of(const std::string& program) {
    return fs::path(program).filename().string();
}

driver::GpuOptions gpu_options(const Options& options) {
    driver::GpuOptions gpu;
    gpu.devices = options.devices;
    gpu.check = options.check;
    gpu.range = options.range;
    gpu.code = driver::code_named(options.code);
    gpu.through_ptxas = options.through == "ptxas";
    if (gpu.through_ptxas && gpu.code == driver::Code::machine)
        throw Error("is about PTX, and --code machine runs none", {"--through ptxas", 0, ""}, "leave out one of them");
    if (gpu.through_ptxas) kernel::require_ptxas();
    if (options.time == "all") {
        gpu.timing = driver::Timing::all;
    } else if (options.time == "distinct") {
        gpu.timing = driver::Timing::distinct;
    } else if (options.time == "none") {
        gpu.timing = driver::Timing::none;
    } else {
        gpu.timing = driver::Timing::named;
        gpu.kernel = options.time;
    }
    return gpu;
}

/// Starts the program with the libraries of the virtual GPU in front of all others. Throws heddle::Error when there is no such program.
pid_t start(const Options& options, const std::string& socket) {
    const char* const before = std::getenv("LD_LIBRARY_PATH");
    const std::string libraries = library_folder() + (before == nullptr || *before == '\0' ? "" : std::string(":") + before);
    const std::string nvtx = library_folder() + "/libheddle-nvtx.so";
    std::vector<char*> words;
    for (const std::string& word : options.words) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    int failure[2];
    if (pipe2(failure, O_CLOEXEC) != 0) throw Error(std::string("cannot start a program: ") + std::strerror(errno));
    std::fflush(nullptr);
    const pid_t parent = getpid(), child = fork();
    if (child < 0) throw Error(std::string("cannot start a program: ") + std::strerror(errno));
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent) _exit(1);
        setenv("LD_LIBRARY_PATH", libraries.c_str(), 1);
        setenv("NVTX_INJECTION64_PATH", nvtx.c_str(), 1);
        setenv(driver::kSocketVariable, socket.c_str(), 1);
        if (options.host_time == "measured")
            setenv(driver::kHostTimeVariable, "1", 1);
        else
            unsetenv(driver::kHostTimeVariable);
        execvp(words[0], words.data());
        const int why = errno;
        [[maybe_unused]] const ssize_t told = write(failure[1], &why, sizeof why);
        _exit(127);
    }
    close(failure[1]);
    int why = 0;
    const ssize_t told = read(failure[0], &why, sizeof why);
    close(failure[0]);
    if (told == static_cast<ssize_t>(sizeof why)) {
        waitpid(child, nullptr, 0);
        throw Error(std::string("cannot run it: ") + std::strerror(why), {options.words[0], 0, ""}, "give the program's path after --");
    }
    return child;
}

/// The runtime of NVIDIA's that is linked into a program asks for NVIDIA's driver; such a program cannot run here, and says so better before it starts.
void refuse_static_runtime(const std::string& program) {
    std::FILE* const file = std::fopen(program.c_str(), "rb");
    if (file == nullptr) return;
    std::string tail, chunk(1 << 20, '\0');
    const std::string shared = "libcudart.so", linked = "libcudart_static";
    bool has_shared = false, has_static = false;
    while (const std::size_t count = std::fread(chunk.data(), 1, chunk.size(), file)) {
        const std::string text = tail + chunk.substr(0, count);
        has_shared = has_shared || text.find(shared) != std::string::npos;
        has_static = has_static || text.find(linked) != std::string::npos || text.find("cudart_static") != std::string::npos ||
                     text.find("cuGetExportTable") != std::string::npos;
        tail = text.substr(text.size() - std::min<std::size_t>(text.size(), 32));
    }
    std::fclose(file);
    if (has_static && !has_shared)
        throw Error("the CUDA runtime is linked into this program, and looks for NVIDIA's own driver", {program, 0, ""},
                    "link it with `nvcc -cudart shared`, or in CMake with CUDA_RUNTIME_LIBRARY Shared");
}

std::string bytes_text(std::uint64_t bytes) {
    constexpr const char* kUnits[] = {"bytes", "kB", "MB", "GB"};
    double amount = static_cast<double>(bytes);
    unsigned unit = 0;
    for (; amount >= 1000 && unit < 3; ++unit) amount /= 1000;
    return fmt::format("{:.3g} {}", amount, kUnits[unit]);
}

/// Prints and writes what was simulated: a folder for each result.
void report(const std::vector<sim::RunResult>& results, const std::string& out, bool no_out, bool json, const std::string& configuration) {
    for (std::size_t i = 0; i < results.size(); ++i) {
        const std::string folder = i == 0 ? out : out + "-" + std::to_string(i + 1);
        if (!no_out) sim::write_run_directory(results[i], folder, {{"configuration.json", configuration}});
        const std::string text = json ? sim::summary_json(results[i]) : sim::format_report(results[i]);
        std::fflush(stdout);
        std::fputs(text.c_str(), json ? stdout : stderr);
        if (!no_out && !json) std::fprintf(stderr, "written: %s\n", folder.c_str());
    }
}

/// `heddle run --serve`: a virtual GPU that programs find by themselves. Its first line says where, as JSON.
void serve(const Options& options) {
    if (!options.words.empty()) throw Error("starts no program", {"--serve", 0, ""}, "leave out what stands after --");
    if (!options.save.empty() || !options.out.empty() || options.json) throw Error("writes no results", {"--serve", 0, ""}, "leave out --save, --out and --json");
    const sim::Hardware hardware = sim::load_hardware(options.hardware, options.overrides, options.programs);
    sim::gpu_config(hardware, "CUDA programs need a GPU");
    const driver::GpuOptions gpu = gpu_options(options);
    driver::Server server(hardware, gpu, "programs");
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    std::printf("%s\n", nlohmann::json{{"variable", driver::kSocketVariable}, {"socket", server.path()}, {"libraries", library_folder()}, {"version", driver::kVersion}}.dump().c_str());
    std::fflush(stdout);
    server.serve_until_closed(STDIN_FILENO);
}

void run(Options options) {
    if (options.serve) return serve(options);
    if (options.words.empty()) throw Error("no program is named", {}, "give it after --: heddle run --hardware h100-sxm -- ./program");
    const sim::Hardware hardware = sim::load_hardware(options.hardware, options.overrides, options.programs);
    sim::gpu_config(hardware, "CUDA programs need a GPU");
    if (options.json && options.time == "none") throw Error("prints times, and nothing is timed", {"--json", 0, ""}, "leave out --time none");
    if (!options.range.empty() && options.time == "none")
        throw Error("chooses what is timed, and nothing is", {"--range", 0, ""}, "leave out --range, or --time none");
    if (options.host_time == "measured" && (options.time == "none" || !options.save.empty()))
        throw Error("measures what the program does between its calls, and " + std::string(options.time == "none" ? "nothing is timed" : "a recording does not keep it"),
                    {"--host-time", 0, ""}, options.time == "none" ? "leave out --time none" : "leave out --save");
    const std::string name = name_of(options.words[0]);
    if (options.out.empty()) options.out = "heddle-run-" + name + "-" + hardware.name;
    if (!options.no_out) sim::check_run_directory(options.out);
    refuse_static_runtime(options.words[0]);
    const driver::GpuOptions gpu = gpu_options(options);
    std::optional<driver::RecordingWriter> recording;
    if (!options.save.empty()) {
        if (gpu.timing == driver::Timing::none) throw Error("a recording says what is timed, and nothing is", {"--save", 0, ""}, "leave out --time none");
        recording.emplace(options.save, driver::RecordingHead{name, hardware.name, gpu.timing == driver::Timing::named ? "named" : options.time, gpu.kernel, gpu.range, gpu.devices, options.code, gpu.through_ptxas});
    }
    driver::Server server(hardware, gpu, name, recording ? &*recording : nullptr);
    // Ctrl-C is the program's; what it did until then is reported.
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    const int status = server.serve_until_end_of(start(options, server.path()));
    std::vector<sim::RunResult> results = server.results();
    if (recording) {
        const driver::RecordingWriter::Size size = recording->finish();
        std::fprintf(stderr, "recorded: %s, %s calls and %s of contents in %s\n", options.save.c_str(), fmt::format("{}", size.calls).c_str(),
                     bytes_text(size.contents).c_str(), bytes_text(size.file).c_str());
    }
    if (gpu.timing != driver::Timing::none)
        report(results, options.out, options.no_out, options.json, configuration_json(options.words[0], hardware, {{"time", options.time}}));
    if (WIFSIGNALED(status)) throw ProgramEnded{128 + WTERMSIG(status), std::string("the program was ended by ") + strsignal(WTERMSIG(status))};
    if (WEXITSTATUS(status) != 0) throw ProgramEnded{WEXITSTATUS(status), ""};
}

/// `heddle simulate FILE.hrun`
void play(const SimulateCommandOptions& given) {
    refuse_options_of_steps(given, "recordings of CUDA programs");
    if (given.hardware.empty()) throw Error("no device is named", {"--hardware", 0, ""}, "give --hardware NAME");
    const driver::Recording recording(given.workload);
    const sim::Hardware hardware = sim::load_hardware(given.hardware, given.overrides, given.programs);
    sim::gpu_config(hardware, "recordings of CUDA programs need a GPU");
    std::string out = given.out;
    if (out.empty()) out = "heddle-run-" + recording.head().program + "-" + hardware.name;
    if (!given.no_out) sim::check_run_directory(out);
    std::vector<sim::RunResult> results;
    {
        Progress progress;
        results = recording.play(hardware, [&](double part) { progress.update(part, recording.head().program); });
    }
    report(results, out, given.no_out, given.json, configuration_json(given.workload, hardware, {{"time", recording.head().timing}}));
}

}  // namespace run_command

void play_program_recordings() {
    recording_player() = run_command::play;
}

void add_run_command(CLI::App& app) {
    using run_command::Options;
    const auto options = std::make_shared<Options>();
    CLI::App* command = add_command(app, "run");
    command->add_option("--hardware", options->hardware, "a name from `heddle hardware list`, or a YAML file")->type_name("NAME")->required();
    add_set_option(*command, options->overrides, "changes a parameter of the hardware");
    add_programs_option(*command, options->programs);
    command->add_option("--devices", options->devices, "how many of them the program sees")->type_name("N")->check(CLI::Range(1u, 64u))->capture_default_str();
    command->add_option("--time", options->time,
                        "which launches are timed: `all`, `distinct` (the first of each kernel, grid and block), `none`, or those whose name has this in it")
        ->type_name("WHICH")
        ->capture_default_str();
    command->add_option("--code", options->code,
                        "which of the program's code runs: `ptx`, `machine` (its machine code for the device), or `auto` (PTX where there is some, else machine code)")
        ->check(CLI::IsMember({"auto", "ptx", "machine"}))
        ->capture_default_str();
    command->add_option("--through", options->through,
                        "what becomes of PTX, that of the program and that of the libraries: heddle's own pass, or the machine code that `ptxas` makes of it, where it is installed")
        ->check(CLI::IsMember({"heddle", "ptxas"}))
        ->capture_default_str();
    command->add_option("--range", options->range, "times only what is launched inside NVTX ranges of this name")->type_name("NAME");
    command->add_option("--host-time", options->host_time,
                        "what the program's own work between calls takes in simulated time: `none`, so that two runs are the same, or what is `measured` here")
        ->check(CLI::IsMember({"none", "measured"}))
        ->capture_default_str();
    command->add_option("--save", options->save, "records what the program asks for: `heddle simulate FILE.hrun` times it again, without the program")->type_name("FILE.hrun");
    command->add_flag("--check", options->check, "look for races, uninitialised reads and wrong barriers in shared memory");
    command->add_option("--out", options->out, "folder for the results; default heddle-run-PROGRAM-HARDWARE")->type_name("DIR");
    command->add_flag("--no-out", options->no_out, "write no folder");
    command->add_flag("--json", options->json, "print the summary as JSON, on standard output");
    command->add_flag("--serve", options->serve,
                      "start no program: print, as a line of JSON, by which variable and value programs find the virtual GPU, and serve them until standard input ends");
    command->add_option("PROGRAM", options->words, "the program and its arguments, after --");
    command->footer(
        "The program is not changed: its CUDA libraries are ours. Link it with `-cudart shared`, and with PTX (nvcc does so with -arch=sm_90).\n"
        "Its exit code is that of this command.\n"
        "Examples:\n"
        "  nvcc -arch=sm_90 -cudart shared saxpy.cu -o saxpy\n"
        "  heddle run --hardware h100-sxm -- ./saxpy\n"
        "  heddle run --hardware h100-sxm --time none -- ./train --steps 3");
    command->callback([options] { run_command::run(*options); });
}

}  // namespace heddle::cli
