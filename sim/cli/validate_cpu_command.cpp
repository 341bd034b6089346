// heddle validate cpu
#include <filesystem>
#include <fstream>
#include <memory>

#include "isa/common/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/limits.h"
#include "sim/cli/output.h"
#include "sim/cli/progress.h"
#include "sim/config/this_host.h"
#include "sim/cpu/cpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "validation/cpu/cpu_validation.h"

namespace heddle::cli {
namespace validate_cpu_command {

namespace fs = std::filesystem;

struct Options {
    std::string hardware = "this-host", filter;
    std::vector<std::string> overrides;
    unsigned rounds = 15;
    bool calibrate = false, json = false, no_bits = false, no_times = false;
};

const models::CpuConfig& cpu_of(const sim::Hardware& hardware) {
    const sim::CpuMachine* const machine = sim::cpu_machine(hardware);
    if (machine == nullptr) throw Error("`" + hardware.name + "` is a " + hardware.machine().noun(), {"--hardware", 0, ""}, "choose a CPU that is like this machine");
    return machine->config;
}

void calibrate(const Options& options) {
    const sim::Hardware hardware = sim::load_hardware(options.hardware, options.overrides);
    std::string text = "# Measured by `heddle validate cpu --calibrate`.\n";
    for (const validation::CpuMeasured& one : validation::calibrate_cpu(cpu_of(hardware))) text += one.key + ": " + one.value + "\n";
    const fs::path file = sim::this_host_file();
    std::error_code ignored;
    fs::create_directories(file.parent_path(), ignored);
    write_file(file.string(), text);
    if (!options.json) print(text + "written to " + file.string() + "\n\n");
}

void run_command(const Options& options) {
    if (options.calibrate) calibrate(options);
    const sim::Hardware hardware = sim::load_hardware(options.hardware, options.overrides);
    validation::CpuValidationOptions chosen;
    chosen.rounds = std::max(1u, options.rounds);
    chosen.filter = options.filter;
    chosen.bits = !options.no_bits;
    chosen.times = !options.no_times;
    validation::CpuValidation found;
    {
        Progress progress;
        chosen.progress = [&](const std::string& what) { progress.update(0, what); };
        found = validation::validate_cpu(cpu_of(hardware), chosen);
    }
    print(options.json ? validation::cpu_validation_json(found) : validation::cpu_validation_table(found));
}

}  // namespace validate_cpu_command

void add_validate_cpu_command(CLI::App& validate) {
    using namespace validate_cpu_command;
    const auto options = std::make_shared<Options>();
    CLI::App* command = validate.add_subcommand("cpu", "Holds the model of a CPU beside this machine: bits and times of the same programs.");
    command->add_option("--hardware", options->hardware, "the model of this machine (default: this-host)")->type_name("NAME|FILE");
    command->add_option("--set", options->overrides, "change a parameter of the model")->type_name("KEY=VALUE")->allow_extra_args(false);
    command->add_option("--filter", options->filter, "only rows whose group or name has this in it: chase, memory, kernels, sgemm")->type_name("TEXT");
    command->add_option("--rounds", options->rounds, "repetitions of each measurement (default: 15)")->type_name("N");
    command->add_flag("--calibrate", options->calibrate, "first measure the clock and the latencies of the L3 and of memory, and keep them for `this-host`");
    command->add_flag("--no-bits", options->no_bits, "leave the comparison of bits out");
    command->add_flag("--no-times", options->no_times, "leave the comparison of times out");
    command->add_flag("--json", options->json, "print JSON instead of the tables");
    add_limit_options(*command);
    command->footer("Everything is measured on one thread, in turns, and the least of all rounds counts: other programs only make a machine slower.\n"
                    "OpenBLAS is timed where it is installed, or where $HEDDLE_OPENBLAS names it.\n"
                    "Examples:\n"
                    "  heddle validate cpu --calibrate\n"
                    "  heddle validate cpu --filter sgemm --rounds 30 --json");
    command->callback([options] { run_command(*options); });
}

}  // namespace heddle::cli
