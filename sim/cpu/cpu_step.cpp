#include "sim/cpu/cpu_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <map>
#include <set>

#include "isa/common/error.h"
#include "isa/cpu/execute.h"
#include "models/cpu/cpu.h"
#include "sim/run/time/distinct_work.h"
#include "sim/run/time/launch_outcome.h"
#include "sim/run/time/op_programs.h"
#include "sim/run/workers/worker_pool.h"
#include "workloads/lowering/cpu/trace_memory.h"
#include "workloads/reference/values.h"
#include "workloads/trace/turns.h"

namespace heddle::sim {
namespace {

std::string cpu_key(const models::CpuConfig& config) {
    models::CpuConfig copy = config;
    models::ParameterList list;
    copy.describe(list);
    return "cpu\n" + text_of(list);
}

/// `resident`: storages that the last cache holds when the op begins.
std::string cpu_op_key(const trace::Trace& trace, const trace::Op& op, const std::set<std::uint64_t>& resident) {
    return op_key(
        trace, op, [&](trace::TensorId id) { return lowering::cpu_storage(trace, id); },
        [&](std::uint64_t storage) { return resident.contains(storage) ? " resident" : ""; });
}

/// Which storages the last cache holds: whole tensors, the least recently used leaves first.
class LastCache {
  public:
    explicit LastCache(double bytes) : room_(bytes) {}
    const std::set<std::uint64_t>& held() const { return held_; }
    void use(std::uint64_t storage, double bytes) {
        if (held_.erase(storage) != 0) {
            const auto at = std::find_if(order_.begin(), order_.end(), [&](const auto& entry) { return entry.first == storage; });
            used_ -= at->second;
            order_.erase(at);
        }
        if (bytes > room_) return;
        order_.emplace_back(storage, bytes);
        held_.insert(storage);
        used_ += bytes;
        while (used_ > room_) {
            used_ -= order_.front().second;
            held_.erase(order_.front().first);
            order_.pop_front();
        }
    }

  private:
    double room_, used_ = 0;
    std::list<std::pair<std::uint64_t, double>> order_;
    std::set<std::uint64_t> held_;
};

bool has_no_program(const trace::Op& op) {
    return op.kind == trace::OpKind::collective || op.kind == trace::OpKind::host_copy || op.kind == trace::OpKind::unknown;
}

LaunchOutcome cpu_outcome(const models::CpuResult& result) {
    LaunchOutcome outcome;
    outcome.cycles = std::max<std::uint64_t>(1, result.cycles);
    outcome.seconds = result.seconds;
    outcome.dram_bytes = result.memory_bytes;
    outcome.bound_by = result.bound_by;
    for (const auto& [unit, part] : result.utilisation) outcome.utilisation[unit] = std::min(1.0, part);
    if (result.folded > 0)
        outcome.sampled = SampledKernel{1 - result.folded, result.bar, "loops whose iterations take the same time were folded"};
    return outcome;
}

/// Lowers one op at a time and runs it.
class CpuJobs : public JobRunner {
  public:
    CpuJobs(const trace::Trace& trace, const models::CpuConfig& config, std::vector<trace::OpId> jobs,
            const std::map<trace::OpId, std::set<std::uint64_t>>& resident)
        : trace_(trace), cpu_("cpu", config), target_(cpu_target(config)), jobs_(std::move(jobs)), resident_(resident) {}

    std::string run(std::size_t job) override {
        const double before = processor_seconds();
        const trace::OpId op = jobs_[job];
        const lowering::CpuLoweredOp lowered = lowering::lower_for_cpu(trace_, op, target_);
        LaunchOutcome outcome;
        if (!lowered.supported) {
            outcome.unsupported = lowered.reason_if_not;
        } else if (!lowered.program.regions.empty()) {
            models::CpuRunOptions options;
            options.resident.assign(lowered.program.buffers.size(), false);
            for (std::size_t i = 0; i < lowered.tensors.size(); ++i)
                options.resident[i] = resident_.at(op).contains(lowering::cpu_storage(trace_, lowered.tensors[i]));
            outcome = cpu_outcome(cpu_.run(lowered.program, options));
        }
        outcome.host_seconds = processor_seconds() - before;
        return to_text(outcome);
    }

  private:
    const trace::Trace& trace_;
    models::Cpu cpu_;
    lowering::CpuTarget target_;
    const std::vector<trace::OpId> jobs_;
    const std::map<trace::OpId, std::set<std::uint64_t>>& resident_;
};

/// Bytes over the bandwidth of memory, or operations one at a time on one core.
KernelResult estimate_on_cpu(const trace::Trace& trace, const trace::Op& op, const models::CpuConfig& config, const std::string& reason) {
    const double memory = trace::bytes_moved(trace, op) / (config.memory_bandwidth * config.sockets * config.memory_efficiency);
    double elements = 0;
    for (const trace::TensorId id : op.inputs) elements = std::max(elements, static_cast<double>(trace.tensor(id).elements()));
    const double operations = std::max(trace::floating_point_operations(trace, op), elements);
    return estimated_row(op, reason,
                         {memory, operations / (config.clock_all * config.program_threads()), config.memory_latency, "memory", "one operation at a time"});
}

class CpuStep final : public PlannedStep {
  public:
    CpuStep(const trace::Trace& trace, const CpuMachine& machine, const SimulateOptions& options, RunResult& result)
        : trace_(trace), options_(options), config_(machine.config), keys_(trace.ops.size()) {
        check_memory(trace, machine.memory_room(), 0, options, result);
        const double l3s = config_.l3_cores == 0 ? config_.sockets : std::max(1.0, static_cast<double>(config_.all_cores()) / config_.l3_cores);
        LastCache last(static_cast<double>(config_.l3.bytes) * l3s);
        for (trace::OpId i = 0; i < trace.ops.size(); ++i) {
            const trace::Op& op = trace.ops[i];
            std::set<std::uint64_t> held;
            for (const auto* ids : {&op.inputs, &op.outputs})
                for (const trace::TensorId id : *ids)
                    if (last.held().contains(lowering::cpu_storage(trace, id))) held.insert(lowering::cpu_storage(trace, id));
            for (const auto* ids : {&op.inputs, &op.outputs})
                for (const trace::TensorId id : *ids) last.use(lowering::cpu_storage(trace, id), static_cast<double>(trace.tensor(id).bytes()));
            if (has_no_program(op)) continue;
            keys_[i] = cpu_op_key(trace, op, held);
            resident_[i] = std::move(held);
            programs_.push_back(i);
        }
    }

    std::vector<TraceableKernel> launches() const override {
        std::vector<TraceableKernel> programs;
        for (const trace::OpId i : programs_) programs.push_back({keys_[i], trace::name_of(trace_.ops[i].kind), trace_.ops[i].name});
        return programs;
    }

    void time(RunResult& result) override {
        const std::string device = cpu_key(config_);
        std::vector<DistinctWork> work;
        std::vector<trace::OpId> ops;
        std::set<std::string> seen;
        for (const trace::OpId i : programs_) {
            if (!seen.insert(keys_[i]).second) continue;
            const trace::Op& op = trace_.ops[i];
            work.push_back({keys_[i], {device + keys_[i]}, op.name, 1 + trace::bytes_moved(trace_, op) + trace::floating_point_operations(trace_, op) / 16});
            ops.push_back(i);
        }
        const auto make_runner = [&](const std::vector<OpenWork>& open, unsigned) -> std::unique_ptr<JobRunner> {
            std::vector<trace::OpId> jobs;
            jobs.reserve(open.size());
            for (const OpenWork& one : open) jobs.push_back(ops[one.work]);
            return std::make_unique<CpuJobs>(trace_, config_, std::move(jobs), resident_);
        };
        outcomes_ = time_distinct(work, {"program", make_runner}, options_, result);
        if (!options_.dump_programs.empty()) throw Error("programs of a CPU are not written as files", {"--dump-programs", 0, ""}, "leave it out");
    }

    RunTraced traced_device() const override { throw Error("a CPU has no signals", {"--signals", 0, ""}, "leave it out"); }

    std::vector<OpOutcome> outcomes(RunResult& result) const override {
        std::vector<OpOutcome> per_op(trace_.ops.size());
        double time = 0, folded = 0, bar = 0;
        for (trace::OpId i = 0; i < trace_.ops.size(); ++i) {
            const trace::Op& op = trace_.ops[i];
            OpOutcome& outcome = per_op[i];
            if (op.kind == trace::OpKind::collective) {
                outcome = communication_outcome(op, result);
                continue;
            }
            if (keys_[i].empty() || !outcomes_.at(keys_[i]).unsupported.empty()) {
                const std::string reason = keys_[i].empty() ? trace::name_of(op.kind) : outcomes_.at(keys_[i]).unsupported;
                outcome.copy = op.kind == trace::OpKind::host_copy;
                outcome.kernels.push_back(estimate_on_cpu(trace_, op, config_, reason));
                outcome.kernels.back().gap_us = config_.dispatch_seconds * 1e6;
                continue;
            }
            const LaunchOutcome& found = outcomes_.at(keys_[i]);
            if (found.cycles == 0) {
                outcome.view = true;
                continue;
            }
            KernelResult kernel = row_of(op, found);
            // The same cores find the next op before they compute it.
            kernel.gap_us = config_.dispatch_seconds * 1e6;
            if (found.sampled) {
                folded += (1 - found.sampled->simulated) * found.seconds;
                bar += found.sampled->error * found.seconds;
            }
            time += found.seconds;
            outcome.kernels.push_back(std::move(kernel));
        }
        if (folded > 0)
            result.notes.push_back(fmt::format("{:.0f} % of the programs' time is of folded loops; their iterations differed by {:.2g} % before", 100 * folded / time,
                                               100 * bar / time));
        return per_op;
    }

  private:
    const trace::Trace& trace_;
    const SimulateOptions& options_;
    const models::CpuConfig& config_;
    std::vector<std::string> keys_;      ///< by op; "": no program
    std::vector<trace::OpId> programs_;  ///< ops that have one
    std::map<trace::OpId, std::set<std::uint64_t>> resident_;
    std::map<std::string, LaunchOutcome> outcomes_;
};

/// Values alone: what programs compute does not depend on when.
class CpuTraining : public TrainingDevice {
  public:
    CpuTraining(const trace::Trace& trace, const models::CpuConfig& config)
        : trace_(trace), target_(cpu_target(config)), lowered_(lower_all(trace, target_)), memory_(trace, lowered_) {}

    void write(trace::TensorId id, const std::vector<double>& values) override { memory_.write(id, values); }
    std::vector<double> read(trace::TensorId id) override { return memory_.read(id); }
    void run_step() override {
        run([](const trace::Op&) { return true; });
    }
    void run_passes() override {
        run([](const trace::Op& op) { return op.phase != trace::Phase::optimizer; });
    }
    void run_update() override {
        run([](const trace::Op& op) { return op.phase == trace::Phase::optimizer; });
    }
    std::vector<std::uint64_t> time_step() override { return {}; }
    double input_roundoff(trace::ElementType type) const override { return type == trace::ElementType::bf16 ? 0x1p-8 : type == trace::ElementType::f16 ? 0x1p-11 : 0x1p-24; }

  private:
    static std::vector<lowering::CpuLoweredOp> lower_all(const trace::Trace& trace, const lowering::CpuTarget& target) {
        std::vector<lowering::CpuLoweredOp> all;
        for (trace::OpId op = 0; op < trace.ops.size(); ++op) {
            all.push_back(lowering::lower_for_cpu(trace, op, target));
            if (!all.back().supported)
                throw Error("--numerics needs a program for every op: " + all.back().reason_if_not,
                            {.key = "op " + std::to_string(op) + " (" + trace.ops[op].name + ")"}, "leave --numerics out to estimate such ops");
        }
        return all;
    }
    template <class Chosen>
    void run(Chosen chosen) {
        for (std::size_t i = 0; i < lowered_.size(); ++i) {
            if (!chosen(trace_.ops[i])) continue;
            const auto bound = memory_.bind(lowered_[i]);
            cpu::Memory memory(lowered_[i].program, target_.threads, bound);
            cpu::execute(lowered_[i].program, memory);
        }
    }

    const trace::Trace& trace_;
    lowering::CpuTarget target_;
    std::vector<lowering::CpuLoweredOp> lowered_;
    lowering::CpuTraceMemory memory_;
};

class CpuTrainingJob : public JobRunner {
  public:
    CpuTrainingJob(const trace::Trace& trace, const models::CpuConfig& config, const SimulateOptions& options)
        : trace_(trace), config_(config), options_(options) {}
    std::string run(std::size_t) override {
        CpuTraining device(trace_, config_);
        return to_text(train_beside_reference(trace_, device, training_plan(options_, cpu_key(config_))));
    }

  private:
    const trace::Trace& trace_;
    const models::CpuConfig& config_;
    const SimulateOptions& options_;
};

}  // namespace

std::unique_ptr<PlannedStep> plan_on_cpu(const trace::Trace& trace, const CpuMachine& machine, const SimulateOptions& options, RunResult& result) {
    return std::make_unique<CpuStep>(trace, machine, options, result);
}

std::unique_ptr<TrainingDevice> cpu_training_device(const trace::Trace& trace, const models::CpuConfig& config) {
    return std::make_unique<CpuTraining>(trace, config);
}

NumericsResult train_on_cpu(const trace::Trace& trace, const models::CpuConfig& config, const SimulateOptions& options) {
    TrainingReport report;
    run_jobs(
        1, 1, [&]() -> std::unique_ptr<JobRunner> { return std::make_unique<CpuTrainingJob>(trace, config, options); },
        [&](std::size_t, const std::string& text) { report = training_report_from_text(text); });
    return report.numerics;
}

}  // namespace heddle::sim
