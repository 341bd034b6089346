#include "sim/cli/doors.h"

#include <charconv>

#include "isa/common/error.h"
#include "isa/sass/opcode_table.h"
#include "sim/cli/commands.h"
#include "sim/cli/output.h"
#include "sim/cli/progress.h"
#include "sim/cli/terminal.h"
#include "sim/cli/workload.h"
#include "sim/hardware/load_hardware.h"
#include "sim/distributed/distributed_step.h"
#include "sim/report/run_directory.h"
#include "sim/sass/entry_text.h"
#include "sim/sass/run_result.h"
#include "sim/sass/run_traces.h"
#include "sim/report/result_names.h"
#include "workloads/importers/open_trace.h"

namespace heddle::cli {
namespace {

/// Simulates and prints. Throws TooLarge when a device has too little memory, unless `how` says to go on.
void simulate_on_cluster(const std::string& model, const sim::ModelOptions& model_options,
                         const std::string& hardware_name, const PlanOptions& options,
                         sim::DistributedOptions how, bool json) {
    parallel::ParallelPlan plan = options.plan;
    if (!options.schedule.empty()) plan.schedule = parallel::pipeline_schedule_from_name(options.schedule);
    if (!options.data_parallel.empty())
        plan.data_parallel = parallel::data_parallel_from_name(options.data_parallel);
    if (!options.recompute.empty()) plan.recompute = parallel::recomputation_from_name(options.recompute);
    plan.overlap = !options.no_overlap;
    plan.context_ring = options.context_exchange != "all-gather";
    parallel::check(plan);
    sim::ClusterQuestion question;
    question.name = options.cluster;
    question.nodes = options.nodes;
    question.devices = static_cast<std::uint32_t>(plan.devices());
    question.overrides = options.cluster_settings;
    if (plan.data_parallel == parallel::DataParallel::parameter_server ||
        plan.data_parallel == parallel::DataParallel::asynchronous)
        question.servers = static_cast<std::uint32_t>(plan.servers);
    const sim::ClusterModel cluster = sim::cluster_for(question);
    const sim::Hardware hardware = sim::load_hardware(
        hardware_name.empty() ? cluster.hardware : hardware_name, options.device_settings, options.programs);
    how.fold = !options.no_fold;
    how.simulated = options.kernels == "simulated" || (options.kernels.empty() && !hardware.machine().has_closed_form());
    sim::ClosedForm closed(hardware);
    sim::Simulated simulated(hardware, how.kernels);
    sim::OpTimes& times = how.simulated ? static_cast<sim::OpTimes&>(simulated) : closed;
    const sim::DistributedResult result =
        sim::simulate_distributed(model, model_options, plan, cluster, hardware, times, how);
    print(json ? sim::with_common_names(sim::distributed_json(result), "simulate") : sim::format_distributed(result));
    if (!result.fits() && !how.ignore_memory)
        throw TooLarge{"a device has too little memory; --ignore-memory says so without this error"};
}

}  // namespace

bool names_recorded_kernels(const std::string& workload) {
    return sass::names_traces(workload);
}

void simulate_recorded_kernels(const SimulateCommandOptions& given) {
    SimulateCommandOptions options = given;
    refuse_options_of_steps(options, "recorded kernels");
    if (options.simulate.signals.asked())
        throw Error("recorded kernels are not traced", {"--trace-signals", 0, ""}, "leave it out");
    sass::TraceRunOptions run;
    run.jobs = options.simulate.jobs;
    run.tick_every_cycle = options.simulate.tick_every_cycle;
    run.series = options.simulate.series;
    if (!options.unknown_as.empty()) {
        run.unknown_as = sass::operation_named(options.unknown_as);
        if (!run.unknown_as)
            throw Error(options.unknown_as + " is no class of instructions", {"--unknown-as", 0, ""},
                        "the classes are " + sass::operation_names());
    }
    const sim::Hardware hardware = sim::load_hardware(options.hardware, options.overrides, options.programs);
    if (options.out.empty())
        options.out = "heddle-run-" + sass::workload_name(options.workload) + "-" + hardware.name;
    if (!options.no_out) sim::check_run_directory(options.out);
    sass::TraceRun result;
    {
        Progress progress;
        run.progress = [&progress](double fraction, const std::string& what) {
            progress.update(fraction, what);
        };
        result = sass::run_traces(options.workload, hardware, run);
    }
    const std::string json = sim::with_common_names(sass::trace_run_json(result), "simulate");
    if (!options.no_out)
        sim::write_run_directory(sass::run_result(result, hardware), options.out, {{"entries.json", json}});
    if (options.json) return print(json);
    print(sass::format_trace_run(result, false, table_width()) +
          (options.no_out
               ? ""
               : "written to " + options.out + ": open report.html, or timeline.json in Perfetto\n"));
}

trace::Trace open_recorded_step(const std::string& path, trace::RecordedDevice& device) {
    return importers::open_trace(path, &device);
}

void simulate_spread(const SimulateCommandOptions& options) {
    if (options.simulate.signals.asked())
        throw Error("is for one device", {"--trace-signals", 0, ""}, "leave out --cluster");
    if (options.simulate.numerics)
        throw Error("is for one device", {"--numerics", 0, ""},
                    "leave out --cluster; `heddle learn` trains on several");
    if (!options.batch.empty())
        throw Error("is the plan's", {"--batch", 0, ""}, "give --micro-batch and --micro-batches");
    sim::ModelOptions model_options;
    if (!options.sequence.empty()) add_model_option(model_options, "sequence=" + options.sequence);
    if (!options.widths.empty()) add_model_option(model_options, "widths=" + options.widths);
    for (const std::string& assignment : options.model_options) add_model_option(model_options, assignment);
    PlanOptions plan = options.plan;
    plan.device_settings = options.overrides;
    plan.programs = options.programs;
    if (!options.simulate.data.empty()) {
        const std::string& text = options.simulate.data;
        const auto parsed = std::from_chars(text.data(), text.data() + text.size(), plan.plan.data);
        if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size())
            throw Error("`" + text + "` is no number of devices", {"--data", 0, ""},
                        "with --cluster it says how many see different data");
    }
    sim::DistributedOptions how;
    how.ignore_memory = options.simulate.ignore_memory;
    how.kernels = {options.simulate.sample, options.simulate.cache, options.simulate.jobs};
    simulate_on_cluster(options.workload, model_options, options.hardware, plan, how, options.json);
}

}  // namespace heddle::cli
