// heddle kernel
#include <cstdio>
#include <memory>
#include <string_view>

#include "isa/common/error.h"
#include "isa/common/limits.h"
#include "sim/cli/commands.h"
#include "sim/cli/limits.h"
#include "sim/cli/output.h"
#include "sim/cli/progress.h"
#include "sim/cli/terminal.h"
#include "sim/cli/programs.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "sim/kernel/files.h"
#include "sim/kernel/instruction_page.h"
#include "sim/kernel/listing.h"
#include "sim/kernel/module_source.h"
#include "sim/kernel/outputs.h"
#include "sim/kernel/report.h"
#include "sim/kernel/run.h"
#include "sim/run/workers/worker_pool.h"
#include "sim/report/result_names.h"

namespace heddle::cli {
namespace kernel_command {

struct Options {
    std::string file, hardware, output, record_trace;
    std::vector<std::string> overrides;
    bool numerics = false, functional = false, json = false, list = false, instructions = false;
    ptx::Assembly assembly = ptx::Assembly::scheduled;
    std::string registers = "allocation", through = "heddle", timeline;
    models::gpu::SeriesSettings series;
    sim::SignalOptions signals;
    unsigned jobs = 0;
    bool tick_every_cycle = false, check = false, lines = false, sample = false;
    sim::Programs programs = sim::Programs::refused;
};

/// The device; none when the run needs none.
models::gpu::GpuConfig device_of(const Options& options, std::string& heading) {
    if (options.hardware.empty()) {
        if (!options.functional && !options.list) {
            throw Error("--hardware is required", {},
                        "name a device, or add --functional for values without time");
        }
        models::gpu::GpuConfig any;
        any.compute_capability = 0;
        return any;
    }
    const sim::Hardware hardware = sim::load_hardware(options.hardware, options.overrides, options.programs);
    const models::gpu::GpuConfig& config = sim::gpu_config(hardware, "PTX kernels need a GPU");
    heading += " on " + hardware.name + ": " + hardware.description;
    return config;
}

void list(const Options& options) {
    std::string heading;
    const unsigned capability = device_of(options, heading).compute_capability;
    const std::string text = kernel::module_text(options.file, {}, capability != 0 ? capability : 90);
    const kernel::ModuleListing listing = kernel::list_module(text, options.file, capability);
    print(options.json ? kernel::listing_json(listing) : kernel::format_listing(listing, table_width()));
}

/// What a launch file of somebody else asks of nvcc must only choose what code is made.
void refuse_programs(const kernel::LaunchFile& file, const Options& options) {
    if (options.programs == sim::Programs::allowed) return;
    for (const kernel::LaunchDeclaration& launch : file.launches)
        if (const std::string flag = kernel::powerful_nvcc_flag(launch.nvcc_flags); !flag.empty())
            throw Error("a launch file may not give nvcc the option `" + flag + "`, which could run a program or write files", launch.where,
                        "leave it out, or add --allow-programs if you trust the launch file");
}

kernel::KernelRun run_with_progress(const kernel::LaunchFile& file, kernel::RunOptions& options) {
    Progress progress;
    options.progress = [&progress](double fraction, const std::string& what) {
        progress.update(fraction, what);
    };
    return kernel::run(file, options);
}

void run_launches(const Options& options) {
    const kernel::LaunchFile file = kernel::read_launch_file(options.file);
    refuse_programs(file, options);
    std::string heading = options.file;
    kernel::RunOptions run_options;
    run_options.device = device_of(options, heading);
    run_options.tick_every_cycle = options.tick_every_cycle;
    run_options.assembly = options.assembly;
    run_options.threads = options.jobs != 0 ? options.jobs : sim::available_cores();
    run_options.registers_of_ptxas = options.registers == "ptxas";
    run_options.through_ptxas = options.through == "ptxas";
    run_options.check = options.check;
    run_options.sample = options.sample;
    run_options.series = options.series;
    if (options.sample && (options.numerics || options.functional)) {
        throw Error("a sampled run computes no values", {"--sample", 0, ""},
                    "leave out --numerics and --functional");
    }
    run_options.record_trace = options.record_trace;
    if (!options.record_trace.empty() && (options.functional || options.sample)) {
        throw Error("a trace is recorded while a kernel is simulated as a whole", {"--record-trace", 0, ""},
                    "leave out --functional and --sample");
    }
    run_options.lines = options.lines;
    if (!options.timeline.empty() && options.functional) {
        throw Error("a functional run has no time", {"--timeline", 0, ""}, "leave out --functional");
    }
    if (options.series.interval != 0 && options.timeline.empty()) {
        throw Error("series go to the timeline", {"--series", 0, ""}, "add --timeline FILE");
    }
    if (options.signals.asked() && (options.functional || options.sample)) {
        throw Error("signals are those of every simulated cycle", {"--trace-signals", 0, ""},
                    "leave out --functional and --sample");
    }
    if (options.lines && options.functional) {
        throw Error("a functional run has no time", {"--lines", 0, ""}, "leave out --functional");
    }
    if (cycle_limit() != 0 && options.functional) {
        throw Error("a functional run has no cycles", {"--max-cycles", 0, ""}, "give --max-seconds");
    }
    if (options.check && !options.functional && !options.numerics) {
        throw Error("checks need values", {"--check", 0, ""}, "add --numerics or --functional");
    }
    run_options.mode = options.functional ? kernel::RunMode::functional
                       : options.numerics ? kernel::RunMode::numerics
                                          : kernel::RunMode::timing;
    run_options.print = [to = options.json ? stderr : stdout](std::string_view text) {
        const ProgressHeld held;
        std::fwrite(text.data(), 1, text.size(), to);
    };
    // Without values nothing is written.
    const bool values = run_options.mode != kernel::RunMode::timing;
    const kernel::Outputs declared(values ? file.outputs : std::vector<kernel::OutputDeclaration>{}, options.output,
                                   options.programs == sim::Programs::allowed);
    kernel::KernelRun result;
    std::string signals;
    if (options.signals.asked()) {
        signals = sim::write_signals(options.signals, options.signals.file, [&](models::SignalTrace& trace) {
            run_options.signals = &trace;
            result = run_with_progress(file, run_options);
        });
    } else {
        result = run_with_progress(file, run_options);
    }
    std::vector<std::string> outputs = declared.write(result);
    if (!signals.empty()) outputs.push_back(options.json ? options.signals.file : signals);
    if (!options.timeline.empty()) {
        const std::string text = kernel::kernel_timeline(result, options.hardware);
        write_file(options.timeline, text);
        outputs.push_back(options.timeline);
    }
    if (options.json) {
        print(sim::with_common_names(kernel::kernel_run_json(result, outputs), "kernel"));
    } else {
        std::string text = kernel::format_kernel_run(result, heading, table_width());
        for (const std::string& path : outputs) text += "written: " + path + "\n";
        print(text);
    }
    if (!result.findings.empty()) throw ComparisonFailed{result.findings.front().text};
    if (!result.passed()) throw ComparisonFailed{kernel::describe_failure(result)};
}

void run_kernel_command(const Options& options) {
    if (options.instructions) {
        print(kernel::instruction_page());
        return;
    }
    if (options.file.empty()) throw Error("no launch file is named", {}, "see `heddle kernel --help`");
    if (options.list) {
        list(options);
    } else {
        run_launches(options);
    }
}

}  // namespace kernel_command

void add_kernel_command(CLI::App& app) {
    using namespace kernel_command;
    const auto options = std::make_shared<Options>();
    CLI::App* command =
        add_command(app, "kernel");
    command->add_option("FILE", options->file, "a launch file; with --list a .ptx or .cu file");
    command->add_option("--hardware", options->hardware, "a GPU's name, or a hardware file")
        ->type_name("NAME|FILE");
    add_set_option(*command, options->overrides, "change a parameter of the device: --set sm.count=144");
    add_programs_option(*command, options->programs);
    CLI::Option* numerics =
        command->add_flag("--numerics", options->numerics,
                          "compute values, make the comparisons, and check that they cost no "
                          "other cycles");
    command->add_flag("--functional", options->functional, "compute values and no time: fastest")
        ->excludes(numerics);
    command->add_flag(
        "--check", options->check,
        "look for uninitialised reads, races and wrong barriers; exit code 1 when there are any");
    command->add_flag("--lines", options->lines,
                      "show which lines of PTX, and of CUDA compiled with -lineinfo, the time is spent on");
    command->add_flag("--sample", options->sample,
                      "simulate until the time has settled and extrapolate what repeats; says by how much "
                      "the result may be wrong");
    command
        ->add_option(
            "--record-trace", options->record_trace,
            "record what the launches do as traces of machine code that Accel-Sim can read, in a new folder")
        ->type_name("DIR");
    command
        ->add_option("--timeline", options->timeline,
                     "write the launches as a timeline for Perfetto and chrome://tracing")
        ->type_name("FILE");
    add_series_options(*command, options->series);
    add_signal_options(*command, options->signals, false);
    command->add_option("--output", options->output, "folder for the files under `outputs` (default: here)")
        ->type_name("DIR");
    add_schedule_option(*command, options->assembly);
    command
        ->add_option("--registers", options->registers,
                     "registers per thread, which decide occupancy: allocation, or what ptxas counts, where "
                     "it is installed (default: allocation)")
        ->type_name("allocation|ptxas")
        ->check(CLI::IsMember({"allocation", "ptxas"}));
    command
        ->add_option("--through", options->through,
                     "what becomes of PTX: heddle's own pass, or the machine code that ptxas makes of it, where it is installed "
                     "(default: heddle)")
        ->type_name("heddle|ptxas")
        ->check(CLI::IsMember({"heddle", "ptxas"}));
    command->add_option("-j,--jobs", options->jobs, "cores to use; the result is the same (default: all)")
        ->type_name("N")
        ->check(CLI::Range(0u, 4096u));
    command->add_flag("--tick-every-cycle", options->tick_every_cycle,
                      "look at every block in every cycle: slow, and must give the same cycles");
    command->add_flag("--json", options->json, "print JSON instead of tables");
    command->add_flag(
        "--list", options->list,
        "list the kernels of a module: parameters, registers, instructions, what is not supported");
    command->add_flag("--instructions", options->instructions,
                      "print the page of PTX instructions, in Markdown");
    add_limit_options(*command);
    command->footer(
        "A launch file, y = 2.5 x + y:\n"
        "  module: saxpy.ptx            # or a .cu file, compiled by nvcc; nvcc_flags: [-O3]\n"
        "  buffers:\n"
        "    x: {type: f32, count: 4096, fill: {uniform: {low: -1, high: 1, seed: 1}}}\n"
        "    y: {type: f32, shape: [64, 64], fill: {file: y.npy}}   # zeros, ones, iota, normal, constant\n"
        "  launches:\n"
        "    - entry: saxpy             # grid, block, cluster: a number or [x, y, z]\n"
        "      grid: 16\n"
        "      block: 256               # dynamic_shared: BYTES, repetitions: N, programmatic: true\n"
        "      # stream: 1, priority: -1, after: [0], sms: [0, 65]   # beside launches of other streams, on one clock\n"
        "      # cooperative: true        # all blocks run at once, so that grid.sync() works\n"
        "      # access_policy_window: {buffer: x, bytes: 4096, hit: persisting}   # normal, streaming; "
        "hit_ratio, miss\n"
        "      arguments: [{s32: 4096}, {f32: 2.5}, x, {buffer: y, offset: 0}]   # {peer: distance}: to a neighbour's memory\n"
        "  compare:                     # with: BUFFER, file: PATH, matmul: {a, b, m, n, k}, or\n"
        "    - {buffer: y, expression: \"2.5 * x[i] + initial.y[i]\", tolerance: {relative: 1e-6, ulp: 1}}\n"
        "  outputs:\n"
        "    - {buffer: y, file: result.npy}\n"
        "Examples:\n"
        "  heddle kernel examples/kernels/saxpy/launch.yaml --hardware h100-sxm\n"
        "  heddle kernel examples/kernels/saxpy/launch.yaml --hardware h100-sxm --numerics --json\n"
        "  heddle kernel examples/kernels/saxpy/launch.yaml --functional\n"
        "  heddle kernel examples/kernels/sgemm/launch.yaml --hardware h100-sxm --lines\n"
        "  heddle kernel examples/kernels/saxpy/launch.yaml --hardware a100-sxm --record-trace traces\n"
        "  heddle kernel --list examples/kernels/saxpy/saxpy.ptx");
    command->callback([options] { run_kernel_command(*options); });
}

}  // namespace heddle::cli
