// heddle validate
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "isa/common/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/limits.h"
#include "sim/cli/output.h"
#include "sim/cli/progress.h"
#include "sim/cli/terminal.h"
#include "sim/cli/programs.h"
#include "sim/config/hardware_file.h"
#include "sim/report/text_table.h"
#include "validation/report/html.h"
#include "validation/report/print.h"
#include "validation/report/readme.h"
#include "validation/report/timing_table.h"
#include "validation/run/capture_now.h"
#include "validation/run/validation.h"

namespace heddle::cli {
namespace validate_command {

namespace fs = std::filesystem;

using validation::Comparison;
using validation::Subject;
using validation::Validation;

struct Options {
    std::string what, hardware, filter, report, data;
    std::vector<std::string> captures, bars;
    unsigned workers = 0;
    std::string readme, table;
    bool json = false, rows = false, allow_simulator = false;
};

std::vector<Subject> chosen_subjects(const std::string& what) {
    if (what == "all") return validation::subjects();
    if (what == "gpu") return {Subject::numerics, Subject::kernels, Subject::timing, Subject::losses};
    std::vector<std::string> names{"all", "gpu"};
    for (const Subject subject : validation::subjects()) {
        if (what == validation::name_of(subject)) return {subject};
        names.push_back(validation::name_of(subject));
    }
    const std::string near = nearest_word(what, names.data(), names.size());
    throw Error("there is nothing to validate by the name of `" + what + "`", {},
                near.empty() ? "known: numerics, kernels, timing, losses, tpu, gpu, all"
                             : "did you mean `" + near + "`?");
}

/// "gemm bf16=10": a bar of 10 % for the mean error of a category.
std::pair<std::string, double> error_bar(const std::string& text) {
    const std::size_t equals = text.rfind('=');
    if (equals != std::string::npos && equals > 0) {
        try {
            std::size_t used = 0;
            const std::string number = text.substr(equals + 1);
            const double percent = std::stod(number, &used);
            if (used == number.size() && percent >= 0) return {text.substr(0, equals), percent};
        } catch (const std::logic_error&) {  // told below
        }
    }
    throw Error("`" + text + "` is no bar", {"--bar", 0, ""},
                "write CATEGORY=PERCENT, such as --bar \"gemm bf16=10\"");
}

validation::ValidationOptions validation_options(const Options& options, Progress& progress) {
    validation::ValidationOptions chosen;
    chosen.subjects = chosen_subjects(options.what);
    chosen.captures.assign(options.captures.begin(), options.captures.end());
    if (chosen.captures.empty()) chosen.captures = validation::installed_captures();
    std::error_code ignored;
    if (!options.data.empty() && !fs::is_directory(options.data, ignored))
        throw Error("there is no such folder", {options.data, 0, ""},
                    "--data names a folder with recordings of third parties");
    chosen.data = options.data.empty() ? validation::data_folder() : fs::path(options.data);
    chosen.allow_simulator = options.allow_simulator;
    if (!options.hardware.empty()) sim::find_hardware_file(options.hardware);  // a wrong name is told
    chosen.compare.hardware = options.hardware;
    chosen.compare.filter = options.filter;
    chosen.compare.workers = options.workers;
    for (const std::string& bar : options.bars) chosen.compare.error_bars.insert(error_bar(bar));
    chosen.compare.progress = [&progress](double fraction, const std::string& what) {
        progress.update(fraction, what);
    };
    return chosen;
}

std::string table_for_people(const Validation& validation, bool rows) {
    std::string text;
    for (const Comparison& comparison : validation.comparisons)
        text += (text.empty() ? "" : "\n\n") + validation::format_comparison(comparison, rows, table_width());
    if (!validation.missing.empty()) text += text.empty() ? "" : "\n";
    for (const std::string& line : validation.missing) text += sim::wrap_lines(line + "\n", table_width());
    return text;
}

void show(const Validation& validation, const Options& options) {
    if (!options.report.empty())
        write_file(options.report, validation::comparisons_html("Heddle beside silicon: " + options.what,
                                                                validation.comparisons, validation.missing));
    if (options.json) {
        print(validation::comparisons_json(validation.comparisons, validation.missing));
        return;
    }
    std::string text = table_for_people(validation, options.rows);
    if (!options.report.empty()) text += "\nwritten: " + options.report + "\n";
    print(text);
}

/// The folder of a capture that was made just now.
std::string captured_here(const Options& options) {
    if (options.captures.size() > 1)
        throw Error("one folder can be captured into at a time", {"--capture", 0, ""});
    std::string folder =
        options.captures.empty() ? validation::dated_capture_name() : options.captures.front();
    const ProgressHeld silent;  // it tells for itself
    validation::capture_now(validation::capture_program(), folder);
    return folder;
}

std::string read_file(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    if (!stream) throw Error("cannot read the file", {path, 0, ""});
    return text.str();
}

/// Renews the accuracy table. What is not on this machine stays in it, and is named.
void write_readme(const Validation& validation, const std::string& path) {
    for (const Comparison& comparison : validation.comparisons)
        if (!comparison.reference.silicon)
            throw Error("the accuracy table is about silicon", {"--readme", 0, ""},
                        "leave --allow-simulator out");
    validation::AccuracyRun run{validation.comparisons, validation.missing, validation.looked_for};
    std::erase_if(run.missing, [](const std::string& line) { return line.starts_with("not here"); });
    const std::string text = read_file(path);
    std::vector<std::string> kept;
    const std::string table =
        validation::renewed_accuracy_table(validation::accuracy_block(text, path), run, path, &kept);
    write_file(path, validation::with_accuracy_block(text, table, path));
    for (const std::string& row : kept)
        std::fprintf(stderr, "kept in %s, not compared now: %s\n", path.c_str(), row.c_str());
}

void run_validate_command(Options options) {
    if (options.what.empty() && !options.readme.empty()) options.what = "all";
    if (options.what.empty())
        throw Error("the command does not say what to validate", {},
                    "numerics, kernels, timing, losses, tpu, gpu or all; see `heddle validate --help`");
    if (!options.readme.empty() && !options.filter.empty())
        throw Error("the accuracy table does not say which rows a filter left out", {"--readme", 0, ""},
                    "leave --filter out");
    if (options.what == "gpu") options.captures = {captured_here(options)};
    Validation result;
    {
        Progress progress;
        result = validation::validate(validation_options(options, progress));
    }
    if (!options.readme.empty()) write_readme(result, options.readme);
    if (!options.table.empty())
        write_file(options.table, validation::timing_accuracy_page(result.comparisons));
    show(result, options);
    const std::string failure = validation::failure_of(result.comparisons, result.missing);
    if (!failure.empty()) throw ComparisonFailed{failure};
}

}  // namespace validate_command

void add_validate_command(CLI::App& app) {
    using namespace validate_command;
    const auto options = std::make_shared<Options>();
    CLI::App* command = add_command(app, "validate");
    command->add_option("WHAT", options->what, "numerics, kernels, timing, losses, tpu, gpu, or all");
    command
        ->add_option("--capture", options->captures,
                     "a folder that heddle-capture wrote (default: those that came with Heddle); with gpu: "
                     "where to write")
        ->type_name("DIR")
        ->allow_extra_args(false);
    command
        ->add_option("--hardware", options->hardware,
                     "the device to simulate (default: the one that matches the capture's GPU)")
        ->type_name("NAME|FILE");
    command->add_option("--filter", options->filter, "only rows whose name or category has this in it")
        ->type_name("TEXT");
    command
        ->add_option("--bar", options->bars,
                     "fail when the mean error of a category is above this: --bar \"gemm bf16=10\"")
        ->type_name("CATEGORY=PERCENT")
        ->allow_extra_args(false);
    command
        ->add_option(
            "--data", options->data,
            "recordings of third parties (default: $HEDDLE_DATA, or ../shared/data beside the source tree)")
        ->type_name("DIR");
    command->add_option("--report", options->report, "write a report for a browser")->type_name("FILE.html");
    command
        ->add_option("--readme", options->readme,
                     "renew the accuracy table in this file; rows that were not compared stay")
        ->type_name("FILE.md");
    command
        ->add_option("--table", options->table,
                     "write the page of published latencies and bandwidths (docs/timing-accuracy.md)")
        ->type_name("FILE.md");
    command->add_option("-j,--jobs", options->workers, "workers (default: one for each core)")
        ->type_name("N");
    command->add_flag("--rows", options->rows, "print every row, not only the worst");
    command->add_flag("--json", options->json, "print JSON instead of the tables, with every row");
    command->add_flag(
        "--allow-simulator", options->allow_simulator,
        "accept a capture that was made by the simulator: a test of the tools, not of accuracy");
    add_limit_options(*command);
    command->footer(
        "numerics   bits of tensor-core operations and of GEMMs\n"
        "kernels    bits and times of the kernels of Heddle's library\n"
        "timing     micro-benchmarks, GEMMs: mean error, median, 90 %, correlation, worst ten\n"
        "losses     losses and gradients of training steps\n"
        "tpu        cycles and times of TPUs that others published\n"
        "all        everything above\n"
        "gpu        capture on this machine's GPU now, then compare everything\n"
        "Examples:\n"
        "  heddle validate all --report validation.html\n"
        "  heddle validate numerics --json\n"
        "  heddle validate gpu --capture my-capture --report validation.html\n"
        "  heddle validate timing --capture my-capture --bar \"gemm bf16=10\"\n"
        "Exit codes: 0 every bar holds (what is not yet recorded is listed), 1 a bar does not hold, or "
        "nothing was compared, 2 bad input.");
    add_validate_attention_command(*command);
    add_validate_collectives_command(*command);
    add_validate_cpu_command(*command);
    add_validate_gemm_command(*command);
    add_validate_training_command(*command);
    add_validate_trace_command(*command);
    command->callback([options, command] {
        if (command->get_subcommands().empty()) run_validate_command(*options);
    });
}

}  // namespace heddle::cli
