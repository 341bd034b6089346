#include "sim/tpu/tpu_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "isa/common/error.h"
#include "models/tpu/tpu.h"
#include "sim/run/time/distinct_work.h"
#include "sim/run/time/launch_outcome.h"
#include "sim/run/time/op_programs.h"
#include "sim/run/numerics/numerics.h"
#include "sim/tpu/tiling_cache.h"
#include "sim/tpu/tpu_dump.h"
#include "sim/tpu/tpu_options.h"
#include "sim/run/workers/worker_pool.h"
#include "workloads/lowering/tpu/common_memory.h"
#include "workloads/lowering/tpu/tpu_lowering.h"
#include "workloads/reference/values.h"
#include "workloads/trace/turns.h"

namespace heddle::sim {
namespace {

std::string tpu_key(const models::TpuConfig& config) {
    models::TpuConfig copy = config;
    models::ParameterList list;
    copy.describe(list);
    return "tpu\n" + text_of(list);
}

/// `common`: storages that lie in common memory.
std::string tpu_op_key(const trace::Trace& trace, const trace::Op& op, const std::set<std::uint64_t>& common) {
    return op_key(
        trace, op,
        // Tensors without a shared storage are told apart by their number.
        [&](trace::TensorId id) { return lowering::common_memory_storage(trace.tensor(id), id); },
        [&](std::uint64_t storage) { return common.contains(storage) ? " common" : ""; });
}

/// More than one op: operands can be brought while another op runs.
bool is_step(const trace::Trace& trace) {
    return trace.ops.size() > 1;
}

LaunchOutcome outcome_of(const models::TpuResult& result) {
    LaunchOutcome outcome;
    outcome.cycles = result.cycles;
    outcome.seconds = result.seconds;
    outcome.dram_bytes = static_cast<double>(result.bytes_loaded + result.bytes_stored);
    outcome.bound_by = result.bound_by;
    outcome.utilisation = {{"matrix unit", result.matrix_busy},
                           {"vector unit", result.vector_busy},
                           {"hbm", result.hbm_busy},
                           {"multiply-accumulates", result.mac_utilisation}};
    // All time of the matrix units, in the terms of the TPU v1 paper.
    for (const auto& [reason, share] : models::shares_of(result.where))
        outcome.time_by_reason[reason] = share;
    outcome.time_by_unit = models::time_by_unit(result);
    return outcome;
}

bool is_empty(const tpu::Program& program) {
    return std::all_of(program.cores.begin(), program.cores.end(),
                       [](const tpu::CoreProgram& core) { return core.instructions.size() <= 1; });
}

/// Lowers one op at a time and runs it alone in HBM.
class TpuJobs : public JobRunner {
  public:
    TpuJobs(const trace::Trace& trace, const models::TpuConfig& config, bool tick_every_cycle,
            std::vector<trace::OpId> jobs, const std::set<std::uint64_t>& common)
        : trace_(trace),
          tpu_("tpu", config),
          target_(models::target_of(config)),
          lowering_(lowering_options_of(config, is_step(trace))),
          jobs_(std::move(jobs)),
          common_(common) {
        options_.tick_every_cycle = tick_every_cycle;
        lowering_.tilings = &tilings_;
    }

    void set_signals(models::SignalTrace* signals) { options_.signals = signals; }

    std::string run(std::size_t job) override {
        const double before = processor_seconds();
        const trace::OpId op = jobs_[job];
        const std::uint64_t searched = tilings_.searched();
        const lowering::TensorPlacement placement(trace_, target_, std::span(&op, 1), common_);
        const lowering::LoweredOp lowered = lowering::lower(trace_, op, target_, placement, lowering_);
        LaunchOutcome outcome;
        if (!lowered.supported) {
            outcome.unsupported = lowered.reason_if_not;
        } else if (!is_empty(lowered.program)) {
            tpu::Memory memory;
            placement.allocate(memory, false, lowered.workspace_bytes);
            outcome = outcome_of(tpu_.run(lowered.program, memory, options_));
        }
        outcome.tilings_searched = tilings_.searched() - searched;
        outcome.host_seconds = processor_seconds() - before;
        return to_text(outcome);
    }

  private:
    const trace::Trace& trace_;
    models::Tpu tpu_;
    target::TpuTarget target_;
    TilingCache tilings_;
    lowering::TpuLoweringOptions lowering_;
    const std::vector<trace::OpId> jobs_;  ///< by job
    const std::set<std::uint64_t>& common_;
    models::TpuRunOptions options_;
};

double peak_rate(const models::TpuConfig& config) {
    return 2.0 * config.cores * config.matrix.per_core * config.matrix.rows * config.matrix.columns *
           config.clock_hertz;
}

/// Bytes over HBM bandwidth, or operations over the matrix units' peak.
KernelResult estimate_on_tpu(const trace::Trace& trace, const trace::Op& op, const models::TpuConfig& config,
                             const std::string& reason) {
    const double memory = trace::bytes_moved(trace, op) / (config.hbm.bandwidth * config.hbm.efficiency);
    return estimated_row(op, reason,
                         {memory, trace::floating_point_operations(trace, op) / peak_rate(config),
                          config.hbm.latency_cycles / config.clock_hertz, "HBM", "matrix unit"});
}

class TpuTraining : public TrainingDevice {
  public:
    TpuTraining(const trace::Trace& trace, const models::TpuConfig& config, bool tick_every_cycle)
        : trace_(trace),
          tpu_("tpu", config),
          placement_(trace, models::target_of(config), {},
                     lowering::common_memory_storages(trace, config.cmem.bytes)) {
        const target::TpuTarget target = models::target_of(config);
        std::uint64_t workspace = 0;
        TilingCache tilings;
        lowering::TpuLoweringOptions options = lowering_options_of(config, is_step(trace));
        options.tilings = &tilings;
        for (trace::OpId op = 0; op < trace.ops.size(); ++op) {
            lowered_.push_back(lowering::lower(trace, op, target, placement_, options));
            if (!lowered_.back().supported) {
                throw Error("--numerics needs a program for every op: " + lowered_.back().reason_if_not,
                            {.key = "op " + std::to_string(op) + " (" + trace.ops[op].name + ")"},
                            "leave --numerics out to estimate such ops");
            }
            workspace = std::max(workspace, lowered_.back().workspace_bytes);
        }
        placement_.allocate(memory_, true, workspace);
        options_.mode = models::TpuMode::functional;
        options_.tick_every_cycle = tick_every_cycle;
    }

    void write(trace::TensorId id, const std::vector<double>& values) override {
        placement_.write(memory_, trace_, id, values);
    }
    std::vector<double> read(trace::TensorId id) override { return placement_.read(memory_, trace_, id); }
    void run_step() override {
        run([](const trace::Op&) { return true; });
    }
    void run_passes() override {
        run([](const trace::Op& op) { return op.phase != trace::Phase::optimizer; });
    }
    void run_update() override {
        run([](const trace::Op& op) { return op.phase == trace::Phase::optimizer; });
    }
    std::vector<std::uint64_t> time_step() override {
        // What the step overwrites is put back.
        std::map<trace::TensorId, std::vector<double>> before;
        for (const trace::TensorId id : reference::external_tensors(trace_)) before[id] = read(id);
        std::vector<std::uint64_t> cycles = run([](const trace::Op&) { return true; });
        for (const auto& [id, values] : before) write(id, values);
        return cycles;
    }
    /// Matrix products read bf16, whatever the tensors are.
    double input_roundoff(trace::ElementType) const override { return 0x1p-8; }

  private:
    template <class Chosen>
    std::vector<std::uint64_t> run(Chosen chosen) {
        std::vector<std::uint64_t> cycles;
        for (std::size_t i = 0; i < lowered_.size(); ++i) {
            if (!chosen(trace_.ops[i])) continue;
            const tpu::Program& program = lowered_[i].program;
            cycles.push_back(is_empty(program) ? 0 : tpu_.run(program, memory_, options_).cycles);
        }
        return cycles;
    }

    const trace::Trace& trace_;
    models::Tpu tpu_;
    lowering::TensorPlacement placement_;
    tpu::Memory memory_;
    std::vector<lowering::LoweredOp> lowered_;
    models::TpuRunOptions options_;
};

class TrainingJob : public JobRunner {
  public:
    TrainingJob(const trace::Trace& trace, const models::TpuConfig& config, const SimulateOptions& options)
        : trace_(trace), config_(config), options_(options) {}
    std::string run(std::size_t) override {
        TpuTraining device(trace_, config_, options_.tick_every_cycle);
        return to_text(train_beside_reference(trace_, device, training_plan(options_, tpu_key(config_))));
    }

  private:
    const trace::Trace& trace_;
    const models::TpuConfig& config_;
    const SimulateOptions& options_;
};

/// One file for each distinct program, in the order of the step.
void dump_programs(const trace::Trace& trace, const models::TpuConfig& config,
                   const std::vector<std::string>& keys, const std::set<std::uint64_t>& common,
                   const std::string& directory) {
    const target::TpuTarget target = models::target_of(config);
    TilingCache tilings;
    lowering::TpuLoweringOptions options = lowering_options_of(config, is_step(trace));
    options.tilings = &tilings;
    std::set<std::string> seen;
    for (trace::OpId op = 0; op < trace.ops.size(); ++op) {
        if (keys[op].empty() || !seen.insert(keys[op]).second) continue;
        const lowering::TensorPlacement placement(trace, target, std::span(&op, 1), common);
        const lowering::LoweredOp lowered = lowering::lower(trace, op, target, placement, options);
        const std::string name = fmt::format("{:04}-{}.tpu", op, trace::name_of(trace.ops[op].kind));
        write_program(directory, name,
                      lowered.supported ? program_text(trace, trace.ops[op], lowered, target)
                                        : "# no program: " + lowered.reason_if_not + "\n");
    }
}

bool is_communication(const trace::Op& op) {
    return op.kind == trace::OpKind::collective;
}

class TpuStep final : public PlannedStep {
  public:
    TpuStep(const trace::Trace& trace, const TpuMachine& machine, const SimulateOptions& options, RunResult& result)
        : trace_(trace), options_(options), config_(machine.config), keys_(trace.ops.size()) {
        check_products(trace, config_);
        check_memory(trace, machine.memory_room(), 0, options, result);
        common_ = lowering::common_memory_storages(trace, config_.cmem.bytes);
        for (trace::OpId i = 0; i < trace.ops.size(); ++i) {
            const trace::Op& op = trace.ops[i];
            if (is_communication(op) || op.kind == trace::OpKind::host_copy || op.kind == trace::OpKind::unknown)
                continue;
            keys_[i] = tpu_op_key(trace, op, common_) + (is_step(trace) ? "in a step\n" : "");
            programs_.push_back(i);
        }
    }

    std::vector<TraceableKernel> launches() const override {
        std::vector<TraceableKernel> programs;
        programs.reserve(programs_.size());
        for (const trace::OpId i : programs_)
            programs.push_back({keys_[i], trace::name_of(trace_.ops[i].kind), trace_.ops[i].name});
        return programs;
    }

    void time(RunResult& result) override {
        const std::string device = tpu_key(config_);
        std::vector<DistinctWork> work;
        std::vector<trace::OpId> ops;  // of each work
        std::set<std::string> seen;
        for (const trace::OpId i : programs_) {
            if (!seen.insert(keys_[i]).second) continue;
            const trace::Op& op = trace_.ops[i];
            work.push_back({keys_[i], {device + keys_[i]}, op.name, 1 + trace::bytes_moved(trace_, op)});
            ops.push_back(i);
        }
        const auto make_runner = [&](const std::vector<OpenWork>& open, unsigned) -> std::unique_ptr<JobRunner> {
            std::vector<trace::OpId> jobs;
            jobs.reserve(open.size());
            for (const OpenWork& one : open) jobs.push_back(ops[one.work]);
            return std::make_unique<TpuJobs>(trace_, config_, options_.tick_every_cycle, std::move(jobs), common_);
        };
        const auto simulated = [&](const LaunchOutcome& outcome) {
            result.simulation.tpu_cycles += outcome.cycles;
            result.simulation.tilings_searched += outcome.tilings_searched;
        };
        outcomes_ = time_distinct(work, {"program", make_runner, simulated}, options_, result);
        if (!options_.dump_programs.empty())
            dump_programs(trace_, config_, keys_, common_, options_.dump_programs);
    }

    /// Views have no program, and what is not understood has none.
    bool has_run(std::size_t launch) const override { return outcomes_.at(keys_[programs_[launch]]).cycles != 0; }

    RunTraced traced_device() const override {
        const auto device =
            std::make_shared<TpuJobs>(trace_, config_, options_.tick_every_cycle, programs_, common_);
        return [device](std::size_t launch, models::SignalTrace& signals) {
            device->set_signals(&signals);
            device->run(launch);
        };
    }

    std::vector<OpOutcome> outcomes(RunResult& result) const override {
        std::vector<OpOutcome> per_op(trace_.ops.size());
        bool launched = false;
        for (trace::OpId i = 0; i < trace_.ops.size(); ++i) {
            const trace::Op& op = trace_.ops[i];
            OpOutcome& outcome = per_op[i];
            if (is_communication(op)) {
                outcome = communication_outcome(op, result);
                continue;
            }
            if (keys_[i].empty() || !outcomes_.at(keys_[i]).unsupported.empty()) {
                const std::string reason =
                    keys_[i].empty() ? trace::name_of(op.kind) : outcomes_.at(keys_[i]).unsupported;
                outcome.copy = op.kind == trace::OpKind::host_copy;
                outcome.kernels.push_back(estimate_on_tpu(trace_, op, config_, reason));
                continue;
            }
            const LaunchOutcome& found = outcomes_.at(keys_[i]);
            if (found.cycles == 0) {
                outcome.view = true;
                continue;
            }
            KernelResult kernel = row_of(op, found);
            // The host starts one program for the whole step.
            if (!launched) kernel.gap_us = config_.launch_seconds * 1e6;
            launched = true;
            outcome.kernels.push_back(kernel);
        }
        if (std::any_of(trace_.ops.begin(), trace_.ops.end(),
                        [](const trace::Op& op) { return !op.kernel_name.empty(); })) {
            result.notes.push_back(
                "the recorded times are those of another device; coverage weighs ops by them");
        }
        return per_op;
    }

  private:
    const trace::Trace& trace_;
    const SimulateOptions& options_;
    const models::TpuConfig& config_;
    std::set<std::uint64_t> common_;     ///< storages that lie in common memory
    std::vector<std::string> keys_;      ///< by op; "": no program
    std::vector<trace::OpId> programs_;  ///< ops that have one, in order
    std::map<std::string, LaunchOutcome> outcomes_;
};

}  // namespace

std::unique_ptr<PlannedStep> plan_on_tpu(const trace::Trace& trace, const TpuMachine& machine,
                                         const SimulateOptions& options, RunResult& result) {
    return std::make_unique<TpuStep>(trace, machine, options, result);
}

std::unique_ptr<TrainingDevice> tpu_training_device(const trace::Trace& trace, const models::TpuConfig& config) {
    return std::make_unique<TpuTraining>(trace, config, false);
}

NumericsResult train_on_tpu(const trace::Trace& trace, const models::TpuConfig& config,
                            const SimulateOptions& options, const std::vector<OpOutcome>& outcomes) {
    TrainingReport report;
    run_jobs(
        1, 1,
        [&]() -> std::unique_ptr<JobRunner> {
            return std::make_unique<TrainingJob>(trace, config, options);
        },
        [&](std::size_t, const std::string& text) { report = training_report_from_text(text); });
    for (std::size_t i = 0; i < trace.ops.size() && !report.cycles.empty(); ++i) {
        const std::uint64_t alone = outcomes[i].kernels.empty() ? 0 : outcomes[i].kernels[0].cycles;
        if (report.cycles.at(i) != alone) {
            throw std::runtime_error(fmt::format("op {} ({}) takes {} cycles with values and {} without", i,
                                                 trace.ops[i].name, report.cycles[i], alone));
        }
    }
    return report.numerics;
}

}  // namespace heddle::sim
