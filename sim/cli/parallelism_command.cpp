// heddle parallelism, and what heddle explore --parallelism does
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "isa/common/error.h"
#include "sim/cli/bytes_option.h"
#include "sim/cli/commands.h"
#include "sim/cli/limits.h"
#include "sim/cli/output.h"
#include "sim/cli/parallelism.h"
#include "sim/cli/progress.h"
#include "sim/cli/terminal.h"
#include "sim/cli/workload.h"
#include "sim/cli/programs.h"
#include "sim/distributed/plan_search.h"
#include "sim/hardware/load_hardware.h"
#include "sim/report/numbers.h"
#include "sim/report/text_table.h"
#include "sim/report/result_names.h"
#include "workloads/zoo/registry.h"

namespace heddle::cli {
namespace parallelism_command {

using Json = nlohmann::ordered_json;

struct Found {
    std::uint32_t nodes = 1;
    sim::PlanAnswer answer;
    double memory = 0;  ///< bytes of the fullest device
};

/// Tokens of a sequence: as asked for, or the model's own.
double tokens_of_a_sequence(const ParallelismOptions& options) {
    const auto given = options.model_options.find("sequence");
    if (given != options.model_options.end()) return std::stod(given->second);
    for (const zoo::Model& model : zoo::models()) {
        if (model.name != options.model) continue;
        for (const zoo::OptionDescription& option : model.options)
            if (option.name == "sequence") return std::stod(option.default_value);
    }
    throw Error("`" + options.model + "` has no sequences, so tokens say nothing about its steps",
                {"--tokens", 0, ""}, "give --training-steps to `heddle explore` instead");
}

/// Steps of a whole training; 0: not asked for.
double steps_of(const ParallelismOptions& options) {
    if (options.steps > 0) return options.steps;
    if (options.tokens <= 0) return 0;
    return options.tokens / (static_cast<double>(options.batch) * tokens_of_a_sequence(options));
}

/// Of one size of the cluster on which no plan will do.
std::string why_none(const sim::PlanQuestion& question, const sim::PlanRefusals& refused) {
    if (refused.plans == 0)
        return fmt::format("a batch of {} cannot be divided over {} devices", question.batch,
                           question.devices);
    std::string text = fmt::format("of {} plans for {} devices ", refused.plans, question.devices);
    if (refused.too_large > 0)
        text += fmt::format("{} need more memory than a device has or may use", refused.too_large);
    if (refused.impossible > 0)
        text += fmt::format("{}{} are impossible (the first: {})", refused.too_large > 0 ? ", " : "",
                            refused.impossible, refused.why_impossible);
    return text;
}

/// Plans for every size. Throws heddle::Error when there is none.
std::vector<Found> search(const ParallelismOptions& options, const sim::Hardware& hardware,
                          sim::OpTimes& times) {
    std::vector<Found> found;
    std::string why;
    Progress progress;
    for (std::size_t i = 0; i < options.nodes.size(); ++i) {
        const sim::ClusterModel cluster = sim::cluster_for(options.cluster, options.nodes[i]);
        sim::PlanQuestion question;
        question.model = options.model;
        question.options = options.model_options;
        question.devices = cluster.devices();
        question.batch = options.batch;
        question.memory_limit = options.memory_limit;
        question.progress = [&](double fraction, const std::string& what) {
            progress.update((static_cast<double>(i) + fraction) / static_cast<double>(options.nodes.size()),
                            what);
        };
        sim::PlanRefusals refused;
        std::vector<sim::PlanAnswer> answers =
            sim::search_plans(question, cluster, hardware, times, &refused);
        if (answers.empty()) why += (why.empty() ? "" : "; ") + why_none(question, refused);
        for (sim::PlanAnswer& answer : answers) found.push_back({options.nodes[i], std::move(answer), 0});
    }
    if (found.empty())
        throw Error("no plan will do: " + why, {"--nodes", 0, ""},
                    "add nodes, or choose a batch with more divisors");
    for (Found& one : found)
        for (const sim::StageResult& stage : one.answer.result.stages)
            one.memory = std::max(one.memory, stage.memory.total() + one.answer.result.reserved);
    return found;
}

double price_of_a_step(const Found& found) {
    return found.answer.result.price_per_hour * found.answer.result.seconds / 3600;
}

std::string for_people(const ParallelismOptions& options, const sim::Hardware& hardware,
                       const std::vector<Found>& found, std::size_t all, double steps) {
    std::string text = fmt::format(
        "{} on {} of {}, batch {}, kernels {}: {} plans fit{}\n", options.model, hardware.name,
        options.cluster, options.batch, hardware.machine().has_closed_form() ? "in closed form" : "simulated", all,
        options.memory_limit > 0 ? fmt::format(" {} of each device", sim::format_binary(options.memory_limit))
                                 : "");
    if (!found.empty() && found.front().answer.result.peak_flops > 0)
        text += "of peak: of " + found.front().answer.result.peak + ", for each device\n";
    text += "\n";
    std::vector<std::vector<std::string>> rows{{"devices", "step", "of peak", "memory", "USD/step"}};
    if (steps > 0) rows[0].insert(rows[0].end(), {"days", "USD/training"});
    rows[0].push_back("plan");
    std::vector<bool> right(rows[0].size(), true);
    right.back() = false;
    for (const Found& one : found) {
        const sim::DistributedResult& r = one.answer.result;
        const bool priced = r.price_per_hour > 0;
        std::vector<std::string> row{
            fmt::format("{:.0f}", r.devices), sim::format_microseconds(r.seconds * 1e6),
            r.peak_flops > 0 ? sim::format_share(r.model_flops / r.seconds / r.peak_flops) : "-",
            sim::format_binary(one.memory), priced ? fmt::format("{:.4g}", price_of_a_step(one)) : "-"};
        if (steps > 0) {
            row.push_back(fmt::format("{:.3g}", steps * r.seconds / 86400));
            row.push_back(priced ? sim::format_count(
                                       static_cast<std::uint64_t>(std::round(steps * price_of_a_step(one))))
                                 : "-");
        }
        row.push_back(r.plan);
        rows.push_back(std::move(row));
    }
    return text + sim::fit_columns(std::move(rows), right, table_width());
}

Json for_scripts(const std::vector<Found>& found, double steps) {
    Json json = Json::array();
    for (const Found& one : found) {
        const sim::DistributedResult& r = one.answer.result;
        json.push_back({{"plan", r.plan},
                        {"nodes", one.nodes},
                        {"devices", r.devices},
                        {"step_s", r.seconds},
                        {"memory_bytes", one.memory}});
        if (r.peak_flops > 0) {
            json.back()["part_of_peak"] = r.model_flops / r.seconds / r.peak_flops;
            json.back()["peak"] = r.peak;
        }
        if (r.price_per_hour > 0) json.back()["step_usd"] = price_of_a_step(one);
        if (steps <= 0) continue;
        json.back()["training_hours"] = steps * r.seconds / 3600;
        if (r.price_per_hour > 0) json.back()["training_usd"] = steps * price_of_a_step(one);
    }
    return json;
}

}  // namespace parallelism_command

void add_parallelism_options(CLI::App& command, ParallelismOptions& options) {
    using namespace parallelism_command;
    const char* group = "Many devices";
    command
        .add_option("--cluster", options.cluster, "a cluster of GPUs, such as dgx-h100, or a cluster file")
        ->type_name("NAME")
        ->group(group);
    command
        .add_option("--nodes", options.nodes, "of the cluster; several with commas: each size is searched")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::PositiveNumber)
        ->type_name("N,N,...")
        ->group(group);
    command.add_option("--tokens", options.tokens, "of a whole training: adds its days and price")
        ->check(CLI::PositiveNumber)
        ->type_name("N")
        ->group(group);
    add_bytes_option(command, "--memory-limit", options.memory_limit,
                     "of a device that a plan may use: 70GB (default: what the device has)")
        ->group(group);
    command.add_option("--top", options.top, "plans to show")
        ->type_name("N")
        ->capture_default_str()
        ->group(group);
}

void search_parallelism(const ParallelismOptions& options) {
    using namespace parallelism_command;
    const sim::ClusterModel cluster = sim::cluster_for(options.cluster, options.nodes.front());
    const sim::Hardware hardware =
        sim::load_hardware(options.hardware.empty() ? cluster.hardware : options.hardware, options.overrides);
    const double steps = steps_of(options);
    if (options.by_price && !(cluster.price_per_hour > 0))
        throw Error("the cheapest plan needs a price, and " + options.cluster + " has none",
                    {"--minimise", 0, ""}, "leave it out");
    // The closed form knows GPUs alone; what a TPU does is simulated in no time.
    sim::ClosedForm closed(hardware);
    sim::Simulated simulated(hardware, {});
    sim::OpTimes& times = hardware.machine().has_closed_form() ? static_cast<sim::OpTimes&>(closed) : simulated;
    std::vector<Found> found = search(options, hardware, times);
    std::stable_sort(found.begin(), found.end(), [&](const Found& a, const Found& b) {
        return options.by_price ? price_of_a_step(a) < price_of_a_step(b)
                                : a.answer.result.seconds < b.answer.result.seconds;
    });
    const std::size_t all = found.size();
    if (found.size() > options.top) found.resize(options.top);
    print(options.json
              ? sim::with_common_names(
                    for_scripts(found, steps).dump(2, ' ', false, nlohmann::json::error_handler_t::replace), "parallelism")
              : for_people(options, hardware, found, all, steps));
}

void add_parallelism_command(CLI::App& app) {
    using namespace parallelism_command;
    struct Texts {
        ParallelismOptions search;
        std::vector<std::string> model_options;
    };
    const auto options = std::make_shared<Texts>();
    CLI::App* command = add_command(app, "parallelism");
    command->add_option("MODEL", options->search.model, "a model (`heddle trace models` lists them)")
        ->required();
    add_parallelism_options(*command, options->search);
    command->get_option("--cluster")->required();
    command->add_option("--batch", options->search.batch, "sequences of a step, all devices")
        ->type_name("N")
        ->check(CLI::PositiveNumber)
        ->required();
    command->add_option("--option", options->model_options, "of the model: --option sequence=2048")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    add_set_option(*command, options->search.overrides,
                   "change a parameter of the device: --set hbm.size=40GiB");
    command->add_flag("--json", options->search.json, "print JSON instead of a table");
    add_limit_options(*command);
    command->footer(
        "The same as heddle explore MODEL --parallelism.\n"
        "Example: heddle parallelism gpt3-175b --cluster dgx-a100 --nodes 128 --batch 1536 --tokens 300e9");
    command->callback([options] {
        for (const std::string& assignment : options->model_options)
            add_model_option(options->search.model_options, assignment);
        search_parallelism(options->search);
    });
}

}  // namespace heddle::cli
