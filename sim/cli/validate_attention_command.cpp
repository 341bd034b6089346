// heddle validate attention
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "isa/common/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/compared.h"
#include "sim/cli/json_options.h"
#include "sim/cli/limits.h"
#include "sim/cli/progress.h"
#include "sim/gpu/gpu_machine.h"
#include "sim/hardware/load_hardware.h"
#include "validation/compare/attention_table.h"

namespace heddle::cli {
namespace validate_attention_command {

struct Options {
    std::string data, hardware = "h100-sxm";
    JsonOptions json;
    std::vector<std::string> overrides;
    std::size_t sample = 0;
    std::uint64_t seed = 1;
    unsigned workers = 0;
    double bar = 0;
    sim::Programs programs = sim::Programs::refused;
};

void run_command(const Options& options) {
    const sim::Hardware hardware = sim::load_hardware(options.hardware, options.overrides, options.programs);
    sim::gpu_config(hardware);  // or says that it is none
    std::vector<validation::AttentionRow> rows = validation::read_attention_table(options.data);
    if (options.sample > 0) rows = validation::sample_of(std::move(rows), options.sample, options.seed);
    {
        Progress progress;
        validation::AttentionTableOptions table;
        table.workers = options.workers;
        table.progress = [&progress](double fraction, const std::string& what) {
            progress.update(fraction, what);
        };
        validation::time_attention_table(rows, hardware, table);
    }
    const std::string heading = fmt::format(
        "attention forward, {}, {} rows{}, on {}", std::filesystem::path(options.data).filename().string(),
        rows.size(), options.sample > 0 ? fmt::format(" (random, seed {})", options.seed) : std::string(),
        hardware.name);
    show(validation::format_attention_table(rows, heading), validation::attention_table_json(rows),
         options.json);
    const std::vector<validation::AttentionErrors> errors = validation::errors_of(rows);
    require_compared(errors.size(), why_none_was_timed(rows, options.data));
    const double mape = 100 * errors.back().mape;
    if (options.bar > 0 && !(mape <= options.bar))
        throw ComparisonFailed{fmt::format("mean error {:.1f} %, the bar is {:.1f} %", mape, options.bar)};
}

}  // namespace validate_attention_command

void add_validate_attention_command(CLI::App& validate) {
    using namespace validate_attention_command;
    const auto options = std::make_shared<Options>();
    CLI::App* command = validate.add_subcommand(
        "attention", "Times of causal attention that somebody recorded, beside the model's");
    command
        ->add_option("--data", options->data,
                     "a table with the columns batch, sequence, heads, kv_heads, head_dim, latency_us")
        ->type_name("FILE.csv")
        ->required();
    command->add_option("--hardware", options->hardware, "the device to simulate (default: h100-sxm)")
        ->type_name("NAME|FILE");
    add_set_option(*command, options->overrides,
                   "change a parameter of the device: --set hbm.bandwidth=3.0TB/s");
    add_programs_option(*command, options->programs);
    command->add_option("--sample", options->sample, "a random choice of so many rows (default: all)")
        ->type_name("N");
    command->add_option("--seed", options->seed, "of the choice (default: 1)")->type_name("S");
    command->add_option("--bar", options->bar, "fail when the mean error is above this")
        ->type_name("PERCENT");
    command->add_option("-j,--jobs", options->workers, "workers (default: one for each core)")
        ->type_name("N");
    add_json_options(*command, options->json, "every row, series and the worst");
    add_limit_options(*command);
    command->footer(
        "Example: heddle validate attention --data h100_sxm_causal_forward_bf16.csv --sample 20 --bar 15");
    command->callback([options] { run_command(*options); });
}

}  // namespace heddle::cli
