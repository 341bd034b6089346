#include "sim/run/gpu_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <utility>

#include "isa/common/activity.h"
#include "sim/run/canonical_l2.h"
#include "sim/run/estimate.h"
#include "sim/run/governor.h"
#include "sim/run/gpu_session.h"
#include "sim/run/kernel_cache.h"
#include "sim/run/launch_plan.h"
#include "sim/run/power_limit.h"
#include "sim/run/settled_clock.h"
#include "sim/run/step_plan.h"
#include "sim/run/unclaimed_jobs.h"
#include "sim/run/worker_pool.h"
#include "workloads/lowering/gpu/gpu_lowering.h"
#include "workloads/lowering/gpu/programmatic.h"
#include "workloads/trace/trace.h"
#include "workloads/trace/turns.h"

namespace heddle::sim {

std::string device_key(const models::gpu::GpuConfig& config) {
    models::gpu::GpuConfig copy = config;
    models::ParameterList list;
    describe(copy, list);
    std::string key = "gpu\n";
    for (const models::Parameter& parameter : list.parameters()) {
        key += fmt::format("{} {:.17g}", parameter.path, parameter.get());
        if (parameter.list != nullptr)
            for (const std::uint32_t value : *parameter.list) key += fmt::format(" {}", value);
        key += '\n';
    }
    // A library that is built anew gives new results under its old name.
    if (!copy.hbm.model.empty()) key += "hbm.model " + hash_file(copy.hbm.model) + "\n";
    if (!copy.l2.model.empty()) key += "l2.model " + hash_file(copy.l2.model) + "\n";
    return key;
}

namespace {

double bytes_of(const program::GpuProgram& program, const PlannedLaunch& planned) {
    double bytes = 0;
    for (const PlannedBuffer& b : planned.buffers)
        bytes += static_cast<double>(program.buffers[b.buffer].bytes);
    return bytes;
}

/// Rough figures of kernels, by trace::MatrixWork.
struct MatrixRates {
    double flops_for_one;  ///< of cost: measured; attention has more instructions for a FLOP than products
    double tensor_rate;  ///< part of the tensor cores' peak that large kernels reach; attention: fitted to a
                         ///< GPT-2 step
};
constexpr std::array<MatrixRates, 4> kMatrixRates{{{2500, 0.7}, {2500, 0.7}, {1200, 0.3}, {600, 0.15}}};

const MatrixRates& rates_of(const trace::Op& op) {
    return kMatrixRates.at(static_cast<std::size_t>(trace::matrix_work(op.kind)));
}

/// A rough idea of how long a kernel takes to simulate, to start the longest first and to show progress.
double expected_cost(const program::GpuProgram& program, const PlannedLaunch& planned,
                     const trace::Trace& trace) {
    const trace::Op& op = trace.ops[planned.launch->op];
    return 1000 + bytes_of(program, planned) / 64 +
           (trace::is_product(op.kind)
                ? trace::floating_point_operations(trace, op) / rates_of(op).flops_for_one
                : 0);
}

/// What a launch takes, roughly, at the highest clock: the first guess of the governor.
LaunchEstimate estimate_launch(const trace::Trace& trace, const program::GpuProgram& program,
                               const PlannedLaunch& planned, const models::gpu::GpuConfig& config) {
    constexpr double kMemoryRate = 0.85;  // part of the peak that large kernels reach
    const trace::Op& op = trace.ops[planned.launch->op];
    constexpr double kBesideTensor =
        1.13;  // energy of operands on their way: fitted to products of a GPT-2 block
    constexpr double kBesideDram = 10e-12;                    // J for a byte in L2, L1 and registers
    const double macs = config.sm.count * config.tensor.f16;  // in a cycle
    const double flops = trace::is_product(op.kind) ? trace::floating_point_operations(trace, op) : 0;
    const double bytes = bytes_of(program, planned);
    const double relative = config.clock / config.power.nominal_clock;
    LaunchEstimate estimate;
    estimate.turns = trace::turns_of(op);
    estimate.cost = expected_cost(program, planned, trace);
    estimate.fixed_seconds = config.launch.before + bytes / (kMemoryRate * config.hbm.bandwidth);
    estimate.cycles = flops / (2 * macs * rates_of(op).tensor_rate);
    estimate.fixed_joules = bytes * config.power.dram_byte;
    estimate.joules =
        relative * relative *
        (kBesideTensor * config.power.tensor * flops * 2 / config.tensor.f16 + bytes * kBesideDram);
    return estimate;
}

/// What a kernel is expected to take: of all the work, and of the device. Only progress is told by it.
struct Effort {
    double part = 0;
    std::uint64_t cycles = 0;
};

class GpuJobs : public JobRunner {
  public:
    /// `efforts`: of each job.
    GpuJobs(const models::gpu::GpuConfig& config, const SimulateOptions& options,
            const program::GpuProgram& program, const std::vector<const PlannedLaunch*>& jobs,
            const std::vector<Effort>& efforts, unsigned threads, unsigned cores)
        : config_(config),
          session_(config, options.tick_every_cycle, options.sample, options.series),
          program_(program),
          jobs_(jobs),
          efforts_(efforts) {
        session_.set_threads(threads, cores);
    }
    std::string run(std::size_t job) override {
        const double before = processor_seconds();
        this_activity().set_part(efforts_[job].part);
        this_activity().set_expected(efforts_[job].cycles);
        const bool spills = session_.spills(*jobs_[job]);
        session_.set_l2_size(spills ? config_.l2.bytes : canonical_l2_bytes(config_, program_, *jobs_[job]));
        LaunchOutcome outcome = session_.run(program_, *jobs_[job]);
        outcome.own_l2 = spills;
        outcome.host_seconds = processor_seconds() - before;
        return to_text(outcome);
    }

  private:
    const models::gpu::GpuConfig& config_;
    GpuSession session_;
    const program::GpuProgram& program_;
    const std::vector<const PlannedLaunch*>& jobs_;
    const std::vector<Effort>& efforts_;
};

/// Thread blocks of a launch for each that the GPU has room for.
double waves_of(const program::KernelLaunch& launch, const LaunchOutcome& outcome, std::uint32_t sms) {
    const double blocks = static_cast<double>(launch.grid.x) * launch.grid.y * launch.grid.z;
    return outcome.ctas_per_sm == 0 ? 1 : blocks / (static_cast<double>(outcome.ctas_per_sm) * sms);
}

/// `overlap`: cycles of the launch that lie beside the one before.
KernelResult kernel_result(const PlannedLaunch& planned, const LaunchOutcome& outcome, std::uint64_t overlap,
                           const models::gpu::GpuConfig& config) {
    const program::KernelLaunch& launch = *planned.launch;
    KernelResult kernel;
    kernel.name = launch.kernel->entry;
    const double beside_us = outcome.seconds * 1e6 * static_cast<double>(overlap) /
                             std::max(1.0, static_cast<double>(outcome.cycles));
    kernel.gap_us = std::max(0.0, config.launch.gap * 1e6 - beside_us);
    kernel.time_us = outcome.seconds * 1e6 - beside_us - kernel.gap_us;
    kernel.overlap_cycles = overlap;
    kernel.dependency_release = planned.dependency_release;
    kernel.cycles = outcome.cycles;
    kernel.warp_instructions = outcome.warp_instructions;
    kernel.grid[0] = launch.grid.x;
    kernel.grid[1] = launch.grid.y;
    kernel.grid[2] = launch.grid.z;
    kernel.block[0] = launch.block.x;
    kernel.block[1] = launch.block.y;
    kernel.block[2] = launch.block.z;
    kernel.registers_per_thread = outcome.registers_per_thread;
    kernel.shared_bytes = outcome.shared_bytes;
    kernel.ctas_per_sm = outcome.ctas_per_sm;
    kernel.waves = waves_of(launch, outcome, config.sm.count);
    kernel.dram_bytes = outcome.dram_bytes;
    kernel.l2_bytes = outcome.l2_bytes;
    kernel.l2_hit_rate = outcome.l2_hit_rate;
    kernel.bound_by = outcome.bound_by;
    kernel.time_by_reason = outcome.time_by_reason;
    kernel.utilisation = outcome.utilisation;
    kernel.energy = outcome.energy;
    kernel.throughputs = outcome.throughputs;
    kernel.sampled = outcome.sampled;
    kernel.series = outcome.series;
    return kernel;
}

/// What a recorded series adds to a key.
std::string series_key(const models::gpu::SeriesSettings& series) {
    if (series.interval == 0) return "";
    return "series " + std::to_string(series.interval) + (series.by_sm ? " by SM\n" : " by GPC\n");
}

/// Outcomes of all distinct keys of the plan that are not `known`: from the cache, else simulated on workers.
std::map<std::string, LaunchOutcome> simulate_distinct(
    const trace::Trace& trace, const program::GpuProgram& program, const std::vector<PlannedLaunch>& plan,
    const models::gpu::GpuConfig& config, const SimulateOptions& options,
    const std::map<std::string, LaunchOutcome>& known, RunResult& result) {
    KernelCache cache = KernelCache::standard_if(options.cache && !options.tick_every_cycle);
    // By the size of L2 that a launch is simulated with.
    std::map<std::uint64_t, std::string> devices;
    const auto key_of = [&](const PlannedLaunch& planned, std::uint64_t l2_bytes) {
        std::string& device = devices[l2_bytes];
        if (device.empty()) {
            models::gpu::GpuConfig sized = config;
            sized.l2.bytes = l2_bytes;
            device = device_key(sized) + (options.sample ? "sampled\n" : "") + series_key(options.series);
        }
        return device + planned.key;
    };
    const auto find = [&](const PlannedLaunch& planned) {
        const std::uint64_t canonical = canonical_l2_bytes(config, program, planned);
        const auto stored = cache.find(key_of(planned, canonical));
        return stored || canonical == config.l2.bytes ? stored : cache.find(key_of(planned, config.l2.bytes));
    };
    std::map<std::string, LaunchOutcome> outcomes;
    std::map<std::string, const PlannedLaunch*> open;
    for (const PlannedLaunch& planned : plan) {
        if (known.count(planned.key) != 0 || outcomes.count(planned.key) != 0 || open.count(planned.key) != 0)
            continue;
        if (const auto stored = find(planned)) {
            outcomes[planned.key] = outcome_from_text(*stored);
        } else {
            open[planned.key] = &planned;
        }
    }

    std::vector<const PlannedLaunch*> jobs;
    std::map<const PlannedLaunch*, double> cost;
    double total_cost = 0, done_cost = 0;
    for (const auto& [key, planned] : open) {
        jobs.push_back(planned);
        cost[planned] = expected_cost(program, *planned, trace);
        total_cost += cost[planned];
    }
    std::stable_sort(jobs.begin(), jobs.end(),
                     [&](const auto* a, const auto* b) { return cost[a] > cost[b]; });
    std::vector<Effort> efforts;
    for (const PlannedLaunch* planned : jobs) {
        const LaunchEstimate estimate = estimate_launch(trace, program, *planned, config);
        efforts.push_back(
            {cost[planned] / total_cost,
             static_cast<std::uint64_t>(estimate.fixed_seconds * config.clock + estimate.cycles)});
    }
    const unsigned workers = options.jobs != 0 ? options.jobs : available_cores();
    result.simulation.workers = workers;
    result.simulation.scheduled = options.assembly == ptx::Assembly::scheduled;
    const auto keep = [&](std::size_t job, const LaunchOutcome& outcome) {
        const PlannedLaunch& planned = *jobs[job];
        outcomes[planned.key] = outcome;
        done_cost += cost[&planned];
        if (options.progress) options.progress(done_cost / total_cost, planned.launch->kernel->entry);
    };
    UnclaimedJobs unclaimed(
        jobs.size(), cache,
        {.key = [&](std::size_t job) {
             return key_of(*jobs[job], canonical_l2_bytes(config, program, *jobs[job]));
         },
         .name = [&](std::size_t job) { return "kernel " + jobs[job]->launch->kernel->entry; },
         .take = [&](std::size_t job) {
             const auto stored = find(*jobs[job]);
             if (stored) keep(job, outcome_from_text(*stored));
             return stored.has_value();
         }});
    run_jobs(
        jobs.size(), workers,
        [&]() -> std::unique_ptr<JobRunner> {
            return std::make_unique<GpuJobs>(config, options, program, jobs, efforts,
                                             threads_per_worker(jobs.size(), workers), workers);
        },
        [&](std::size_t job, const std::string& text) {
            const PlannedLaunch& planned = *jobs[job];
            const LaunchOutcome outcome = outcome_from_text(text);
            const std::uint64_t l2_bytes =
                outcome.own_l2 ? config.l2.bytes : canonical_l2_bytes(config, program, planned);
            cache.store(key_of(planned, l2_bytes), text);
            unclaimed.finished(job);
            ++result.simulation.kernels_simulated;
            result.simulation.processor_s += outcome.host_seconds;
            result.simulation.warp_instructions += outcome.warp_instructions;
            keep(job, outcome);
        },
        unclaimed);
    return outcomes;
}

/// A program's launches with what came of them.
struct Simulated {
    std::vector<PlannedLaunch> plan;
    std::map<std::string, LaunchOutcome> outcomes;  ///< by key
    std::vector<std::uint64_t> overlaps;            ///< by launch: cycles beside the launch before

    const LaunchOutcome& outcome(std::size_t launch) const { return outcomes.at(plan[launch].key); }
};

/// A programmatic launch begins when the one before allows it; its thread blocks start launch.before later
/// and wait until the one before has ended. That the two share the GPU until then is left out. When that is
/// depends on the launch before, which may be programmatic itself: each round settles one more launch of a
/// chain at least, and mostly all of them.
Simulated simulate_program(const trace::Trace& trace, const program::GpuProgram& program,
                           const std::vector<PlannedLaunch>& plan, const models::gpu::GpuConfig& config,
                           const SimulateOptions& options, RunResult& result) {
    const auto beside_of = [](const LaunchOutcome& last) { return last.cycles - last.dependents_start; };
    Simulated simulated{plan, {}, std::vector<std::uint64_t>(plan.size(), 0)};
    const auto before = static_cast<std::uint64_t>(std::llround(config.launch.before * config.clock));
    for (bool settled = false; !settled;) {
        simulated.outcomes.merge(
            simulate_distinct(trace, program, simulated.plan, config, options, simulated.outcomes, result));
        settled = true;
        std::vector<const LaunchOutcome*> ended;
        for (std::size_t i = 0; i < plan.size(); ++i) ended.push_back(&simulated.outcome(i));
        for (std::size_t i = 1; i < plan.size(); ++i) {
            if (!plan[i].launch->programmatic) continue;
            const std::uint64_t beside = beside_of(*ended[i - 1]);
            const std::uint64_t release = beside > before ? beside - before : 0;
            if (release == simulated.plan[i].dependency_release) continue;
            simulated.plan[i] = released_at(plan[i], release);
            settled = false;
        }
        for (std::size_t i = 1; i < plan.size() && settled; ++i) {
            if (plan[i].launch->programmatic)
                simulated.overlaps[i] = std::min(beside_of(*ended[i - 1]), ended[i]->cycles);
        }
    }
    return simulated;
}

/// Mean power of the launches, one after another; 0 when there are none.
double mean_power(const trace::Trace& trace, const Simulated& simulated, double clock) {
    double joules = 0, seconds = 0;
    for (std::size_t i = 0; i < simulated.plan.size(); ++i) {
        const LaunchOutcome& outcome = simulated.outcome(i);
        const double turns = trace::turns_of(trace.ops[simulated.plan[i].launch->op]);
        for (const auto& [part, amount] : outcome.energy) joules += turns * amount;
        seconds += turns * (outcome.seconds - static_cast<double>(simulated.overlaps[i]) / clock);
    }
    return seconds > 0 ? joules / seconds : 0;
}

void note_settled_clock(const SettledClock& settled, const models::gpu::GpuConfig& config,
                        RunResult& result) {
    if (settled.clock >= config.clock) return;
    result.notes.push_back(
        fmt::format("the clock settles at {:.0f} MHz, where the step draws {:.0f} W of {:.0f} W "
                    "allowed; at {:.0f} MHz it "
                    "would draw {:.0f} W",
                    settled.clock / 1e6, settled.power, config.power.limit, config.clock / 1e6,
                    settled.power_at_maximum));
}

/// Nothing where the governor could keep the limit.
void note_power_above_limit(double watts, const models::gpu::GpuConfig& config, RunResult& result) {
    const std::string excess =
        describe_excess(power_draw(config.power, config.sm.count, watts, config.clock));
    if (excess.empty()) return;
    result.notes.push_back(config.power.governor == 0
                               ? excess + "; power.governor is off, and with it on the clock is settled so"
                               : excess);
}

ClockRange clocks_of(const models::gpu::GpuConfig& config) {
    return {std::min(config.power.minimum_clock, config.clock), config.clock};
}

/// Programmatic launches begin at cycles that follow from those before: all is simulated at every clock that
/// is looked at.
Simulated simulate_at_each_clock(const trace::Trace& trace, const program::GpuProgram& program,
                                 const std::vector<PlannedLaunch>& plan, models::gpu::GpuConfig& config,
                                 const SimulateOptions& options, RunResult& result) {
    std::map<double, Simulated> by_clock;
    const auto power_at = [&](double clock) {
        models::gpu::GpuConfig slower = config;
        slower.clock = clock;
        by_clock[clock] = simulate_program(trace, program, plan, slower, options, result);
        return mean_power(trace, by_clock[clock], clock);
    };
    const SettledClock settled =
        settle_clock(clocks_of(config), config.power.limit, config.power.constant(config.sm.count), power_at);
    note_settled_clock(settled, config, result);
    config.clock = settled.clock;
    return by_clock.at(config.clock);
}

/// All distinct kernels, and the clock on which the board settles under its power limit. Changes `config` to
/// it.
Simulated simulate_at_settled_clock(const trace::Trace& trace, const program::GpuProgram& program,
                                    const std::vector<PlannedLaunch>& plan, models::gpu::GpuConfig& config,
                                    const SimulateOptions& options, RunResult& result) {
    const bool programmatic = std::any_of(
        plan.begin(), plan.end(), [](const PlannedLaunch& planned) { return planned.launch->programmatic; });
    if (config.power.governor == 0) return simulate_program(trace, program, plan, config, options, result);
    if (programmatic) return simulate_at_each_clock(trace, program, plan, config, options, result);

    std::vector<LaunchEstimate> estimates;
    estimates.reserve(plan.size());
    for (const PlannedLaunch& planned : plan)
        estimates.push_back(estimate_launch(trace, program, planned, config));
    const auto simulate_some = [&](const std::vector<std::size_t>& launches, double clock) {
        models::gpu::GpuConfig slower = config;
        slower.clock = clock;
        std::vector<PlannedLaunch> some;
        some.reserve(launches.size());
        for (const std::size_t launch : launches) some.push_back(plan[launch]);
        return simulate_distinct(trace, program, some, slower, options, {}, result);
    };
    // Times of sampled kernels are known within 2 %; the clock need not be known much better.
    SettledStep step(plan, estimates, clocks_of(config), config.power, config.sm.count,
                     (options.sample ? 2 : 1) * SettledStep::kTolerance);
    while (const std::optional<SettledStep::Round> round = step.next())
        step.add(round->clock, simulate_some(round->launches, round->clock));
    const SettledClock settled = step.settled();
    note_settled_clock(settled, config, result);
    if (step.error() > 0)
        result.notes.push_back(
            fmt::format("kernels were simulated at {:.0f} to {:.0f} MHz, and their times taken to the "
                        "settled clock: within {:.2f} %",
                        step.lowest_clock() / 1e6, step.highest_clock() / 1e6, 100 * step.error()));
    config.clock = settled.clock;
    return {plan, step.outcomes(), std::vector<std::uint64_t>(plan.size(), 0)};
}

/// Of the buffers that no tensor lies in.
double workspace_bytes(const lowering::GpuLowering& lowered) {
    std::vector<bool> of_tensor(lowered.program.buffers.size());
    for (const program::BufferId buffer : lowered.buffer_of_tensor) of_tensor[buffer] = true;
    double bytes = 0;
    for (std::size_t i = 0; i < of_tensor.size(); ++i)
        if (!of_tensor[i]) bytes += static_cast<double>(lowered.program.buffers[i].bytes);
    return bytes;
}

std::vector<TraceableKernel> traceable(const trace::Trace& trace, const std::vector<PlannedLaunch>& plan) {
    std::vector<TraceableKernel> kernels;
    for (const PlannedLaunch& planned : plan)
        kernels.push_back({planned.key, planned.launch->kernel->entry, trace.ops[planned.launch->op].name});
    return kernels;
}

/// Simulates launches of a plan once more, at the clock on which the step has settled.
RunTraced traced_device(const program::GpuProgram& program, const std::vector<PlannedLaunch>& plan,
                        const models::gpu::GpuConfig& config, bool tick_every_cycle) {
    const auto session = std::make_shared<GpuSession>(config, tick_every_cycle);
    return [&, session](std::size_t launch, models::SignalTrace& signals) {
        session->set_l2_size(session->spills(plan[launch]) ? config.l2.bytes
                                                           : canonical_l2_bytes(config, program, plan[launch]));
        session->set_signals(&signals);
        session->run(program, plan[launch]);
    };
}

bool is_run(const trace::Op& op, const SimulateOptions& options) {
    return options.only_kinds.empty() || std::find(options.only_kinds.begin(), options.only_kinds.end(),
                                                   trace::name_of(op.kind)) != options.only_kinds.end();
}

KernelResult left_out(const trace::Op& op) {
    KernelResult kernel;
    kernel.name = "left out";
    kernel.fidelity = Fidelity::unknown;
    kernel.bound_by = "recorded time";
    kernel.time_us = op.measured_us.value_or(0);
    return kernel;
}

}  // namespace

std::vector<OpOutcome> run_on_gpu(const trace::Trace& trace, const Hardware& hardware,
                                  const SimulateOptions& options, RunResult& result) {
    models::gpu::GpuConfig config = options.graph ? in_graph(hardware.gpu()) : hardware.gpu();
    lowering::GpuLowering lowered = lowering::lower_for_gpu(trace, target_of(config));
    if (options.programmatic) lowering::make_programmatic(lowered.program, config.compute_capability);
    const StepConfig& step = hardware.step;
    check_memory(
        trace,
        {static_cast<double>(step.memory_bytes), static_cast<double>(step.context_bytes), step.fragmentation},
        workspace_bytes(lowered), options, result);
    const std::vector<PlannedLaunch> whole = plan_step(trace, lowered, config, options.assembly);
    std::vector<PlannedLaunch> plan;
    std::vector<std::size_t> place(whole.size());  // of a launch of the program in the plan
    for (std::size_t i = 0; i < whole.size(); ++i) {
        place[i] = plan.size();
        if (is_run(trace.ops[whole[i].launch->op], options)) plan.push_back(whole[i]);
    }
    std::vector<std::size_t> traced;
    if (options.signals.asked()) traced = kernels_to_trace(options.signals, traceable(trace, plan));
    const Simulated simulated =
        simulate_at_settled_clock(trace, lowered.program, plan, config, options, result);
    if (options.signals.asked())
        result.signals = trace_kernels(options.signals, traceable(trace, plan), traced,
                                       options.jobs != 0 ? options.jobs : available_cores(), [&] {
                                           return traced_device(lowered.program, simulated.plan, config,
                                                                options.tick_every_cycle);
                                       });
    result.clock_hz = config.clock;
    result.power_limit = config.power.limit;
    note_power_above_limit(mean_power(trace, simulated, config.clock), config, result);

    std::vector<OpOutcome> per_op(trace.ops.size());
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        const trace::Op& op = trace.ops[i];
        const lowering::GpuLoweredOp& op_lowering = lowered.ops[i];
        OpOutcome& outcome = per_op[i];
        if (op.kind == trace::OpKind::collective) {
            outcome = communication_outcome(op, result);
        } else if (!is_run(op, options)) {
            outcome.kernels.push_back(left_out(op));
            continue;
        } else if (!op_lowering.unsupported.empty()) {
            outcome.copy = op.kind == trace::OpKind::host_copy;
            outcome.blocks_host =
                outcome.copy && op.get(keys::host_copy.blocking,
                                       op.get(keys::host_copy.direction) == "device_to_host" ? 1 : 0) != 0;
            outcome.kernels.push_back(estimate_on_gpu(trace, op, config, op_lowering.unsupported));
        } else if (op_lowering.launch_count == 0) {
            outcome.view = true;
        }
        for (std::uint32_t k = 0; k < op_lowering.launch_count; ++k) {
            const std::size_t launch = place[op_lowering.first_launch + k];
            outcome.kernels.push_back(kernel_result(simulated.plan[launch], simulated.outcome(launch),
                                                    simulated.overlaps[launch], config));
        }
    }
    return per_op;
}

}  // namespace heddle::sim
