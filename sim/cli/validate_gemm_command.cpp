// heddle validate gemm
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
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
#include "validation/compare/gemm_table.h"

namespace heddle::cli {
namespace validate_gemm_command {

namespace fs = std::filesystem;

struct Options {
    std::string data, hardware, type, half;
    std::vector<std::string> columns;
    JsonOptions json;
    std::vector<std::string> overrides;
    std::size_t sample = 0;
    std::uint64_t seed = 1;
    unsigned workers = 0, autotune = 1;
    double weight_copies = 5;
    bool closed_form = false, full = false, without_quantising = false;
    sim::Programs programs = sim::Programs::refused;
};

std::vector<validation::GemmRow> chosen_rows(const Options& options) {
    std::vector<validation::GemmRow> rows = validation::read_gemm_table(options.data, options.columns);
    if (!options.half.empty()) rows = validation::half_of(rows, options.half == "second" ? 1 : 0);
    if (options.sample > 0) rows = validation::sample_of(std::move(rows), options.sample, options.seed);
    return rows;
}

/// By the name of the table, where it tells: h100_sxm_fp8.csv. Throws heddle::Error for a table of products with
/// scales for blocks, whose kernels are others.
std::string type_of(const Options& options) {
    if (!options.type.empty()) return options.type;
    const std::string name = fs::path(options.data).filename().string();
    if (name.find("fp8_block") != std::string::npos)
        throw Error("products of 8-bit floats with a scale for each block of 128 are not modelled", {"--data", 0, ""},
                    "--type fp8 compares them with products that have one scale");
    for (const char* type : {"nvfp4", "mxfp8", "fp8", "e5m2", "tf32", "f16", "i8"})
        if (name.find(type) != std::string::npos && name.find("bf16") == std::string::npos) return type;
    return "bf16";
}

void run_command(const Options& options) {
    const sim::Hardware hardware = sim::load_hardware(options.hardware, options.overrides, options.programs);
    sim::gpu_config(hardware);  // or says that it is none
    std::vector<validation::GemmRow> rows = chosen_rows(options);
    require_compared(rows.size(), why_none_was_timed(rows, options.data));
    validation::GemmTableOptions table;
    table.type = sim::gemm_type_from_name(type_of(options));
    const bool fp8 = table.type == trace::ElementType::e4m3 || table.type == trace::ElementType::e5m2;
    table.quantise = fp8 && !options.without_quantising;
    table.surroundings = {options.weight_copies, true};
    table.workers = options.workers;
    table.autotune = options.autotune;
    table.simulate = !options.closed_form;
    table.sample = !options.full;
    {
        Progress progress;
        table.progress = [&progress](double fraction, const std::string& what) {
            progress.update(fraction, what);
        };
        validation::time_gemm_table(rows, hardware, table);
    }
    const std::string heading = fmt::format(
        "{}{} of {}, {} {}, {} shapes{}, on {}: {}", type_of(options),
        table.quantise ? " with the quantisation of A" : "", fs::path(options.data).filename().string(),
        options.columns.size() > 1 ? "median of columns" : "column", fmt::join(options.columns, ", "),
        rows.size(), options.sample > 0 ? fmt::format(" (random, seed {})", options.seed) : std::string(),
        hardware.name, table.simulate ? "simulated" : "closed form");
    const std::vector<std::string> others = validation::other_gemm_columns(options.data, options.columns);
    show(validation::format_gemm_table(rows, heading, table.simulate, others),
         validation::gemm_table_json(rows, table.simulate, others), options.json);
    const auto timed = std::count_if(rows.begin(), rows.end(), [&](const validation::GemmRow& row) {
        return !table.simulate || row.simulated.has_value();
    });
    require_compared(static_cast<std::size_t>(timed), why_none_was_timed(rows, options.data));
}

}  // namespace validate_gemm_command

void add_validate_gemm_command(CLI::App& validate) {
    using namespace validate_gemm_command;
    const auto options = std::make_shared<Options>();
    CLI::App* command = validate.add_subcommand(
        "gemm", "Times of matrix products that somebody recorded, beside the model's");
    command
        ->add_option("--data", options->data, "a table with the columns m, n, k and figures in microseconds")
        ->type_name("FILE.csv")
        ->required();
    command
        ->add_option("--column", options->columns,
                     "the column of figures; of several (--column A,B,C) the median counts, and how far "
                     "single ones lie from it is the spread")
        ->type_name("NAME")
        ->delimiter(',')
        ->required();
    command->add_option("--hardware", options->hardware, "the device to simulate")
        ->type_name("NAME|FILE")
        ->required();
    command
        ->add_option(
            "--type", options->type,
            "of the operands: bf16, f16, tf32, fp8, e5m2, i8, f32 or f64 (default: what the file's name "
            "says, else bf16)")
        ->type_name("TYPE");
    command->add_flag(
        "--no-quantise", options->without_quantising,
        "8-bit floats: the product alone, where the recorded time is not that of a linear layer "
        "that quantises its activations first");
    add_set_option(*command, options->overrides,
                   "change a parameter of the device: --set hbm.bandwidth=3.0TB/s");
    add_programs_option(*command, options->programs);
    command->add_option("--sample", options->sample, "a random choice of so many rows (default: all)")
        ->type_name("N");
    command->add_option("--seed", options->seed, "of the choice (default: 1)")->type_name("S");
    command->add_option("--half", options->half, "only one half of all (n, k): first or second")
        ->check(CLI::IsMember({"first", "second"}));
    command->add_option("--autotune", options->autotune, "simulate the best N candidates of each shape")
        ->type_name("N");
    command
        ->add_option("--weight-copies", options->weight_copies,
                     "copies among which the weights alternate (default: 5); 0: always from memory")
        ->type_name("N");
    command->add_flag("--closed-form", options->closed_form, "only the estimates, without simulation");
    command->add_flag("--full", options->full, "simulate every cycle of every kernel");
    command->add_option("-j,--jobs", options->workers, "workers (default: one for each core)")
        ->type_name("N");
    add_json_options(*command, options->json,
                     "n, unfinished, mape, median, p90, bias, r, roofline_mape, closed_form_mape, "
                     "closed_form_bias, spread, classes, classes_of_m, worst, rows");
    add_limit_options(*command);
    command->footer(
        "Examples:\n"
        "  heddle validate gemm --data h100_sxm_bf16.csv --column trtllm_us --hardware h100-sxm --sample 20\n"
        "  heddle validate gemm --data h100_sxm_bf16.csv --column trtllm_us --hardware h100-sxm "
        "--closed-form "
        "--json\n"
        "A table's other columns of microseconds (..._us) are shown beside it, and watts where it has them (watts).");
    command->callback([options] { run_command(*options); });
}

}  // namespace heddle::cli
