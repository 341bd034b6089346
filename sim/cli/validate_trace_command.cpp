// heddle validate trace
#include <fmt/format.h>

#include <memory>

#include "isa/common/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/compared.h"
#include "sim/cli/json_options.h"
#include "sim/cli/limits.h"
#include "sim/cli/other_device.h"
#include "sim/cli/progress.h"
#include "sim/cli/workload.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "validation/compare/recorded_step.h"

namespace heddle::cli {
namespace validate_trace_command {

struct Options {
    std::string trace, hardware;
    JsonOptions json;
    std::vector<std::string> overrides, kinds;
    std::size_t worst = 20;
    unsigned workers = 0;
    double bar = 0;
    bool cache = true, sample = false;
    sim::Programs programs = sim::Programs::refused;
};

void check_kinds(const std::vector<std::string>& kinds, const trace::Trace& trace, const std::string& file) {
    for (const std::string& kind : kinds) {
        std::string there;
        bool found = false;
        for (const trace::Op& op : trace.ops) {
            const std::string name = trace::name_of(op.kind);
            found = found || name == kind;
            if ((", " + there).find(", " + name + ", ") == std::string::npos) there += name + ", ";
        }
        if (!found)
            throw Error("the step has no ops of the kind `" + kind + "`", {file, 0, "--kind"},
                        "it has " + there.substr(0, there.size() - 2));
    }
}

sim::Hardware hardware_of(const trace::RecordedDevice& device, const Options& options) {
    const std::string name =
        options.hardware.empty() ? hardware_of_recording(device, options.trace) : options.hardware;
    sim::Hardware hardware = sim::load_hardware(name, options.overrides, options.programs);
    sim::gpu_config(hardware, "recorded kernels are those of GPUs");
    return hardware;
}

void run_command(const Options& options) {
    Workload workload = open_workload(options.trace, {});
    const sim::Hardware hardware = hardware_of(workload.device, options);
    keep_to_recorded_device(workload.trace, workload.device, hardware);
    check_kinds(options.kinds, workload.trace, options.trace);
    validation::RecordedStep step;
    {
        Progress progress;
        sim::SimulateOptions simulate;
        simulate.jobs = options.workers;
        simulate.cache = options.cache;
        simulate.sample = options.sample;
        simulate.only_kinds = options.kinds;
        simulate.progress = [&progress](double fraction, const std::string& what) {
            progress.update(fraction, what);
        };
        step = validation::compare_recorded_step(workload.trace, workload.name, hardware, simulate);
    }
    show(validation::format_recorded_step(step, options.worst), validation::recorded_step_json(step),
         options.json);
    require_compared(step.cycle.count, "the model runs none of the step's recorded kernels cycle by cycle");
    const double percent = 100 * step.cycle.error();
    if (options.bar > 0 && !(percent <= options.bar))
        throw ComparisonFailed{fmt::format("mean error {:.1f} %, the bar is {:.1f} %", percent, options.bar)};
}

}  // namespace validate_trace_command

void add_validate_trace_command(CLI::App& validate) {
    using namespace validate_trace_command;
    const auto options = std::make_shared<Options>();
    CLI::App* command = validate.add_subcommand(
        "trace", "The kernels of a recorded training step, one by one, beside the model's");
    command
        ->add_option("TRACE", options->trace,
                     "a recording with the times of kernels (docs/traces.md); two recordings of one run: a+b")
        ->required();
    command
        ->add_option("--hardware", options->hardware,
                     "the device that it was recorded on (default: what the recording says)")
        ->type_name("NAME|FILE");
    add_set_option(*command, options->overrides, "change a parameter of the device: --set launch.gap=0.8us");
    add_programs_option(*command, options->programs);
    command
        ->add_option("--kind", options->kinds,
                     "run only ops of this kind (may be given several times); the others count as unknown")
        ->type_name("KIND")
        ->allow_extra_args(false);
    command->add_option("--worst", options->worst, "rows of the table of kernels")
        ->type_name("N")
        ->capture_default_str();
    command
        ->add_option("--bar", options->bar,
                     "fail when the mean error of a kernel, weighted with its time, is above this")
        ->type_name("PERCENT");
    command->add_flag("--sample", options->sample, "leave out what repeats in a kernel");
    command->add_flag("!--no-cache", options->cache,
                      "simulate every kernel anew, and keep no result on disk");
    command->add_option("-j,--jobs", options->workers, "workers (default: one for each core)")
        ->type_name("N");
    add_json_options(*command, options->json, "totals, kinds and every kernel");
    add_limit_options(*command);
    command->footer(
        "Example: heddle validate trace profile.json.gz+execution.json.gz --hardware a100-sxm --bar 15");
    command->callback([options] { run_command(*options); });
}

}  // namespace heddle::cli
