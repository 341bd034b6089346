// heddle compare
#include <memory>

#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/cli/terminal.h"
#include "sim/cli/programs.h"
#include "sim/report/run_comparison.h"
#include "sim/report/result_names.h"

namespace heddle::cli {

void add_compare_command(CLI::App& app) {
    struct Options {
        std::string first, second;
        std::size_t rows = 20;
        bool json = false;
    };
    const auto options = std::make_shared<Options>();
    CLI::App* command = add_command(app, "compare");
    command->add_option("FIRST", options->first, "a folder that `heddle simulate` wrote")->required();
    command->add_option("SECOND", options->second, "another one")->required();
    command->add_option("--rows", options->rows, "ops to show, those that differ most first")
        ->type_name("N")
        ->capture_default_str();
    command->add_flag("--json", options->json, "print JSON, with every op");
    command->footer(
        "The difference of the kernels' times is divided exactly: into the clock, the choice of kernels, "
        "what the same "
        "kernels waited for, ops that one run alone has, and coverage.\n"
        "Examples:\n"
        "  heddle simulate mlp --hardware h100-sxm --out before\n"
        "  heddle simulate mlp --hardware h100-sxm --set l2.size=25MiB --out after\n"
        "  heddle compare before after");
    command->callback([options] {
        const sim::RunComparison comparison =
            sim::compare_runs(sim::read_run(options->first), sim::read_run(options->second));
        print(options->json ? sim::with_common_names(sim::run_comparison_json(comparison), "compare")
                            : sim::format_run_comparison(comparison, options->rows, table_width()));
    });
}

}  // namespace heddle::cli
