// heddle parallelism
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "isa/common/error.h"
#include "sim/cli/output.h"
#include "sim/cli/plan_options.h"
#include "sim/cli/progress.h"
#include "sim/cli/workload.h"
#include "sim/distributed/plan_search.h"

namespace heddle::cli {
namespace {

struct Options {
    std::string model, cluster;
    std::vector<std::string> model_options;
    std::uint32_t nodes = 1;
    std::int64_t batch = 0;
    double tokens = 0;
    std::size_t top = 10;
    bool json = false;
};

/// Sequences of a step times tokens of a sequence go into the tokens of a whole training.
double hours_of(const Options& options, const sim::DistributedResult& result, double sequence) {
    return options.tokens / (result.batch * sequence) * result.seconds / 3600;
}

void search(const Options& options) {
    sim::PlanQuestion question;
    question.model = options.model;
    for (const std::string& assignment : options.model_options)
        add_model_option(question.options, assignment);
    const sim::ClusterModel cluster = sim::cluster_for(options.cluster, options.nodes);
    const sim::Hardware hardware = sim::load_hardware(cluster.hardware);
    question.devices = cluster.devices();
    question.batch = options.batch;
    sim::ClosedForm times(hardware);
    std::vector<sim::PlanAnswer> answers;
    {
        Progress progress;
        question.progress = [&progress](double fraction, const std::string& what) {
            progress.update(fraction, what);
        };
        answers = sim::search_plans(question, cluster, hardware, times);
    }
    if (answers.empty())
        throw Error("no plan fits the devices' memory", {"--nodes", 0, ""},
                    "add nodes, or choose a batch with more divisors");
    const auto sequence_option = question.options.find("sequence");
    const double sequence =
        sequence_option != question.options.end() ? std::stod(sequence_option->second) : 1024;
    if (answers.size() > options.top) answers.resize(options.top);
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    std::string text = fmt::format("{} on {} devices of {}, batch {}, kernels in closed form\n\n",
                                   options.model, question.devices, cluster.name, options.batch);
    for (const sim::PlanAnswer& answer : answers) {
        const sim::DistributedResult& r = answer.result;
        double memory = 0;
        for (const sim::StageResult& stage : r.stages)
            memory = std::max(memory, stage.memory.total() + r.reserved);
        text += fmt::format("{:>10.4f} s  {:>5.1f} % of the peak  {:>5.1f} GiB  {}", r.seconds,
                            r.peak_flops > 0 ? 100 * r.model_flops / r.seconds / r.peak_flops : 0,
                            memory / (1 << 30), r.plan);
        json.push_back({{"plan", r.plan}, {"step_s", r.seconds}, {"memory_bytes", memory}});
        if (options.tokens > 0) {
            const double hours = hours_of(options, r, sequence);
            text += fmt::format("  {:.1f} days, {:.0f} USD", hours / 24, hours * r.price_per_hour);
            json.back()["training_hours"] = hours;
            json.back()["training_usd"] = hours * r.price_per_hour;
        }
        text += "\n";
    }
    print(options.json ? json.dump(2) + "\n" : text);
}

}  // namespace

void add_parallelism_command(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    CLI::App* command = app.add_subcommand(
        "parallelism", "Finds the best way to spread a model over the devices of a cluster.");
    command->add_option("MODEL", options->model, "a model (`heddle trace models` lists them)")->required();
    command->add_option("--cluster", options->cluster, "dgx-a100 or dgx-h100")->type_name("NAME")->required();
    command->add_option("--nodes", options->nodes, "of the cluster")->type_name("N")->capture_default_str();
    command->add_option("--batch", options->batch, "sequences of a step, all devices")
        ->type_name("N")
        ->check(CLI::PositiveNumber)
        ->required();
    command->add_option("--option", options->model_options, "of the model: --option sequence=2048")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    command->add_option("--tokens", options->tokens, "of a whole training: adds its days and price")
        ->type_name("N");
    command->add_option("--top", options->top, "plans to show")->type_name("N")->capture_default_str();
    command->add_flag("--json", options->json, "for scripts");
    command->callback([options] { search(*options); });
}

}  // namespace heddle::cli
