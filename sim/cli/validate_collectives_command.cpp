// heddle validate collectives
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "isa/common/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/compared.h"
#include "sim/cli/json_options.h"
#include "sim/cli/limits.h"
#include "validation/compare/collective_table.h"
#include "validation/run/validation.h"

namespace heddle::cli {
namespace validate_collectives_command {

namespace fs = std::filesystem;

struct Options {
    std::string data, cluster;
    JsonOptions json;
    std::vector<std::string> overrides;
    double bar = 10;
    bool all = false;
};

struct Table {
    fs::path data;
    std::string cluster;
};

/// The tables that are known, where they are.
std::vector<Table> tables_of(const Options& options) {
    if (!options.data.empty()) {
        if (options.cluster.empty())
            throw Error("--data needs --cluster", {"--cluster", 0, ""},
                        "name what it was recorded on: dgx-a100, dgx-h100, dgx-b200");
        return {{options.data, options.cluster}};
    }
    std::vector<Table> tables;
    const fs::path folder = validation::data_folder() / "collectives";
    for (const Table& table :
         {Table{folder / "nccl_a100_sxm.csv", "dgx-a100"}, Table{folder / "nccl_h100_sxm.csv", "dgx-h100"},
          Table{folder / "nccl_b200_sxm.csv", "dgx-b200"}})
        if (options.cluster.empty() || options.cluster == table.cluster) tables.push_back(table);
    if (tables.empty()) sim::load_cluster(options.cluster, options.overrides);  // a wrong name is told
    return tables;
}

void run_command(const Options& options) {
    std::string text, failure, missing;
    std::vector<validation::CollectiveRow> everything;
    for (const Table& table : tables_of(options)) {
        std::error_code ignored;
        if (!fs::is_regular_file(table.data, ignored) && options.data.empty()) {
            const std::string name = table.data.filename().string();
            text += fmt::format("not here: {}; skipped\n", name);
            missing += (missing.empty() ? "not here: " : ", ") + name;
            continue;
        }
        std::vector<validation::CollectiveRow> rows = validation::read_collective_table(table.data);
        sim::CollectiveTimer timer(sim::load_cluster(table.cluster, options.overrides));
        validation::time_collectives(rows, timer);
        const std::string heading =
            fmt::format("{} beside {}", table.data.filename().string(), table.cluster);
        text += (text.empty() ? "" : "\n") + validation::format_collective_table(rows, heading, options.all);
        const double median = 100 * validation::errors_of(rows).median;
        if (median > options.bar)
            failure = fmt::format("{}: median error {:.1f} %, the bar is {:.1f} %", table.cluster, median,
                                  options.bar);
        everything.insert(everything.end(), rows.begin(), rows.end());
    }
    show(text, validation::collective_table_json(everything), options.json);
    if (missing.empty()) missing = "no table is known that was recorded on " + options.cluster;
    require_compared(everything.size(), missing + "; --data names a table");
    if (!failure.empty()) throw ComparisonFailed{failure};
}

}  // namespace validate_collectives_command

void add_validate_collectives_command(CLI::App& validate) {
    using namespace validate_collectives_command;
    const auto options = std::make_shared<Options>();
    CLI::App* command = validate.add_subcommand(
        "collectives", "Times of NCCL's collectives that somebody recorded, beside the model's");
    command
        ->add_option("--data", options->data,
                     "a table with op_name, nccl_dtype, num_gpus, message_size, latency (default: those of "
                     "the data folder)")
        ->type_name("FILE.csv");
    command->add_option("--cluster", options->cluster, "what it was recorded on (dgx-a100, dgx-h100, dgx-b200)")
        ->type_name("NAME");
    add_set_option(*command, options->overrides, "change a parameter of the cluster");
    command->add_option("--bar", options->bar, "fail when the median error of a table is above this")
        ->type_name("PERCENT")
        ->capture_default_str();
    command->add_flag("--all", options->all, "show every row");
    add_json_options(*command, options->json, "n, median, p90, mape, rows");
    add_limit_options(*command);
    command->footer("Example: heddle validate collectives --cluster dgx-h100 --all");
    command->callback([options] { run_command(*options); });
}

}  // namespace heddle::cli
