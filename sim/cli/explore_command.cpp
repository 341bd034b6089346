// heddle explore, heddle explore show | export

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "driver/server/recording.h"
#include "isa/common/error.h"
#include "isa/common/result_folder.h"
#include "sim/cli/commands.h"
#include "sim/cli/limits.h"
#include "sim/cli/output.h"
#include "sim/cli/parallelism.h"
#include "sim/cli/progress.h"
#include "sim/cli/terminal.h"
#include "sim/cli/workload.h"
#include "sim/cli/programs.h"
#include "sim/explore/explore.h"
#include "sim/explore/export.h"
#include "sim/explore/mpi_workers.h"
#include "sim/hardware/load_hardware.h"
#include "sim/report/exploration_page.h"
#include "sim/report/exploration_text.h"
#include "sim/run/time/kernel_cache.h"
#include "sim/run/workers/worker_pool.h"
#include "sim/report/result_names.h"

namespace heddle::cli {

/// The exploration as JSON, with the names that all results have. Nothing in it differs between two runs, unless `times` asks for it.
static std::string explored_json(const explore::Exploration& exploration, bool times = false) {
    nlohmann::ordered_json json = nlohmann::ordered_json::parse(explore::exploration_json(exploration, times));
    sim::add_common_names(json, "explore");
    return json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}
namespace explore_command {

namespace fs = std::filesystem;

constexpr const char* kFile = "exploration.sqlite";

struct Options {
    std::vector<std::string> workloads;
    std::string hardware, minimise, maximise, out, fidelity = "sampled", format = "csv", folder;
    std::vector<std::string> overrides, vary, links, constraints, model_options;
    std::string batch, sequence;
    explore::ExploreOptions explore;
    explore::SimulationOptions simulation;
    unsigned jobs = 0;
    ParallelismOptions plans;
    bool parallelism = false, resume = false, retry_failed = false, json = false, times = false;
    sim::Programs programs = sim::Programs::refused;
};

/// "gpt2-small:batch=4,sequence=512@2": a workload, its own options, its weight.
struct WorkloadText {
    std::string name;
    std::map<std::string, std::string> options;
    double weight = 1;
};

WorkloadText parse_workload(const std::string& text, const Options& options) {
    WorkloadText parsed;
    parsed.name = text;
    if (const std::size_t at = text.rfind('@'); at != std::string::npos) {
        char* end = nullptr;
        parsed.weight = std::strtod(text.c_str() + at + 1, &end);
        if (end == text.c_str() + at + 1 || *end != 0 || !(parsed.weight > 0) || parsed.weight > 1e12)
            throw Error("`" + text.substr(at + 1) + "` is no weight", {"WORKLOAD", 0, text},
                        "write a number above 0: mlp@2");
        parsed.name = text.substr(0, at);
    }
    if (const std::size_t colon = parsed.name.find(':'); colon != std::string::npos) {
        const std::string list = parsed.name.substr(colon + 1);
        parsed.name.resize(colon);
        for (std::size_t begin = 0; begin <= list.size();) {
            const std::size_t end = std::min(list.find(',', begin), list.size());
            add_model_option(parsed.options, list.substr(begin, end - begin));
            begin = end + 1;
        }
    }
    // Options for all workloads stand behind those of one.
    const auto common = [&](const std::string& key, const std::string& value) {
        if (!value.empty()) parsed.options.emplace(key, value);
    };
    common("batch", options.batch);
    common("sequence", options.sequence);
    for (const std::string& assignment : options.model_options) {
        std::map<std::string, std::string> one;
        add_model_option(one, assignment);
        common(one.begin()->first, one.begin()->second);
    }
    return parsed;
}

std::vector<explore::ExploredWorkload> open_workloads(const Options& options) {
    std::vector<explore::ExploredWorkload> workloads;
    for (const std::string& text : options.workloads) {
        const WorkloadText parsed = parse_workload(text, options);
        if (parsed.name.ends_with(".hrun")) {
            if (!parsed.options.empty())
                throw Error("a recording of a CUDA program has no options", {text, 0, ""}, "leave them out");
            const auto recording = std::make_shared<const driver::Recording>(parsed.name);
            workloads.push_back({workload_name_of_file(parsed.name), parsed.weight, {}, [recording](const sim::Hardware& hardware) {
                                     std::vector<sim::RunResult> results = recording->play(hardware);
                                     if (results.empty()) throw Error("the recorded program used no device");
                                     if (results.size() > 1)
                                         results[0].notes.push_back("the figures are those of the first of several devices or processes");
                                     return std::move(results[0]);
                                 }});
            continue;
        }
        Workload workload = open_workload(parsed.name, parsed.options);
        workloads.push_back({workload.name, parsed.weight, std::move(workload.trace)});
    }
    return workloads;
}

/// What tells two workloads of one name apart.
std::string details_of(const Options& options, const std::vector<explore::ExploredWorkload>& workloads) {
    std::string text = "fusion " + std::to_string(static_cast<int>(options.simulation.fusion));
    if (options.simulation.graph) text += " graph";
    for (const explore::ExploredWorkload& workload : workloads) {
        if (workload.play) {
            text += " " + workload.name + ": a recorded program";
            continue;
        }
        double flops = 0;
        for (const trace::Op& op : workload.trace.ops)
            flops += trace::floating_point_operations(workload.trace, op);
        text += " " + workload.name + ":" + std::to_string(workload.trace.ops.size()) + " ops " +
                nlohmann::json(flops).dump() + " FLOP";
    }
    for (const std::string& assignment : options.model_options) text += " " + assignment;
    return text + (options.batch.empty() ? "" : " batch=" + options.batch) +
           (options.sequence.empty() ? "" : " sequence=" + options.sequence);
}

std::string file_of(const std::string& folder) {
    std::error_code ignored;
    return fs::is_regular_file(folder, ignored) ? folder : (fs::path(folder) / kFile).string();
}

std::string default_folder(const Options& options, const explore::Space& space) {
    std::string name = "heddle-explore";
    for (const std::string& text : options.workloads)
        name += "-" + workload_name_of_file(parse_workload(text, options).name);
    return name + "-" + space.base().name;
}

/// What a run of an exploration leaves beside its database.
std::map<std::string, std::string> exports_of(const explore::Exploration& exploration) {
    return {{"points.csv", explore::points_csv(exploration)},
            {"statistics.csv", explore::statistics_csv(exploration)},
            {"exploration.json", explored_json(exploration)},
            {"report.html", sim::exploration_html(exploration)}};
}

/// A program of the base device that is allowed is one that the command line names: so every design has it, in every worker.
void name_allowed_programs(Options& options) {
    if (options.programs == sim::Programs::refused) return;
    const sim::Hardware base = sim::load_hardware(options.hardware, options.overrides, options.programs);
    for (const auto& [key, library] : base.machine().libraries())
        if (!library.empty()) options.overrides.push_back(key + "=" + library);
}

void run_exploration(Options options) {
    name_allowed_programs(options);
    const explore::Space space(options.hardware, options.overrides, options.vary, options.links,
                               options.constraints);
    const std::vector<explore::Objective> objectives = explore::choose_objectives(
        options.minimise.empty() && options.maximise.empty() ? "time,area" : options.minimise,
        options.maximise, space.base());
    for (const explore::Objective& objective : objectives)
        if (objective.name == "training-cost" && !(options.explore.training_steps > 0))
            throw Error("the cost of a training needs its length", {"--training-steps", 0, ""},
                        "add --training-steps 100000");
    options.explore.fidelity = options.fidelity == "full"    ? explore::FidelityPlan::full
                               : options.fidelity == "front" ? explore::FidelityPlan::front
                                                             : explore::FidelityPlan::sampled;
    (void)explore::make_strategy(options.explore.strategy, space, objectives.size());
    space.check_feasible();
    if (options.out.empty()) options.out = default_folder(options, space);

    const auto make_function = [&options]() -> explore::TaskFunction {
        std::shared_ptr<explore::Evaluator> simulator = explore::make_simulator(
            options.hardware, options.overrides, open_workloads(options), options.simulation);
        return [simulator](const std::string& task) { return explore::answer_text(*simulator, task); };
    };
    // What every rank would find wrong is found before there are ranks.
    const std::vector<explore::ExploredWorkload> workloads = open_workloads(options);
    std::unique_ptr<explore::MpiSession> session;
    if (explore::launched_by_mpi()) {
        session = std::make_unique<explore::MpiSession>(options.jobs == 0 ? 1 : options.jobs, make_function);
        if (session->rank() != 0) {
            const ProgressHeld silent;  // rank 0 tells
            session->serve();
            return;
        }
    }
    ResultFolder folder(options.out, "exploration", "--out");
    folder.check({"points.csv", "statistics.csv", "exploration.json", "report.html"});
    folder.claim({kFile});
    explore::Store store =
        explore::Store::open(file_of(options.out),
                             explore::specification_of(space, objectives, options.explore, options.workloads,
                                                       details_of(options, workloads)),
                             HEDDLE_VERSION, sim::hash_file("/proc/self/exe"), options.resume);
    if (options.retry_failed) store.forget_failed();
    std::unique_ptr<explore::LocalWorkers> local;
    if (!session)
        local = std::make_unique<explore::LocalWorkers>(
            options.jobs == 0 ? sim::available_cores() : options.jobs, make_function());
    {
        Progress line;
        options.explore.progress = [&line](const explore::Progress& progress) {
            line.update(progress.done, progress.total, "designs", progress.best, progress.kept);
        };
        try {
            explore::explore(space, objectives, options.explore, store,
                             session ? session->workers() : *local);
        } catch (const sim::Interrupted& interrupted) {
            throw ExplorationInterrupted{interrupted.signal, interrupted.finished};
        }
    }
    const explore::Exploration exploration = explore::read_exploration(store);
    for (const auto& [name, text] : exports_of(exploration)) folder.stage(name, text);
    folder.commit();
    print(options.json
              ? explored_json(exploration)
              : sim::format_exploration(exploration, table_width()) + "written to " + options.out +
                    ": open report.html; exploration.sqlite, points.csv, statistics.csv, exploration.json\n");
}

/// --parallelism: the space is that of plans, not of devices.
void explore_plans(const Options& options) {
    if (options.workloads.size() != 1)
        throw Error("plans are searched for one model", {"--parallelism", 0, ""},
                    "write heddle explore gpt3-175b --parallelism --cluster dgx-a100 ...");
    if (options.plans.cluster.empty())
        throw Error("no cluster is named", {"--cluster", 0, ""}, "write --cluster dgx-h100 --nodes 16");
    for (const auto* list : {&options.vary, &options.links, &options.constraints})
        if (!list->empty())
            throw Error("plans are searched for one device", {"--parallelism", 0, list->front()},
                        "change the device with --set, and what a plan may use with --memory-limit");
    ParallelismOptions plans = options.plans;
    const WorkloadText model = parse_workload(options.workloads.front(), options);
    plans.model = model.name;
    plans.model_options = model.options;
    // The batch is that of all devices; a plan says what each one has of it.
    const auto batch = plans.model_options.find("batch");
    if (batch == plans.model_options.end())
        throw Error("no batch is given", {"--batch", 0, ""},
                    "write --batch 1536: sequences of a step, all devices");
    char* end = nullptr;
    plans.batch = std::strtoll(batch->second.c_str(), &end, 10);
    if (*end != 0 || plans.batch < 1)
        throw Error("`" + batch->second + "` is no batch", {"--batch", 0, ""}, "write a number above 0");
    plans.model_options.erase(batch);
    plans.hardware = options.hardware;
    plans.overrides = options.overrides;
    plans.steps = options.explore.training_steps;
    plans.json = options.json;
    if (!options.maximise.empty() || (!options.minimise.empty() && options.minimise != "time" &&
                                      options.minimise != "cost" && options.minimise != "training-cost"))
        throw Error("plans are sorted by time or by cost", {"--minimise", 0, ""},
                    "write --minimise time, or cost");
    plans.by_price = !options.minimise.empty() && options.minimise != "time";
    search_parallelism(plans);
}

void show(const Options& options) {
    const explore::Exploration exploration =
        explore::read_exploration(explore::Store::open_to_read(file_of(options.folder)));
    print(sim::format_exploration(exploration, table_width()));
}

void export_points(const Options& options) {
    const explore::Exploration exploration =
        explore::read_exploration(explore::Store::open_to_read(file_of(options.folder)));
    const std::string text =
        options.format == "json"         ? explored_json(exploration, options.times)
        : options.format == "statistics" ? explore::statistics_csv(exploration)
                                         : explore::points_csv(exploration, options.times);
    if (options.out.empty()) {
        print(text);
    } else {
        write_file(options.out, text);
    }
}

void add_space_options(CLI::App& command, Options& options) {
    command.add_option("--hardware", options.hardware, "the base device's name, or a hardware file")
        ->type_name("NAME|FILE");
    add_set_option(command, options.overrides, "change a parameter of the base device: --set clock=1600MHz");
    add_programs_option(command, options.programs);
    command
        .add_option(
            "--vary", options.vary,
            "a parameter and its values: LOW..HIGH:STEP, LOW..HIGH:*FACTOR, LOW..HIGH, or a list with commas")
        ->type_name("KEY=RANGE")
        ->allow_extra_args(false);
    command
        .add_option("--link", options.links,
                    "a parameter that follows from others: 'hbm.bandwidth = hbm.stacks * 670 GB/s'")
        ->type_name("KEY=FORMULA")
        ->allow_extra_args(false);
    command
        .add_option("--constraint", options.constraints,
                    "what a design must obey, of parameters, area.* and power.tdp: 'area.total <= 814 mm2'")
        ->type_name("FORMULA<=FORMULA")
        ->allow_extra_args(false);
    command
        .add_option("--minimise", options.minimise,
                    "what is to be small: time, energy, edp, area, cost, training-cost (default: time,area)")
        ->type_name("NAME,NAME,...");
    command
        .add_option("--maximise", options.maximise,
                    "what is to be large: throughput-per-dollar, memory-headroom")
        ->type_name("NAME,NAME,...");
}

void add_search_options(CLI::App& command, Options& options) {
    explore::StrategyOptions& strategy = options.explore.strategy;
    command
        .add_option("--strategy", strategy.name,
                    "grid, random, latin-hypercube, sobol, sensitivity (one at a time), nsga2, moead, cmaes")
        ->type_name("NAME")
        ->capture_default_str();
    command.add_option("--points", strategy.points, "designs to evaluate, but for grid and sensitivity")
        ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{10000000}))
        ->type_name("N")
        ->capture_default_str();
    command.add_option("--seed", strategy.seed, "of everything that is drawn")
        ->type_name("N")
        ->capture_default_str();
    command
        .add_option("--population", strategy.population, "of nsga2, moead and cmaes; 0: chosen by the points")
        ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{10000}))
        ->type_name("N")
        ->capture_default_str();
    command
        .add_option("--fidelity", options.fidelity,
                    "sampled: kernels until their time has settled; full: every cycle; front: sampled, then "
                    "the front in full")
        ->check(CLI::IsMember({"sampled", "full", "front"}))
        ->type_name("sampled|full|front")
        ->capture_default_str();
    command
        .add_option("--training-steps", options.explore.training_steps,
                    "steps of the training whose cost is asked for")
        ->check(CLI::Range(0.0, 1e15))
        ->type_name("N");
}

void add_workload_options(CLI::App& command, Options& options) {
    command.add_option("WORKLOAD", options.workloads,
                       "models, model files or trace files as of `heddle simulate`; "
                       "NAME:batch=4,sequence=512 gives one its own "
                       "options, NAME@3 its weight: so many steps of it for one of the others");
    command.add_option("--batch", options.batch, "rows of the models' inputs")->type_name("N");
    command.add_option("--sequence", options.sequence, "tokens of each sequence of the models' inputs")
        ->type_name("N");
    command
        .add_option("--option", options.model_options, "any other option of the models: --option type=bf16")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    command
        .add_option_function<std::string>(
            "--fusion",
            [&fusion = options.simulation.fusion](const std::string& mode) {
                fusion = mode == "compile" ? sim::Fusion::compile
                         : mode == "xla"   ? sim::Fusion::xla
                                           : sim::Fusion::none;
            },
            "as of `heddle simulate` (default: none on a GPU, xla on a TPU)")
        ->check(CLI::IsMember({"none", "compile", "xla"}))
        ->type_name("none|compile|xla");
    command.add_flag("--graph", options.simulation.graph, "GPU: the step is launched as one CUDA graph");
    command.add_flag("!--no-cache", options.simulation.cache,
                     "keep no kernel's result on disk, and look for none");
}

}  // namespace explore_command

void add_explore_command(CLI::App& app) {
    using namespace explore_command;
    const auto options = std::make_shared<Options>();
    CLI::App* command =
        add_command(app, "explore");
    command->require_subcommand(0, 1);
    add_workload_options(*command, *options);
    add_space_options(*command, *options);
    add_search_options(*command, *options);
    command
        ->add_option("-j,--jobs", options->jobs,
                     "designs evaluated at once, a process each; 0: as many as there are cores. Under "
                     "mpirun: of each rank, 0: one")
        ->check(CLI::Range(0u, 4096u))
        ->type_name("N")
        ->capture_default_str();
    command
        ->add_option("--out", options->out,
                     "folder of the results (default: heddle-explore-WORKLOAD-HARDWARE)")
        ->type_name("DIR");
    command->add_flag("--resume", options->resume,
                      "go on with the exploration in the folder: nothing is evaluated twice");
    command
        ->add_flag("--retry-failed", options->retry_failed,
                   "with --resume: evaluate the designs that failed again")
        ->needs("--resume");
    command->add_flag("--json", options->json, "print JSON instead of a table");
    command
        ->add_flag(
            "--parallelism", options->parallelism,
            "not which device: how to spread a model over the devices of a cluster (tensor, pipeline, data, "
            "micro-batches, recomputation, ZeRO)")
        ->group("Many devices");
    add_parallelism_options(*command, options->plans);
    add_limit_options(*command);
    command->footer(
        "Each design is evaluated in processes of its own: one that fails is a row with its error. "
        "Interrupted or killed, the\n"
        "same command with --resume goes on. `mpirun -n 64 heddle explore ...` uses many machines.\n"
        "Examples:\n"
        "  heddle explore mlp --hardware h100-sxm --vary 'sm.count=66..132:33' --vary 'l2.size=25MiB,50MiB' "
        "--out out/mlp\n"
        "  heddle explore mlp --hardware tpu-v4 --vary 'matrix.per_core=1..8:*2' --vary 'hbm.stacks=2..6:2'\n"
        "      --link 'hbm.bandwidth = hbm.stacks * 300 GB/s' --constraint 'area.total <= 600 mm2' --out "
        "out/tpu\n"
        "  heddle explore mlp@3 mlp:batch=512 --hardware tpu-v4 --vary clock=800MHz..1400MHz --strategy "
        "sobol --points 16\n"
        "      --minimise time,cost --out out/two\n"
        "  heddle explore gpt3-175b --parallelism --cluster dgx-a100 --nodes 64,128 --batch 1536 --tokens "
        "300e9\n"
        "  heddle explore show out/mlp\n"
        "  heddle explore export out/mlp --format json");
    CLI::App* show_app = command->add_subcommand("show", "Shows an exploration's front, complete or not.");
    show_app->add_option("DIR", options->folder, "the folder that `heddle explore` wrote")->required();
    show_app->footer("Example: heddle explore show out/mlp");
    CLI::App* export_app = command->add_subcommand("export", "Prints every point of an exploration.");
    export_app->add_option("DIR", options->folder, "the folder that `heddle explore` wrote")->required();
    export_app
        ->add_option(
            "--format", options->format,
            "csv: a row for each point, for pandas, DuckDB and others; statistics: a row for each figure, CSV; json: all")
        ->check(CLI::IsMember({"csv", "statistics", "json"}))
        ->type_name("csv|statistics|json")
        ->capture_default_str();
    export_app->add_option("--out", options->out, "a file instead of the terminal")->type_name("FILE");
    export_app->add_flag("--times", options->times,
                         "with how long each evaluation took, which differs from run to run");
    export_app->footer("Example: heddle explore export out/mlp --format csv --out points.csv");
    show_app->callback([options] { show(*options); });
    export_app->callback([options] { export_points(*options); });
    command->callback([options, command] {
        if (!command->get_subcommands().empty()) return;
        if (options->parallelism) {
            explore_plans(*options);
            return;
        }
        if (!options->plans.cluster.empty())
            throw Error("a cluster is for plans", {"--cluster", 0, ""}, "add --parallelism");
        if (options->workloads.empty())
            throw Error("no workload is named", {"heddle explore", 0, ""},
                        "write heddle explore mlp --hardware h100-sxm --vary ...");
        if (options->hardware.empty())
            throw Error("no base device is named", {"--hardware", 0, ""}, "write --hardware h100-sxm");
        run_exploration(*options);
    });
}

}  // namespace heddle::cli
