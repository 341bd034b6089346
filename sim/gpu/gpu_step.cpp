#include "sim/gpu/gpu_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "isa/common/activity.h"
#include "sim/gpu/plan/canonical_l2.h"
#include "sim/gpu/time/estimate.h"
#include "sim/gpu/settle/governor.h"
#include "sim/gpu/time/gpu_session.h"
#include "sim/gpu/time/launch_result.h"
#include "sim/run/time/distinct_work.h"
#include "sim/run/time/kernel_cache.h"
#include "sim/gpu/plan/launch_plan.h"
#include "sim/gpu/settle/power_limit.h"
#include "sim/gpu/settle/settled_clock.h"
#include "sim/gpu/plan/step_plan.h"
#include "sim/run/time/op_programs.h"
#include "sim/run/workers/worker_pool.h"
#include "workloads/lowering/gpu/gpu_lowering.h"
#include "workloads/lowering/gpu/programmatic.h"
#include "workloads/trace/trace.h"
#include "workloads/trace/turns.h"

namespace heddle::sim {

std::string device_key(const models::gpu::GpuConfig& config) {
    models::gpu::GpuConfig copy = config;
    models::ParameterList list;
    describe(copy, list);
    std::string key = "gpu\n" + text_of(list);
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

/// Simulates the open launches.
class GpuJobs : public JobRunner {
  public:
    struct Job {
        const PlannedLaunch* planned;
        double part;                    ///< of all the work; only progress is told by it, as by the next
        std::uint64_t expected_cycles;
    };
    GpuJobs(const models::gpu::GpuConfig& config, const SimulateOptions& options,
            const program::GpuProgram& program, std::vector<Job> jobs, unsigned threads, unsigned cores)
        : config_(config),
          session_(config, options.tick_every_cycle, options.sample, options.series),
          program_(program),
          jobs_(std::move(jobs)) {
        session_.set_threads(threads, cores);
    }
    std::string run(std::size_t number) override {
        const double before = processor_seconds();
        const Job& job = jobs_[number];
        this_activity().set_part(job.part);
        this_activity().set_expected(job.expected_cycles);
        const bool spills = session_.spills(*job.planned);
        session_.set_l2_size(spills ? config_.l2.bytes : canonical_l2_bytes(config_, program_, *job.planned));
        LaunchOutcome outcome = session_.run(program_, *job.planned);
        outcome.own_l2 = spills;
        outcome.host_seconds = processor_seconds() - before;
        return to_text(outcome);
    }

  private:
    const models::gpu::GpuConfig& config_;
    GpuSession session_;
    const program::GpuProgram& program_;
    const std::vector<Job> jobs_;
};

/// Simulates the open runs of several launches.
class JointJobs : public JobRunner {
  public:
    struct Job {
        const std::vector<GpuSession::Member>* members;
        double part;
        std::uint64_t expected_cycles;
    };
    JointJobs(const models::gpu::GpuConfig& config, const SimulateOptions& options, const program::GpuProgram& program,
              std::vector<Job> jobs, unsigned threads)
        : session_(config, options.tick_every_cycle), program_(program), jobs_(std::move(jobs)) {
        session_.set_threads(threads);
    }
    std::string run(std::size_t number) override {
        const double before = processor_seconds();
        const Job& job = jobs_[number];
        this_activity().set_part(job.part);
        this_activity().set_expected(job.expected_cycles);
        LaunchOutcome outcome = session_.run_together(program_, *job.members);
        outcome.host_seconds = processor_seconds() - before;
        return to_text(outcome);
    }

  private:
    GpuSession session_;
    const program::GpuProgram& program_;
    const std::vector<Job> jobs_;
};

/// Everything that the times of a run of several launches depend on, but for the device.
std::string key_of(const std::vector<GpuSession::Member>& members) {
    std::string key = "together\n";
    std::map<program::BufferId, std::size_t> buffers;
    for (const GpuSession::Member& member : members) {
        const models::gpu::LaunchOrder& order = member.order;
        key += fmt::format("priority {} earliest {} gap {} after", order.priority, order.earliest, order.gap);
        for (const std::uint32_t before : order.after) key += fmt::format(" {}", before);
        key += "\nbuffers";
        for (const PlannedBuffer& buffer : member.planned->buffers)
            key += fmt::format(" {}", buffers.try_emplace(buffer.buffer, buffers.size()).first->second);
        key += "\n" + member.planned->key;
    }
    return key;
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
    // By the size of L2 that a launch is simulated with.
    std::map<std::uint64_t, std::string> devices;
    const auto cache_key = [&](const PlannedLaunch& planned, std::uint64_t l2_bytes) {
        std::string& device = devices[l2_bytes];
        if (device.empty()) {
            models::gpu::GpuConfig sized = config;
            sized.l2.bytes = l2_bytes;
            device = device_key(sized) + (options.sample ? "sampled\n" : "") + series_key(options.series);
        }
        return device + planned.key;
    };
    std::vector<DistinctWork> work;
    std::vector<const PlannedLaunch*> launches;  // of each work
    std::set<std::string> seen;
    for (const PlannedLaunch& planned : plan) {
        if (known.count(planned.key) != 0 || !seen.insert(planned.key).second) continue;
        DistinctWork one{planned.key, {}, planned.launch->kernel->entry, expected_cost(program, planned, trace)};
        const std::uint64_t canonical = canonical_l2_bytes(config, program, planned);
        one.cache_keys = {cache_key(planned, canonical)};
        if (canonical != config.l2.bytes) one.cache_keys.push_back(cache_key(planned, config.l2.bytes));
        work.push_back(std::move(one));
        launches.push_back(&planned);
    }
    result.simulation.scheduled = options.assembly == ptx::Assembly::scheduled;
    const auto make_runner = [&](const std::vector<OpenWork>& open, unsigned workers) -> std::unique_ptr<JobRunner> {
        std::vector<GpuJobs::Job> jobs;
        for (const OpenWork& one : open) {
            const LaunchEstimate estimate = estimate_launch(trace, program, *launches[one.work], config);
            jobs.push_back({launches[one.work], one.part,
                            static_cast<std::uint64_t>(estimate.fixed_seconds * config.clock + estimate.cycles)});
        }
        return std::make_unique<GpuJobs>(config, options, program, std::move(jobs),
                                         threads_per_worker(open.size(), workers), workers);
    };
    return time_distinct(
        work,
        {"kernel", make_runner,
         [&](const LaunchOutcome& outcome) { result.simulation.warp_instructions += outcome.warp_instructions; }},
        options, result);
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

class GpuStep final : public PlannedStep {
  public:
    GpuStep(const trace::Trace& trace, const GpuMachine& machine, const SimulateOptions& options, RunResult& result)
        : trace_(trace),
          options_(options),
          config_(options.graph ? in_graph(machine.config) : machine.config),
          lowered_(lowering::lower_for_gpu(trace, target_of(config_))) {
        if (options.programmatic) lowering::make_programmatic(lowered_.program, config_.compute_capability);
        check_memory(trace, machine.memory_room(), workspace_bytes(lowered_), options, result);
        const std::vector<PlannedLaunch> whole = plan_step(trace, lowered_, config_, options.assembly);
        for (const PlannedLaunch& planned : whole) {
            place_.push_back(simulated_.plan.size());
            if (is_run(trace.ops[planned.launch->op], options)) simulated_.plan.push_back(planned);
        }
    }

    std::vector<TraceableKernel> launches() const override {
        std::vector<TraceableKernel> kernels;
        for (const PlannedLaunch& planned : simulated_.plan)
            kernels.push_back({planned.key, planned.launch->kernel->entry, trace_.ops[planned.launch->op].name});
        return kernels;
    }

    void time(RunResult& result) override {
        const std::vector<PlannedLaunch> plan = std::move(simulated_.plan);
        simulated_ = simulate_at_settled_clock(trace_, lowered_.program, plan, config_, options_, result);
        result.clock_hz = config_.clock;
        result.power_limit = config_.power.limit;
        note_power_above_limit(mean_power(trace_, simulated_, config_.clock), config_, result);
    }

    std::vector<std::vector<ConcurrentTime>> time_together(const std::vector<ConcurrentRun>& runs, RunResult& result) override {
        const double us = config_.clock / 1e6;  // cycles
        const auto cycles = [us](double time) { return static_cast<models::Cycle>(std::llround(std::max(0.0, time) * us)); };
        const double overhead_us = (config_.launch.before + config_.launch.after) * 1e6;
        std::vector<std::vector<GpuSession::Member>> members(runs.size());
        std::vector<DistinctWork> work;
        std::vector<std::size_t> run_of_work, expected(runs.size());
        std::vector<std::string> keys;
        std::set<std::string> seen;
        const std::string device = device_key(config_);
        for (std::size_t r = 0; r < runs.size(); ++r) {
            double cost = 0;
            std::string first;
            for (const ConcurrentKernel& kernel : runs[r]) {
                const std::size_t place = place_[lowered_.ops[kernel.op].first_launch + kernel.kernel];
                const PlannedLaunch& planned = simulated_.plan[place];
                GpuSession::Member member{&planned, {}};
                member.order.priority = kernel.priority;
                member.order.earliest = 1 + cycles(kernel.earliest_us);
                // A row's time contains what of the launch's overhead is not its gap.
                member.order.gap = cycles(overhead_us - config_.launch.gap * 1e6 + kernel.gap_us);
                for (const std::size_t before : kernel.after) member.order.after.push_back(static_cast<std::uint32_t>(before));
                members[r].push_back(std::move(member));
                cost += expected_cost(lowered_.program, planned, trace_);
                expected[r] += simulated_.outcome(place).cycles;
                if (first.empty()) first = planned.launch->kernel->entry;
            }
            keys.push_back(key_of(members[r]));
            if (!seen.insert(keys.back()).second) continue;
            work.push_back({keys.back(), {device + keys.back()}, fmt::format("{} and {} beside it", first, runs[r].size() - 1), cost});
            run_of_work.push_back(r);
        }
        const auto make_runner = [&](const std::vector<OpenWork>& open, unsigned workers) -> std::unique_ptr<JobRunner> {
            std::vector<JointJobs::Job> jobs;
            for (const OpenWork& one : open)
                jobs.push_back({&members[run_of_work[one.work]], one.part, expected[run_of_work[one.work]]});
            return std::make_unique<JointJobs>(config_, options_, lowered_.program, std::move(jobs),
                                               threads_per_worker(open.size(), workers));
        };
        const std::map<std::string, LaunchOutcome> outcomes = time_distinct(
            work,
            {"run of kernels", make_runner,
             [&](const LaunchOutcome& outcome) { result.simulation.warp_instructions += outcome.warp_instructions; }},
            options_, result);
        std::vector<std::vector<ConcurrentTime>> times(runs.size());
        for (std::size_t r = 0; r < runs.size(); ++r) {
            for (const auto& [ready, begin, end] : outcomes.at(keys[r]).together)
                times[r].push_back({static_cast<double>(begin - ready) / us,
                                    static_cast<double>(end - begin) / us + overhead_us - config_.launch.gap * 1e6});
        }
        return times;
    }

    RunTraced traced_device() const override {
        const auto session = std::make_shared<GpuSession>(config_, options_.tick_every_cycle);
        return [this, session](std::size_t launch, models::SignalTrace& signals) {
            const PlannedLaunch& planned = simulated_.plan[launch];
            session->set_l2_size(session->spills(planned)
                                     ? config_.l2.bytes
                                     : canonical_l2_bytes(config_, lowered_.program, planned));
            session->set_signals(&signals);
            session->run(lowered_.program, planned);
        };
    }

    std::vector<OpOutcome> outcomes(RunResult& result) const override {
        std::vector<OpOutcome> per_op(trace_.ops.size());
        for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
            const trace::Op& op = trace_.ops[i];
            const lowering::GpuLoweredOp& op_lowering = lowered_.ops[i];
            OpOutcome& outcome = per_op[i];
            if (op.kind == trace::OpKind::collective) {
                outcome = communication_outcome(op, result);
            } else if (!is_run(op, options_)) {
                outcome.kernels.push_back(left_out(op));
                continue;
            } else if (!op_lowering.unsupported.empty()) {
                outcome.copy = op.kind == trace::OpKind::host_copy;
                outcome.blocks_host =
                    outcome.copy &&
                    op.get(keys::host_copy.blocking,
                           op.get(keys::host_copy.direction) == "device_to_host" ? 1 : 0) != 0;
                outcome.kernels.push_back(estimate_on_gpu(trace_, op, config_, op_lowering.unsupported));
            } else if (op_lowering.launch_count == 0) {
                outcome.view = true;
            }
            for (std::uint32_t k = 0; k < op_lowering.launch_count; ++k) {
                const std::size_t launch = place_[op_lowering.first_launch + k];
                outcome.kernels.push_back(kernel_result_of(simulated_, launch));
            }
        }
        return per_op;
    }

  private:
    KernelResult kernel_result_of(const Simulated& simulated, std::size_t place) const {
        const PlannedLaunch& planned = simulated.plan[place];
        const program::KernelLaunch& launch = *planned.launch;
        KernelResult kernel = kernel_result(launch.kernel->entry, launch.grid, launch.block, simulated.outcome(place),
                                            config_, simulated.overlaps[place]);
        kernel.dependency_release = planned.dependency_release;
        return kernel;
    }

    const trace::Trace& trace_;
    const SimulateOptions& options_;
    models::gpu::GpuConfig config_;  ///< after time() at the settled clock
    lowering::GpuLowering lowered_;
    std::vector<std::size_t> place_;  ///< of each launch of the program in the plan
    Simulated simulated_;
};

}  // namespace

std::unique_ptr<PlannedStep> plan_on_gpu(const trace::Trace& trace, const GpuMachine& machine,
                                         const SimulateOptions& options, RunResult& result) {
    return std::make_unique<GpuStep>(trace, machine, options, result);
}

}  // namespace heddle::sim
