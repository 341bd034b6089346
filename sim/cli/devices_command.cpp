// heddle devices: which device for this model?
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "isa/common/error.h"
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/cli/progress.h"
#include "sim/cli/terminal.h"
#include "sim/cli/workload.h"
#include "sim/hardware/load_hardware.h"
#include "sim/report/text_table.h"
#include "sim/run/assemble/memory_report.h"
#include "sim/run/simulate.h"
#include "sim/report/result_names.h"

namespace heddle::cli {
namespace devices_command {

struct Options {
    std::string workload;
    std::vector<std::string> hardware{"h100-sxm", "tpu-v5e", "epyc-9654", "xeon-8480plus"};
    std::vector<std::string> model_options;
    unsigned jobs = 0;
    bool ignore_memory = false, json = false;
};

struct Row {
    std::string name, kind, obstacle;  ///< obstacle: why there is no time
    double seconds = 0, cycle = 0;     ///< cycle: part of the time that was simulated
    std::optional<double> joules;
    double dollars_per_hour = 0;
    double dollars() const { return dollars_per_hour * seconds / 3600; }
};

Row row_of(const Workload& workload, const std::string& name, const Options& options, Progress& progress) {
    const sim::Hardware hardware = sim::load_hardware(name);
    Row row;
    row.name = hardware.name;
    row.kind = hardware.machine().noun();
    row.dollars_per_hour = hardware.machine().die.price_per_hour;
    sim::SimulateOptions run;
    run.jobs = options.jobs;
    run.ignore_memory = options.ignore_memory;
    run.progress = [&](double fraction, const std::string& what) { progress.update(fraction, hardware.name + ": " + what); };
    try {
        const sim::RunResult result = sim::simulate(workload.trace, workload.name, hardware, run);
        row.seconds = result.step_time_us * 1e-6;
        row.cycle = result.coverage.cycle;
        row.joules = hardware.machine().energy_of(result);
    } catch (const sim::DoesNotFit& answer) {
        row.obstacle = "does not fit: " + answer.memory.sentence();
    }
    return row;
}

std::string seconds_text(double seconds) {
    return seconds >= 1 ? fmt::format("{:.3g} s", seconds) : seconds >= 1e-3 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} us", seconds * 1e6);
}

std::string table_of(const std::vector<Row>& rows) {
    double best = 0, cheapest = 0;
    for (const Row& row : rows) {
        if (!row.obstacle.empty()) continue;
        best = best == 0 ? row.seconds : std::min(best, row.seconds);
        if (row.dollars() > 0) cheapest = cheapest == 0 ? row.dollars() : std::min(cheapest, row.dollars());
    }
    std::vector<std::vector<std::string>> cells{{"device", "kind", "step", "of the fastest", "energy", "$ per 1000 steps", "of the cheapest", "simulated"}};
    std::string obstacles;
    for (const Row& row : rows) {
        if (!row.obstacle.empty()) {
            cells.push_back({row.name, row.kind, "-", "-", "-", "-", "-", "-"});
            obstacles += row.name + ": " + row.obstacle + "\n";
            continue;
        }
        const bool priced = row.dollars() > 0;
        cells.push_back({row.name, row.kind, seconds_text(row.seconds), fmt::format("{:.2f} x", row.seconds / best), row.joules ? fmt::format("{:.3g} J", *row.joules) : "not modelled",
                         priced ? fmt::format("{:.3g}", 1000 * row.dollars()) : "-", priced ? fmt::format("{:.2f} x", row.dollars() / cheapest) : "-",
                         fmt::format("{:.0f} %", 100 * row.cycle)});
    }
    return sim::fit_columns(cells, {false, false, true, true, true, true, true, true}, table_width()) + obstacles;
}

void run(const Options& options) {
    std::map<std::string, std::string> chosen;
    for (const std::string& assignment : options.model_options) add_model_option(chosen, assignment);
    const Workload workload = open_workload(options.workload, chosen);
    std::vector<Row> rows;
    {
        Progress progress;
        for (const std::string& name : options.hardware) rows.push_back(row_of(workload, name, options, progress));
    }
    if (!options.json) return print(workload.name + ": one step on each device\n" + table_of(rows));
    nlohmann::json json;
    for (const Row& row : rows) {
        nlohmann::json one{{"device", row.name}, {"kind", row.kind}, {"price_per_hour", row.dollars_per_hour}};
        if (row.obstacle.empty()) {
            one.update({{"step_time_s", row.seconds}, {"usd", row.dollars()}, {"coverage_cycle", row.cycle}});
            one["energy_j"] = row.joules ? nlohmann::json(*row.joules) : nlohmann::json(nullptr);
        } else {
            one["obstacle"] = row.obstacle;
        }
        json.push_back(std::move(one));
    }
    print(sim::with_common_names(json.dump(), "simulate"));
}

}  // namespace devices_command

void add_devices_command(CLI::App& app) {
    using namespace devices_command;
    const auto options = std::make_shared<Options>();
    CLI::App* command = add_command(app, "devices");
    command->add_option("WORKLOAD", options->workload, "a model, a model's layers (.yaml), or a file with a step")->required();
    command->add_option("--hardware", options->hardware, "devices, separated by commas (default: h100-sxm,tpu-v5e,epyc-9654,xeon-8480plus)")->delimiter(',')->type_name("NAME,NAME,...");
    command->add_option("--option", options->model_options, "an option of the model: --option batch=1")->type_name("KEY=VALUE")->allow_extra_args(false);
    command->add_option("-j,--jobs", options->jobs, "cores to use; 0: all")->type_name("N");
    command->add_flag("--ignore-memory", options->ignore_memory, "simulate a step though a device has too little memory for it");
    command->add_flag("--json", options->json, "print JSON instead of the table");
    command->footer(
        "Each device compiles the step in its own way: no fusion on GPUs and CPUs, XLA's on TPUs. A CPU's price is that of the machine, a GPU's or TPU's that of one "
        "device.\nExamples:\n  heddle devices lstm --option batch=1\n  heddle devices resnet50 --hardware h100-sxm,tpu-v5e,epyc-9654");
    command->callback([options] { run(*options); });
}

}  // namespace heddle::cli
