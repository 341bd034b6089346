// heddle reference hardware | clusters | statistics
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/cli/programs.h"
#include "sim/cluster/cluster.h"
#include "sim/hardware/load_hardware.h"
#include "sim/report/statistics.h"

namespace heddle::cli {
namespace reference_command {

using sim::ParameterDescription;

/// Bars part the columns of a table.
std::string cell(const std::string& text) {
    std::string escaped;
    for (const char c : text) escaped += c == '|' ? "\\|" : std::string(1, c);
    return escaped;
}

/// Keys under headings of their first word, each in the place of its first key.
std::string key_tables(const std::vector<ParameterDescription>& parameters) {
    std::vector<std::pair<std::string, std::string>> tables;
    for (const ParameterDescription& parameter : parameters) {
        const std::size_t dot = parameter.path.find('.');
        const std::string word = dot == std::string::npos ? "of the whole" : parameter.path.substr(0, dot);
        auto table =
            std::find_if(tables.begin(), tables.end(), [&](const auto& one) { return one.first == word; });
        if (table == tables.end()) table = tables.insert(table, {word, ""});
        table->second += fmt::format("| `{}` | {} | {} |\n", parameter.path, cell(parameter.range),
                                     cell(parameter.meaning));
    }
    std::string text;
    for (const auto& [word, rows] : tables)
        text += fmt::format("\n### {}\n\n| key | range | meaning |\n|---|---|---|\n{}", word, rows);
    return text;
}

std::string introduction(const std::string& title, const std::string& word, const std::string& describe) {
    return fmt::format(
        "# {}\n\nEvery key, as `heddle reference {}` prints it from the code. `{}` adds values and their "
        "sources; `--set "
        "KEY=VALUE` changes one for a run. Numbers may have any unit of their quantity: `1830 MHz`, `50 "
        "MiB`, `3.35 TB/s`, "
        "`29 cycles`, `64 B/cycle`, `85 %`.\n",
        title, word, describe);
}

std::string hardware_page() {
    std::string text = introduction("Keys of hardware files", "hardware", "heddle hardware describe NAME");
    for (const auto& [title, device] :
         {std::pair{"GPUs (`kind: gpu`)", "h100-sxm"}, {"TPUs (`kind: tpu`)", "tpu-v5e"}, {"CPUs (`kind: cpu`)", "epyc-9654"}})
        text += fmt::format("\n## {}\n{}", title,
                            key_tables(sim::describe_parameters(sim::load_hardware(device))));
    return text;
}

std::string clusters_page() {
    return introduction("Keys of cluster files", "clusters", "heddle cluster describe NAME") +
           key_tables(sim::describe_parameters(sim::load_cluster("dgx-h100")));
}

}  // namespace reference_command

void add_reference_command(CLI::App& app) {
    using namespace reference_command;
    CLI::App* reference =
        add_command(app, "reference");
    reference->require_subcommand(1);
    reference->footer("Example: heddle reference statistics");
    const auto add = [reference](const std::string& name, const std::string& meaning, std::string (*page)()) {
        CLI::App* one = reference->add_subcommand(name, meaning);
        one->footer("Example: heddle reference " + name);
        one->callback([page] { print(page()); });
    };
    add("hardware", "Keys of hardware files: range and meaning.", hardware_page);
    add("clusters", "Keys of cluster files: range and meaning.", clusters_page);
    add("statistics", "What the numbers in a run's files mean.", sim::statistics_page);
}

}  // namespace heddle::cli
