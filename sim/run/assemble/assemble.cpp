#include "sim/run/assemble/assemble.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "workloads/trace/module.h"
#include "workloads/trace/turns.h"

namespace heddle::sim {
namespace {

std::string shape_text(const trace::Tensor& tensor) {
    std::string text;
    for (const std::int64_t extent : tensor.shape) text += (text.empty() ? "" : "x") + std::to_string(extent);
    return text.empty() ? "scalar" : text;
}

/// The least certain part decides what an op as a whole is called.
Fidelity least_certain(Fidelity a, Fidelity b) {
    return std::max(a, b);
}

/// What bounds the kernel that takes the most time.
std::string bound_of_longest(const std::vector<KernelResult>& kernels) {
    const auto longest = std::max_element(kernels.begin(), kernels.end(),
                                          [](const auto& a, const auto& b) { return a.time_us < b.time_us; });
    return longest == kernels.end() ? std::string() : longest->bound_by;
}

/// Adds `time` to the reason-weighted means that become the step's utilisation.
void add_weighted(std::map<std::string, double>& sums, const std::map<std::string, double>& parts,
                  double time) {
    for (const auto& [name, fraction] : parts) sums[name] += fraction * time;
}

/// Throughputs of the whole step, and what sampling adds to its uncertainty.
class ThroughputSums {
  public:
    void add(const KernelResult& kernel, RunResult& result) {
        for (const auto& [name, one] : kernel.throughputs) {
            Throughput& sum = result.throughputs[name];
            sum.unit = one.unit;
            sum.amount += one.amount;
            seconds_at_ceiling_[name] += one.amount / one.ceiling;
        }
        if (!kernel.sampled) return;
        // The same kernel errs the same way each time: errors add up.
        const double time = kernel.time_us + kernel.gap_us;
        result.sampling_error_us = result.sampling_error_us.value_or(0) + kernel.sampled->error * time;
        sampled_us_ += time;
        simulated_us_ += kernel.sampled->simulated * time;
    }
    void finish(RunResult& result) const {
        for (auto& [name, sum] : result.throughputs) sum.ceiling = sum.amount / seconds_at_ceiling_.at(name);
        if (sampled_us_ > 0) result.simulated_fraction = simulated_us_ / sampled_us_;
    }

  private:
    std::map<std::string, double> seconds_at_ceiling_;
    double sampled_us_ = 0, simulated_us_ = 0;
};

std::uint64_t times(std::uint64_t count, double turns) {
    constexpr double kMost = 0x1p63;
    return static_cast<std::uint64_t>(std::min(static_cast<double>(count) * turns, kMost));
}

/// All launches in the turns that the op stands for, instead of one.
void stand_for(KernelResult& kernel, double turns) {
    if (turns == 1) return;
    kernel.turns = turns;
    for (double* const amount : {&kernel.time_us, &kernel.gap_us, &kernel.dram_bytes, &kernel.l2_bytes})
        *amount *= turns;
    for (std::uint64_t* const count : {&kernel.cycles, &kernel.overlap_cycles, &kernel.warp_instructions})
        *count = times(*count, turns);
    for (auto& [part, joules] : kernel.energy) joules *= turns;
    for (auto& [name, one] : kernel.throughputs) one.amount *= turns;
}

}  // namespace

std::string name_of(Fidelity fidelity) {
    switch (fidelity) {
        case Fidelity::cycle:
            return "cycle";
        case Fidelity::estimated:
            return "estimated";
        case Fidelity::unknown:
            return "unknown";
    }
    return "unknown";
}

std::string describe_op(const trace::Trace& trace, const trace::Op& op) {
    std::string kind = trace::name_of(op.kind);
    if (op.kind == trace::OpKind::collective) {
        return fmt::format("{} {} bytes", op.get(keys::collective.collective, "collective"),
                           op.get(keys::collective.bytes));
    }
    // What nobody understands is told by its name, which says why, where no recorded time stands in for it.
    if (op.kind == trace::OpKind::unknown && !op.measured_us && !op.name.empty()) return kind + " " + op.name;
    if (op.outputs.empty() && op.inputs.empty()) return kind;
    const trace::Tensor& out = trace.tensor(op.outputs.empty() ? op.inputs[0] : op.outputs[0]);
    if (op.kind == trace::OpKind::matmul && op.inputs.size() >= 2) {
        const trace::Tensor& a = trace.tensor(op.inputs[0]);
        const bool transpose_a = op.get(keys::matmul.transpose_a) != 0,
                   transpose_b = op.get(keys::matmul.transpose_b) != 0;
        if (a.shape.size() >= 2 && out.shape.size() >= 2) {
            const std::int64_t k = a.shape[a.shape.size() - (transpose_a ? 2 : 1)];
            std::string batch;
            for (std::size_t i = 0; i + 2 < out.shape.size(); ++i)
                batch += std::to_string(out.shape[i]) + "*";
            return fmt::format("matmul {}{}x{}x{} {} {}{}", batch, out.shape[out.shape.size() - 2],
                               out.shape.back(), k, trace::name_of(a.type), transpose_a ? 't' : 'n',
                               transpose_b ? 't' : 'n');
        }
    }
    const trace::Tensor& shown =
        op.kind == trace::OpKind::reduce && !op.inputs.empty() ? trace.tensor(op.inputs[0]) : out;
    return fmt::format("{} {} {}", kind, shape_text(shown), trace::name_of(shown.type));
}

void assemble_step(const trace::Trace& trace, const std::vector<OpOutcome>& outcomes, const StepSchedule& schedule,
                   RunResult& result) {
    using Key = std::tuple<std::string, std::string, std::string, Fidelity>;
    std::map<Key, OpSummary> groups;
    std::map<Key, bool> all_measured;
    double measured_total = 0;
    bool anything_measured = false, everything_measured = true;
    double weight_by_fidelity[3] = {0, 0, 0};
    std::map<std::string, double> utilisation_sums;
    ThroughputSums throughputs;

    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        const trace::Op& op = trace.ops[i];
        const OpOutcome& outcome = outcomes[i];
        if (outcome.view) continue;
        const std::string name = describe_op(trace, op);
        const std::string module = trace::module_of(op);
        const double turns = trace::turns_of(op);
        const double flops = outcome.communication ? 0 : turns * trace::floating_point_operations(trace, op);
        const double bytes = turns * trace::bytes_moved(trace, op);
        const std::optional<double> measured =
            op.measured_us ? std::optional(turns * *op.measured_us) : std::nullopt;

        double time_us = 0;
        Fidelity fidelity = Fidelity::cycle;
        for (std::size_t k = 0; k < outcome.kernels.size(); ++k) {
            KernelResult kernel = outcome.kernels[k];
            stand_for(kernel, turns);
            kernel.op = static_cast<std::uint32_t>(i);
            kernel.op_name = name;
            kernel.kind = trace::name_of(op.kind);
            kernel.phase = trace::name_of(op.phase);
            kernel.recorded_kernel = op.kernel_name;
            kernel.module = module;
            if (k == 0) {
                kernel.measured_us = measured;
                kernel.flops = flops;
                kernel.bytes = bytes;
            }
            kernel.stream = op.stream;
            time_us += kernel.time_us;
            fidelity = least_certain(fidelity, kernel.fidelity);
            if (!outcome.communication) add_weighted(utilisation_sums, kernel.utilisation, kernel.time_us);
            if (!kernel.energy.empty()) result.energy_time_us += kernel.time_us + kernel.gap_us;
            for (const auto& [part, joules] : kernel.energy) result.energy[part] += joules;
            if (!outcome.communication) throughputs.add(kernel, result);
            result.kernels.push_back(std::move(kernel));
        }

        const Key key{name, trace::name_of(op.kind), trace::name_of(op.phase), fidelity};
        OpSummary& summary = groups[key];
        if (summary.count == 0) {
            summary.name = name;
            summary.kind = trace::name_of(op.kind);
            summary.phase = trace::name_of(op.phase);
            summary.fidelity = fidelity;
            summary.bound_by = bound_of_longest(outcome.kernels);
            all_measured[key] = true;
        }
        summary.count += trace::count_of_turns(op);
        summary.time_us += time_us;
        summary.flops += flops;
        summary.bytes += bytes;
        if (measured) {
            summary.measured_us = summary.measured_us.value_or(0) + *measured;
            summary.deviation_us += std::abs(time_us - *measured);
        } else {
            all_measured[key] = false;
        }

        if (outcome.communication) {
            result.communication_us += time_us;
            continue;
        }
        result.device_busy_us += time_us;
        if (measured) {
            anything_measured = true;
            measured_total += *measured;
        } else {
            everything_measured = false;
        }
        weight_by_fidelity[static_cast<int>(fidelity)] += measured.value_or(time_us);
    }

    for (auto& [key, summary] : groups) {
        if (!all_measured[key]) summary.measured_us.reset();
        result.ops.push_back(std::move(summary));
    }
    std::stable_sort(result.ops.begin(), result.ops.end(),
                     [](const OpSummary& a, const OpSummary& b) { return a.time_us > b.time_us; });
    for (std::size_t i = 0; i < schedule.work.size(); ++i) {
        result.kernels[i].start_us = schedule.work[i].start_us;
        result.kernels[i].end_us = schedule.work[i].end_us;
        result.kernels[i].launched_us = schedule.work[i].launched_us;
    }
    result.division = schedule.division;
    result.step_time_us = schedule.division.total_us;
    result.launch_gap_us = schedule.division.gaps_us;
    if (result.memory) result.memory->starts_us = schedule.op_starts_us;
    if (anything_measured && everything_measured) result.measured_total_us = measured_total;
    const double weight = weight_by_fidelity[0] + weight_by_fidelity[1] + weight_by_fidelity[2];
    if (weight > 0) {
        result.coverage.cycle = weight_by_fidelity[0] / weight;
        result.coverage.estimated = weight_by_fidelity[1] / weight;
        result.coverage.unknown = weight_by_fidelity[2] / weight;
    }
    throughputs.finish(result);
    for (const auto& [name, sum] : utilisation_sums) {
        if (result.device_busy_us > 0) result.utilisation[name] = sum / result.device_busy_us;
    }
}

}  // namespace heddle::sim
