// heddle trace models | inspect | doctor | import | export | diff
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "isa/common/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/cli/terminal.h"
#include "sim/cli/trace_inspection.h"
#include "sim/cli/workload.h"
#include "sim/cli/programs.h"
#include "sim/config/gpu_names.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "sim/report/numbers.h"
#include "sim/report/text_table.h"
#include "sim/run/workers/worker_pool.h"
#include "workloads/importers/open_trace.h"
#include "workloads/trace_files/read.h"
#include "workloads/zoo/registry.h"

namespace heddle::cli {
namespace trace_command {

using Json = nlohmann::ordered_json;

struct Options {
    std::string workload, other, out;
    std::vector<std::string> model_options;
    bool json = false;
};

Workload open(const Options& options) {
    std::map<std::string, std::string> model_options;
    for (const std::string& assignment : options.model_options) add_model_option(model_options, assignment);
    return open_workload(options.workload, model_options);
}

/// All models in a table; or one with its options.
void list_models(const Options& options) {
    Json json = Json::array();
    std::string text;
    std::vector<std::vector<std::string>> table{{"model", "parameters", "what it is"}};
    std::vector<std::string> names;
    for (const zoo::Model& model : zoo::models()) {
        names.push_back(model.name);
        table.push_back(
            {model.name,
             model.parameters == 0 ? "-" : sim::format_count(static_cast<std::uint64_t>(model.parameters)),
             model.description});
        if (!options.workload.empty() && model.name != options.workload) continue;
        Json described = Json::array();
        std::vector<std::vector<std::string>> rows{{"  option", "default", "meaning"}};
        for (const zoo::OptionDescription& option : model.options) {
            rows.push_back({"  " + option.name, option.default_value, option.meaning});
            described.push_back(
                {{"name", option.name}, {"default", option.default_value}, {"meaning", option.meaning}});
        }
        json.push_back({{"name", model.name},
                        {"description", model.description},
                        {"parameters", model.parameters},
                        {"options", described}});
        text = model.name + ": " + model.description + "\n" + sim::fit_columns(rows, {}, table_width());
    }
    if (json.empty()) {
        const std::string near = nearest_word(options.workload, names.data(), names.size());
        throw Error("there is no model '" + options.workload + "'", {},
                    near.empty() ? "heddle trace models lists them" : "did you mean " + near + "?");
    }
    if (options.workload.empty())
        text = sim::fit_columns(table, {false, true, false}, table_width()) +
               "heddle trace models NAME lists a model's options\n";
    print(options.json ? json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n" : text);
}

void inspect(const Options& options) {
    const Workload workload = open(options);
    print(options.json ? inspect_as_json(workload.trace, workload.device)
                       : inspect_for_people(workload.trace, workload.device));
}

/// What the recording has and lacks.
void diagnose(const Options& options) {
    importers::RecordingFacts facts;
    trace::RecordedDevice device;
    const trace::Trace trace = importers::open_trace(options.workload, &device, &facts);
    const std::string preset = sim::hardware_of_gpu(device.name, device.memory_bytes);
    double bandwidth = 0;
    if (!preset.empty())
        bandwidth = sim::gpu_config(sim::load_hardware(preset), "recorded kernels are those of GPUs").hbm.bandwidth;
    print(options.json ? diagnosis_as_json(trace, facts, bandwidth)
                       : diagnosis_for_people(trace, facts, bandwidth));
}

void diff(const Options& options) {
    const Workload first = open_workload(options.workload, {}), second = open_workload(options.other, {});
    print(options.json ? difference_as_json(first.trace, second.trace)
                       : difference_for_people(first.trace, second.trace));
}

void write(const Options& options) {
    const Workload workload = open(options);
    const sim::SignalsHeld whole;  // an interrupted command leaves no part of a file
    trace::write_trace(workload.trace, options.out, workload.device);
    const std::string told = warning_for_people(workload.trace) + coverage_for_people(workload.trace) + "wrote " +
                             sim::format_count(workload.trace.ops.size()) + " ops to " + options.out + "\n";
    // `heddle trace export mlp /dev/stdout | jq` reads the trace alone.
    std::error_code ignored;
    if (std::filesystem::equivalent(options.out, "/dev/stdout", ignored)) {
        std::fputs(told.c_str(), stderr);
    } else {
        print(told);
    }
}

void add_model_options(CLI::App* command, const std::shared_ptr<Options>& options) {
    command->add_option("--option", options->model_options, "an option of the model: --option batch=64")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
}

}  // namespace trace_command

void add_trace_command(CLI::App& app) {
    using namespace trace_command;
    // The options outlive this function in the callbacks.
    const auto options = std::make_shared<Options>();
    CLI::App* trace =
        add_command(app, "trace");
    trace->require_subcommand(1);
    trace->footer("Example: heddle trace inspect step.et");

    CLI::App* models =
        trace->add_subcommand("models", "Lists the models that can be simulated, and their options.");
    models->add_option("NAME", options->workload, "one model, with its options");
    models->add_flag("--json", options->json, "print JSON");
    models->footer("Examples:\n  heddle trace models\n  heddle trace models gpt2-small");
    models->callback([options] { list_models(*options); });

    CLI::App* inspect_app =
        trace->add_subcommand("inspect", "Counts ops, operations, bytes and recorded time.");
    inspect_app
        ->add_option("WORKLOAD", options->workload, "a model, or a trace file (.et, .json; .gz or .tar.gz)")
        ->required();
    add_model_options(inspect_app, options);
    inspect_app->add_flag("--json", options->json, "print JSON");
    inspect_app->footer(
        "Examples:\n  heddle trace inspect step.et\n  heddle trace inspect mlp --option batch=64");
    inspect_app->callback([options] { inspect(*options); });

    CLI::App* doctor_app = trace->add_subcommand(
        "doctor", "Says what a recording has and lacks, what share of it can be simulated, and which options of the "
                  "profiler would have recorded the rest.");
    doctor_app->add_option("RECORDING", options->workload, "a recording, or two of one run: a+b")->required();
    doctor_app->add_flag("--json", options->json, "print JSON");
    doctor_app->footer("Example: heddle trace doctor profile.json.gz");
    doctor_app->callback([options] { diagnose(*options); });

    CLI::App* import_app = trace->add_subcommand("import", "Turns a recorded execution into a trace of ops.");
    import_app
        ->add_option("RECORDING", options->workload,
                     "a recording of PyTorch's profiler, an execution trace, both of one run as "
                     "profiler.json+execution.json, or Chakra")
        ->required();
    import_app->add_option("OUT", options->out, "the file to write: .json or .et, either with .gz")
        ->required();
    import_app->footer("Example: heddle trace import profiler.json.gz+execution.json.gz step.et");
    import_app->callback([options] { write(*options); });

    CLI::App* diff_app = trace->add_subcommand("diff", "Says in what two training steps differ.");
    diff_app->add_option("WORKLOAD", options->workload, "a model, or a trace file")->required();
    diff_app->add_option("OTHER", options->other, "another one")->required();
    diff_app->add_flag("--json", options->json, "print JSON");
    diff_app->footer("Example: heddle trace diff before.et after.et");
    diff_app->callback([options] { diff(*options); });

    CLI::App* export_app =
        trace->add_subcommand("export", "Writes a model's training step, or a trace, to a file.");
    export_app->add_option("WORKLOAD", options->workload, "a model, or a trace file")->required();
    export_app->add_option("OUT", options->out, "the file to write: .json or .et (Chakra), either with .gz")
        ->required();
    add_model_options(export_app, options);
    export_app->footer("Example: heddle trace export mlp step.et --option batch=64");
    export_app->callback([options] { write(*options); });
}

}  // namespace heddle::cli
