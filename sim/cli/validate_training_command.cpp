// heddle validate training
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "isa/common/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/compared.h"
#include "sim/cli/json_options.h"
#include "sim/cli/limits.h"
#include "sim/cli/output.h"
#include "sim/cli/progress.h"
#include "validation/compare/training_fit.h"
#include "validation/compare/training_table.h"

namespace heddle::cli {
namespace validate_training_command {

namespace fs = std::filesystem;

struct Options {
    std::string data, cluster, recompute, half;
    JsonOptions json;
    std::size_t sample = 0;
    std::uint64_t seed = 1;
    unsigned workers = 0;
    bool simulated = false, all = false, fit = false;
};

std::string line_of(const validation::FrameworkFigures& f, double error) {
    return fmt::format(
        "{:>8.4f} %  forward_op {:.1f} us, backward_op {:.1f} us, collective {:.1f} us, "
        "unaligned {:.3f}\n",
        100 * error, 1e6 * f.forward_op, 1e6 * f.backward_op, 1e6 * f.collective, f.unaligned);
}

void fit(const std::vector<validation::TrainingRow>& rows, const std::string& cluster) {
    validation::FrameworkFigures start;
    start.forward_op = start.backward_op = start.collective = 50e-6;
    start.unaligned = 0.5;
    validation::fit_framework(
        rows, cluster, start,
        [](const validation::FrameworkFigures& figures, double error) { print(line_of(figures, error)); });
}

void run_command(const Options& options) {
    std::vector<validation::TrainingRow> rows = validation::read_training_table(options.data);
    validation::TrainingTableOptions table;
    table.recompute = options.recompute;
    table.simulated = options.simulated;
    table.workers = options.workers;
    validation::decide_recomputation(rows, options.cluster, table);
    if (!options.half.empty()) rows = validation::half_of(rows, options.half == "second" ? 1 : 0);
    if (options.sample > 0) rows = validation::sample_of(std::move(rows), options.sample, options.seed);
    if (options.fit) return fit(rows, options.cluster);
    {
        Progress progress;
        table.progress = [&progress](double fraction, const std::string& what) {
            progress.update(fraction, what);
        };
        validation::time_training_table(rows, options.cluster, table);
    }
    const std::string heading =
        fmt::format("{} on {}, kernels {}", fs::path(options.data).filename().string(), options.cluster,
                    options.simulated ? "simulated, sampled" : "in closed form");
    show(validation::format_training_table(rows, heading, options.all), validation::training_table_json(rows),
         options.json);
    require_compared(validation::errors_of(rows).n, why_none_was_timed(rows, options.data));
}

}  // namespace validate_training_command

void add_validate_training_command(CLI::App& validate) {
    using namespace validate_training_command;
    const auto options = std::make_shared<Options>();
    CLI::App* command = validate.add_subcommand(
        "training", "Times of training steps on many GPUs that somebody recorded, beside the model's");
    command->add_option("--data", options->data, "a table of vTrain, of Megatron-LM or of MLPerf's logs")
        ->type_name("FILE.csv")
        ->required();
    command->add_option("--cluster", options->cluster, "what it ran on (dgx-a100, dgx-h100)")
        ->type_name("NAME")
        ->required();
    command
        ->add_option("--recompute", options->recompute,
                     "none, selective or full (default: what was published with the table; else full for "
                     "models that would not fit without)")
        ->type_name("WHAT");
    command->add_option("--sample", options->sample, "a random choice of so many rows (default: all)")
        ->type_name("N");
    command->add_option("--seed", options->seed, "of the choice (default: 1)")->type_name("S");
    command->add_option("--half", options->half, "only one half of the rows: first or second")
        ->check(CLI::IsMember({"first", "second"}));
    command->add_flag(
        "--fit", options->fit,
        "find the framework's figures with the least mean error over these rows; takes minutes");
    command->add_flag("--simulated", options->simulated, "simulate the kernels cycle by cycle");
    command->add_flag("--all", options->all, "show every row");
    command->add_option("-j,--jobs", options->workers, "workers (default: one for each core)")
        ->type_name("N");
    add_json_options(*command, options->json, "n, mape, median, p90, rows");
    add_limit_options(*command);
    command->footer("Example: heddle validate training --data megatron.csv --cluster dgx-a100 --all");
    command->callback([options] { run_command(*options); });
}

}  // namespace heddle::cli
