// heddle learn: a small model on several devices, with real values.
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "isa/common/error.h"
#include "isa/common/result_folder.h"
#include "sim/cli/bytes_option.h"
#include "sim/cli/commands.h"
#include "sim/cli/limits.h"
#include "sim/cli/output.h"
#include "sim/cli/progress.h"
#include "sim/cli/terminal.h"
#include "sim/cli/workload.h"
#include "sim/cli/programs.h"
#include "sim/hardware/load_hardware.h"
#include "sim/learning/learning_report.h"
#include "sim/report/result_names.h"

namespace heddle::cli {
namespace learn_command {

const std::vector<std::string> kWays{"all-reduce", "parameter-server", "asynchronous", "local-sgd"};

struct Options {
    std::string model, batch, sequence, widths, cluster = "dgx-h100", hardware, algorithm, out;
    std::vector<std::string> model_options, ways;
    sim::LearningOptions learning;
    bool json = false;
};

void learn(const Options& options) {
    sim::LearningOptions learning = options.learning;
    for (const std::string& way : options.ways.empty() ? kWays : options.ways)
        learning.ways.push_back(parallel::data_parallel_from_name(way));
    if (!options.algorithm.empty()) learning.algorithm = sim::collective_algorithm(options.algorithm);
    std::map<std::string, std::string> model_options;
    if (!options.batch.empty()) add_model_option(model_options, "batch=" + options.batch);
    if (!options.sequence.empty()) add_model_option(model_options, "sequence=" + options.sequence);
    if (!options.widths.empty()) add_model_option(model_options, "widths=" + options.widths);
    for (const std::string& assignment : options.model_options) add_model_option(model_options, assignment);
    const sim::Cluster cluster = sim::load_cluster(options.cluster);
    const sim::Hardware hardware =
        sim::load_hardware(options.hardware.empty() ? cluster.device : options.hardware);
    const Workload workload = open_workload(options.model, model_options);
    std::optional<ResultFolder> folder;
    if (!options.out.empty()) {
        folder.emplace(options.out, "learning", "--out");
        folder->check({"learning.json", "learning.csv", "report.html"});
    }
    sim::LearningResult result;
    {
        Progress progress;
        learning.progress = [&progress](double fraction, const std::string& what) {
            progress.update(fraction, what);
        };
        result = sim::learn(workload.trace, workload.name, hardware, cluster, learning);
    }
    if (folder) {
        folder->stage("learning.json", sim::learning_json(result));
        folder->stage("learning.csv", sim::learning_csv(result));
        folder->stage("report.html", sim::learning_page(result));
        folder->commit();
    }
    if (options.json) return print(sim::with_common_names(sim::learning_json(result), "learn"));
    print(sim::format_learning(result, table_width()) +
          (options.out.empty()
               ? ""
               : "\nwritten to " + options.out + ": open report.html; learning.csv, learning.json\n"));
}

}  // namespace learn_command

void add_learn_command(CLI::App& app) {
    using namespace learn_command;
    const auto options = std::make_shared<Options>();
    CLI::App* command = add_command(app, "learn");
    sim::LearningOptions& l = options->learning;
    command->add_option("MODEL", options->model, "a model, or a model file, as of `heddle simulate`")
        ->required();
    command
        ->add_option("--data", l.data,
                     "what it learns: spirals, or a text file for a model that reads tokens")
        ->required()
        ->type_name("spirals|FILE");
    command->add_option("--workers", l.workers, "devices that see different parts of every batch")
        ->capture_default_str()
        ->type_name("N");
    command->add_option("--rounds", l.rounds, "batches; each worker learns from its part of every one")
        ->capture_default_str()
        ->type_name("N");
    command
        ->add_option("--way", options->ways,
                     "all-reduce, parameter-server, asynchronous or local-sgd; several times for several "
                     "(default: all)")
        ->check(CLI::IsMember(kWays))
        ->type_name("NAME")
        ->allow_extra_args(false);
    command->add_option("--local-rounds", l.local_rounds, "local SGD: rounds between two averages of weights")
        ->capture_default_str()
        ->type_name("N");
    command->add_option("--straggler", l.straggler, "the last worker's passes take so many times as long")
        ->capture_default_str()
        ->type_name("FACTOR");
    command
        ->add_option("--algorithm", options->algorithm, "of the all-reduce (default: as the library chooses)")
        ->type_name("NAME");
    add_bytes_option(*command, "--bucket", l.bucket_bytes,
                     "gradients that are sent together (default: 25MiB)");
    command->add_option("--cluster", options->cluster, "a cluster's name, or a cluster file")
        ->capture_default_str();
    command->add_option("--hardware", options->hardware, "the devices (default: the cluster's)");
    command->add_option("--batch", options->batch, "rows of one worker's part")->type_name("N");
    command->add_option("--sequence", options->sequence, "tokens of each sequence")->type_name("N");
    command->add_option("--widths", options->widths, "of an MLP's layers")->type_name("N,N,...");
    command
        ->add_option("--option", options->model_options,
                     "any other option of the model: --option optimizer=adam")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    command->add_flag("--no-cache{false}", l.cache, "keep no kernel's result on disk, and look for none");
    command
        ->add_option("-j,--jobs", l.jobs, "trainings at once, a process each; 0: as many as there are cores")
        ->type_name("N");
    command->add_option("--out", options->out, "folder for report.html, learning.csv and learning.json")
        ->type_name("DIR");
    command->add_flag("--json", options->json, "print JSON instead of a table");
    add_limit_options(*command);
    command->footer(
        "Each training begins with the same weights and sees the same batches. \"one device\" adds up the "
        "gradients of\n"
        "the parts one after the other; \"double precision\" is the same in the reference.\n"
        "Examples:\n"
        "  heddle learn mlp --widths 2,64,64,2 --batch 64 --data spirals --workers 4 --rounds 200\n"
        "  heddle learn mlp --widths 2,64,64,2 --batch 64 --data spirals --straggler 3 --out out/learning");
    command->callback([options] { learn(*options); });
}

}  // namespace heddle::cli
