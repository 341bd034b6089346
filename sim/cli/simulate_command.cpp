// heddle simulate
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "isa/common/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/configuration.h"
#include "sim/cli/doors.h"
#include "sim/cli/hand_over.h"
#include "sim/cli/limits.h"
#include "sim/cli/other_device.h"
#include "sim/cli/output.h"
#include "sim/cli/progress.h"
#include "sim/cli/simulate_options.h"
#include "sim/cli/terminal.h"
#include "sim/cli/workload.h"
#include "sim/cli/programs.h"
#include "sim/hardware/load_hardware.h"
#include "sim/report/run_directory.h"
#include "sim/report/summary.h"
#include "sim/report/table.h"
#include "sim/run/simulate.h"
#include "sim/tpu/tpu_program.h"
#include "sim/run/workers/worker_pool.h"
#include "sim/report/result_names.h"

namespace heddle::cli {
namespace simulate_command {

using Options = SimulateCommandOptions;

Workload open(const Options& options) {
    std::map<std::string, std::string> model_options;
    if (!options.batch.empty()) add_model_option(model_options, "batch=" + options.batch);
    if (!options.sequence.empty()) add_model_option(model_options, "sequence=" + options.sequence);
    if (!options.widths.empty()) add_model_option(model_options, "widths=" + options.widths);
    for (const std::string& assignment : options.model_options) add_model_option(model_options, assignment);
    return open_workload(options.workload, model_options);
}

void print_tables(const Options& options, const sim::RunResult& result) {
    std::string text = sim::format_report(result, table_width()) + sim::format_simulation(result) + "\n";
    for (const std::string& signals : result.signals) text += signals + "\n";
    if (!options.no_out)
        text += "written to " + options.out + ": open report.html, or timeline.json in Perfetto\n";
    print(text);
}

/// What decides about the result beside the hardware.
std::map<std::string, std::string> given(const Options& options) {
    std::map<std::string, std::string> values;
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty()) values[name] = value;
    };
    const auto flag = [&](const char* name, bool set) {
        if (set) values[name] = "yes";
    };
    add("batch", options.batch);
    add("sequence", options.sequence);
    add("widths", options.widths);
    for (const std::string& assignment : options.model_options) {
        const std::size_t equals = std::min(assignment.find('='), assignment.size() - 1);
        values["option " + assignment.substr(0, equals)] = assignment.substr(equals + 1);
    }
    flag("sample", options.simulate.sample);
    flag("graph", options.simulate.graph);
    flag("numerics", options.simulate.numerics);
    if (options.simulate.fusion != sim::Fusion::usual)
        values["fusion"] = options.simulate.fusion == sim::Fusion::compile ? "compile"
                           : options.simulate.fusion == sim::Fusion::xla   ? "xla"
                                                                           : "none";
    if (options.simulate.streams == sim::Streams::cycle) values["streams"] = "cycle";
    flag("programmatic launches", options.simulate.programmatic);
    return values;
}

/// A TPU program as text: no model, no folder of results.
void run_program(const Options& options) {
    refuse_options_of_steps(options, "TPU programs, which are always checked with values");
    const sim::Hardware hardware = sim::load_hardware(options.hardware, options.overrides, options.programs);
    sim::TpuProgramRun run;
    std::string signals;
    const auto run_it = [&](models::SignalTrace* trace) {
        run = sim::run_tpu_program(options.workload, hardware, options.simulate.tick_every_cycle, trace);
    };
    if (options.simulate.signals.asked())
        signals = "written: " + sim::write_signals(options.simulate.signals, options.simulate.signals.file,
                                                   [&](models::SignalTrace& trace) { run_it(&trace); }) + "\n";
    else
        run_it(nullptr);
    const std::string json = sim::with_common_names(sim::tpu_program_json(run), "simulate");
    if (!options.out.empty()) write_file(options.out, json);
    print(options.json ? json : sim::format_tpu_program(run) + signals);
}

Error no_device() {
    return Error("no device is named", {"--hardware", 0, ""}, "give --hardware NAME, or --cluster NAME");
}

void simulate(Options options) {
    if (!options.plan.cluster.empty()) {
        simulate_spread(options);
        return;
    }
    if (options.workload.ends_with(".hrun")) {
        if (recording_player() == nullptr) throw HandOver{"heddle-run"};
        recording_player()(options);
        return;
    }
    const bool names_programs = names_recorded_kernels(options.workload) || sim::is_tpu_program(options.workload);
    if (options.hardware.empty() && names_programs) throw no_device();
    if (names_recorded_kernels(options.workload)) {
        simulate_recorded_kernels(options);
        return;
    }
    if (sim::is_tpu_program(options.workload)) {
        run_program(options);
        return;
    }
    if (!options.unknown_as.empty())
        throw Error("is for recorded kernels", {"--unknown-as", 0, ""},
                    "give a kernelslist.g, or leave it out");
    if (options.simulate.steps != 1 && !options.simulate.numerics) {
        throw Error("several steps differ only in their values", {"--steps", 0, ""}, "add --numerics");
    }
    const auto needs_numerics = [&](bool given, const char* option) {
        if (given && !options.simulate.numerics)
            throw Error("is for training with real values", {option, 0, ""}, "add --numerics");
    };
    needs_numerics(!options.simulate.data.empty(), "--data");
    needs_numerics(!options.simulate.checkpoint.empty(), "--checkpoint");
    if (options.simulate.resume && options.simulate.checkpoint.empty())
        throw Error("needs the file to go on from", {"--resume", 0, ""}, "add --checkpoint FILE");
    if (options.simulate.sample && options.simulate.numerics) {
        throw Error("a sampled run computes no values", {"--sample", 0, ""}, "leave out --numerics");
    }
    if (options.simulate.sample && options.simulate.signals.asked()) {
        throw Error("signals are those of every simulated cycle", {"--trace-signals", 0, ""},
                    "leave out --sample");
    }
    if (options.simulate.series.interval != 0 && options.no_out) {
        throw Error("series go to the timeline", {"--series", 0, ""}, "leave out --no-out");
    }
    const auto load = [&] { return sim::load_hardware(options.hardware, options.overrides, options.programs); };
    std::optional<sim::Hardware> loaded;  // a mistake in it is told before the workload is read
    if (!options.hardware.empty()) loaded = load();
    Workload workload = open(options);
    if (!loaded) {
        if (!names_a_file(options.workload)) throw no_device();
        options.hardware = hardware_of_recording(workload.device, options.workload);
        loaded = load();
    }
    const sim::Hardware& hardware = *loaded;
    const std::string other_device = keep_to_recorded_device(workload.trace, workload.device, hardware);
    if (options.out.empty()) options.out = "heddle-run-" + workload.name + "-" + hardware.name;
    if (!options.no_out) sim::check_run_directory(options.out);

    sim::RunResult result;
    try {
        Progress progress;
        options.simulate.progress = [&progress](double fraction, const std::string& what) {
            progress.update(fraction, what);
        };
        result = sim::simulate(workload.trace, workload.name, hardware, options.simulate);
        if (!other_device.empty()) result.notes.insert(result.notes.begin(), other_device);
    } catch (const sim::DoesNotFit& answer) {
        print(options.json
                  ? sim::memory_json_text(answer.memory)
                  : workload.name + " on " + hardware.name + "\n" + sim::format_does_not_fit(answer.memory));
        throw TooLarge{"does not fit: " + answer.memory.sentence() +
                       "; --ignore-memory simulates it all the same"};
    }
    if (!options.no_out) {
        const sim::SignalsHeld whole;
        sim::write_run_directory(
            result, options.out,
            {{"configuration.json", configuration_json(options.workload, hardware, given(options))}});
    }
    if (options.json) {
        print(sim::summary_json(result));
    } else {
        print_tables(options, result);
    }
    if (!result.numerics) return;
    const std::string failure = sim::numerics_failure(*result.numerics);
    if (!failure.empty()) throw ComparisonFailed{failure};
}

}  // namespace simulate_command

RecordingPlayer& recording_player() {
    static RecordingPlayer player = nullptr;
    return player;
}

void refuse_options_of_steps(const SimulateCommandOptions& options, const std::string& instead) {
    const auto refuse = [&](bool given, const char* option) {
        if (given) throw Error("is for training steps, not for " + instead, {option, 0, ""}, "leave it out");
    };
    refuse(options.simulate.numerics, "--numerics");
    refuse(options.simulate.sample, "--sample");
    refuse(!options.batch.empty(), "--batch");
    refuse(!options.sequence.empty(), "--sequence");
    refuse(!options.widths.empty(), "--widths");
    refuse(!options.model_options.empty(), "--option");
    refuse(options.simulate.steps != 1, "--steps");
    refuse(options.simulate.programmatic, "--programmatic-launches");
    refuse(options.simulate.streams != sim::Streams::shared, "--streams");
    refuse(!options.simulate.dump_programs.empty(), "--dump-program");
    refuse(!options.simulate.signals.kernel.empty(), "--trace-kernel");
}

void add_simulate_command(CLI::App& app) {
    using namespace simulate_command;
    const auto options = std::make_shared<Options>();
    CLI::App* command = add_command(app, "simulate");
    command
        ->add_option(
            "WORKLOAD", options->workload,
            "a model (`heddle trace models` lists them), a model's layers (.yaml), a trace file, XLA's text "
            "of a step, "
            "recorded kernels "
            "(kernelslist.g, .traceg, .tracez), a recorded CUDA program (.hrun), or a TPU program as text")
        ->required();
    command
        ->add_option("--hardware", options->hardware,
                     "a device's name, or a hardware file (default: the device that a recording names)")
        ->type_name("NAME|FILE");
    add_set_option(*command, options->overrides, "change a parameter of the device: --set sm.count=144");
    add_programs_option(*command, options->programs);
    command->add_option("--batch", options->batch, "rows of the model's input")->type_name("N");
    command->add_option("--sequence", options->sequence, "tokens of each sequence of the model's input")
        ->type_name("N");
    command->add_option("--widths", options->widths, "widths of the model's layers: 784,4096,10")
        ->type_name("N,N,...");
    command
        ->add_option("--option", options->model_options, "any other option of the model: --option type=bf16")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    command->add_flag("--numerics", options->simulate.numerics,
                      "compute real values and compare them with a double-precision reference");
    command->add_option("--steps", options->simulate.steps, "training steps, with --numerics")
        ->check(CLI::Range(1u, 100000u))
        ->type_name("N")
        ->capture_default_str();
    command
        ->add_option("--data", options->simulate.data,
                     "with --cluster: devices that see different data; with --numerics: fresh inputs in "
                     "every step: `spirals` for an MLP of two inputs, or a file "
                     "whose bytes are the tokens of a GPT")
        ->type_name("N|spirals|FILE");
    command
        ->add_option(
            "--checkpoint", options->simulate.checkpoint,
            "with --numerics: write the state of the training into a file, at the end and on the way")
        ->type_name("FILE");
    command->add_flag("--resume", options->simulate.resume,
                      "go on from --checkpoint until --steps are done, as if never interrupted");
    add_schedule_option(*command, options->simulate.assembly);
    command->add_flag("--tick-every-cycle", options->simulate.tick_every_cycle,
                      "look at every block in every cycle: slow, and must give the same cycles");
    command->add_flag("--sample", options->simulate.sample,
                      "simulate until the time has settled and extrapolate what repeats; says by how much "
                      "the result may be wrong");
    command->add_flag("--programmatic-launches", options->simulate.programmatic,
                      "GPU: each kernel begins while the one before ends, and waits for it with "
                      "griddepcontrol.wait");
    command
        ->add_option_function<std::string>(
            "--fusion",
            [&fusion = options->simulate.fusion](const std::string& mode) {
                fusion = mode == "compile" ? sim::Fusion::compile
                         : mode == "xla"   ? sim::Fusion::xla
                                           : sim::Fusion::none;
            },
            "none: a kernel for each op; compile: elementwise chains are one, as torch.compile makes them; "
            "xla: also epilogues of products, as XLA makes them (default: none on a GPU, xla on a TPU)")
        ->check(CLI::IsMember({"none", "compile", "xla"}))
        ->type_name("none|compile|xla");
    command
        ->add_option_function<std::string>(
            "--streams",
            [&streams = options->simulate.streams](const std::string& mode) {
                streams = mode == "cycle" ? sim::Streams::cycle : sim::Streams::shared;
            },
            "GPU: kernels of several streams that overlap; shared: each slows the others by what it uses alone; cycle: they are "
            "simulated together, on one clock (default: shared)")
        ->check(CLI::IsMember({"shared", "cycle"}))
        ->type_name("shared|cycle");
    command->add_flag("--graph", options->simulate.graph,
                      "GPU: the step is launched as one CUDA graph instead of kernel by kernel");
    command->add_flag("--ignore-memory", options->simulate.ignore_memory,
                      "simulate a step though the device has too little memory for it");
    add_series_options(*command, options->simulate.series);
    add_signal_options(*command, options->simulate.signals, true);
    add_plan_options(*command, options->plan);
    command->add_flag("!--no-cache", options->simulate.cache,
                      "simulate every kernel anew, and keep no result on disk");
    command
        ->add_option("-j,--jobs", options->simulate.jobs,
                     "cores to use, for kernels beside each other or for one on several; 0: all")
        ->check(CLI::Range(0u, 4096u))
        ->type_name("N")
        ->capture_default_str();
    command
        ->add_option("--unknown-as", options->unknown_as,
                     "of recorded kernels: the class that opcodes Heddle does not know are taken for")
        ->type_name("CLASS");
    command
        ->add_option("--out", options->out,
                     "folder to write (default: heddle-run-WORKLOAD-HARDWARE); of TPU programs a JSON file")
        ->type_name("DIR");
    command
        ->add_option("--dump-program", options->simulate.dump_programs,
                     "TPU: write the text of every distinct program, with its use of weights, into a folder")
        ->type_name("DIR");
    command->add_flag("--no-out", options->no_out, "write no folder")->excludes("--out");
    command->add_flag("--json", options->json, "print summary.json instead of tables");
    add_limit_options(*command);
    command->footer(
        "A step that does not fit the device's memory is not simulated: the answer is what takes the memory, "
        "and exit "
        "code 4.\n"
        "Examples:\n"
        "  heddle simulate mlp --hardware h100-sxm\n"
        "  heddle simulate gpt2-small --batch 8 --sequence 1024 --hardware h100-sxm --sample\n"
        "  heddle simulate examples/models/small-decoder.yaml --hardware h100-sxm\n"
        "  heddle simulate mlp --batch 256 --widths 784,4096,4096,10 --hardware tpu-v3 --json\n"
        "  heddle simulate step.et --hardware h100-sxm --set sm.count=144 --out wider\n"
        "  heddle simulate step.mlir --hardware tpu-v5e --numerics\n"
        "  heddle simulate examples/tpu/two-tiles.tpu --hardware tpu-v4\n"
        "  heddle simulate traces/kernelslist.g --hardware a100-sxm\n"
        "  heddle simulate kernel-7.traceg.xz --hardware a100-sxm --json");
    command->callback([options] { simulate(*options); });
}

}  // namespace heddle::cli
