#include "sim/report/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/report/kind_summary.h"
#include "sim/report/not_understood.h"
#include "sim/report/numbers.h"
#include "sim/report/roofline.h"
#include "sim/report/text_plot.h"
#include "sim/report/text_table.h"
#include "sim/gpu/settle/power_limit.h"

namespace heddle::sim {
namespace {

constexpr std::size_t kSlowestOps = 10, kShownSteps = 12;

std::string rate(double amount, double microseconds, const std::string& unit) {
    if (amount <= 0 || microseconds <= 0) return "-";
    return format_si(amount / (microseconds * 1e-6), unit);
}

std::string measured_cell(const std::optional<double>& measured) {
    return measured ? format_microseconds(*measured) : "-";
}

std::string difference_cell(double simulated, const std::optional<double>& measured) {
    const std::string text = measured ? format_difference(simulated, *measured) : "";
    return text.empty() ? "-" : text;
}

double share(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

bool any_measured(const RunResult& result) {
    return std::any_of(result.ops.begin(), result.ops.end(),
                       [](const OpSummary& op) { return op.measured_us.has_value(); });
}

std::string fidelity_mark(const KindSummary& kind) {
    if (kind.time_us <= 0 || kind.cycle_us == kind.time_us) return "cycle";
    if (kind.estimated_us == kind.time_us) return "estimated";
    if (kind.unknown_us == kind.time_us) return "unknown";
    return fmt::format("{:.0f} % cycle", 100 * kind.cycle_us / kind.time_us);
}

std::string kind_table(const RunResult& result, bool measured, std::size_t width) {
    std::vector<std::string> heading{"op kind", "count",   "time",     heading_of_shares(result),
                                     "FLOP/s",  "bytes/s", "bound by", "fidelity"};
    std::vector<bool> right{false, true, true, true, true, true, false, false};
    if (measured) {
        heading.insert(heading.begin() + 3, {"measured", "difference", "error"});
        right.insert(right.begin() + 3, {true, true, true});
    }
    std::vector<std::vector<std::string>> rows{heading};
    const double whole = base_of_shares(result);
    for (const KindSummary& kind : summarise_by_kind(result)) {
        std::vector<std::string> row{kind.kind,
                                     format_count(kind.count),
                                     format_microseconds(kind.time_us),
                                     format_share(share(kind.time_us, whole)),
                                     rate(kind.flops, kind.time_us, "FLOP/s"),
                                     rate(kind.bytes, kind.time_us, "B/s"),
                                     kind.bound_by,
                                     fidelity_mark(kind)};
        if (measured) {
            row.insert(row.begin() + 3,
                       {measured_cell(kind.measured_us), difference_cell(kind.time_us, kind.measured_us),
                        kind.measured_us ? format_share(share(kind.deviation_us, *kind.measured_us)) : "-"});
        }
        rows.push_back(std::move(row));
    }
    return fit_columns(std::move(rows), right, width);
}

/// A line for each kind of unit of a TPU: its time by what it did, over the kernels that were simulated.
std::string units_table(const RunResult& result) {
    std::map<std::string, std::map<std::string, double>> sums;
    double time = 0;
    for (const KernelResult& kernel : result.kernels) {
        if (kernel.time_by_unit.empty()) continue;
        time += kernel.time_us;
        for (const auto& [unit, shares] : kernel.time_by_unit)
            for (const auto& [reason, share] : shares) sums[unit][reason] += share * kernel.time_us;
    }
    std::string text;
    for (const auto& [unit, reasons] : sums) {
        double told = 0;
        for (const auto& [reason, sum] : reasons) told += sum;
        std::vector<std::pair<double, std::string>> falling;
        for (const auto& [reason, sum] : reasons) falling.emplace_back(sum, reason);
        // Programs in which the unit does not occur leave it without an instruction.
        if (time - told > 1e-9 * time) falling.emplace_back(time - told, "not used");
        std::sort(falling.rbegin(), falling.rend());
        text += "time of the " + unit + ":";
        for (const auto& [sum, reason] : falling)
            if (sum > 0) text += " " + reason + " " + format_share(sum / time) + ",";
        text.back() = '\n';
    }
    return text;
}

std::string slowest_table(const RunResult& result, bool measured, std::size_t width) {
    std::vector<std::string> heading{"slowest ops", "phase", "count", "time", heading_of_shares(result), "bound by"};
    std::vector<bool> right{false, false, true, true, true, false};
    if (measured) {
        heading.insert(heading.begin() + 4, {"measured", "difference"});
        right.insert(right.begin() + 4, {true, true});
    }
    std::vector<std::vector<std::string>> rows{heading};
    for (const OpSummary& op : result.ops) {
        if (rows.size() > kSlowestOps) break;
        std::vector<std::string> row{op.name,
                                     op.phase,
                                     format_count(op.count),
                                     format_microseconds(op.time_us),
                                     format_share(share(op.time_us, base_of_shares(result))),
                                     op.bound_by};
        if (measured) {
            row.insert(row.begin() + 4,
                       {measured_cell(op.measured_us), difference_cell(op.time_us, op.measured_us)});
        }
        rows.push_back(std::move(row));
    }
    std::string text = fit_columns(std::move(rows), right, width);
    if (result.ops.size() > kSlowestOps) {
        text += fmt::format("... and {} more in summary.json\n", result.ops.size() - kSlowestOps);
    }
    return text;
}

/// Energy and mean power of the simulated kernels.
std::string energy_line(const RunResult& result) {
    double joules = 0;
    for (const auto& [part, amount] : result.energy) joules += amount;
    const double watts = mean_power(result);
    std::string text = fmt::format("energy {}, mean power {}", format_si(joules, "J"), format_si(watts, "W"));
    if (is_above_power_limit(result))
        text += fmt::format(" (above the {:.0f} W that the board may draw)", result.power_limit);
    text += ":";
    const char* separator = " ";
    for (const auto& [part, amount] : result.energy) {
        text += separator + part + " " + format_share(amount / joules);
        separator = ", ";
    }
    return text + "\n";
}

/// What the step did per second beside what the device can do.
std::string throughput_line(const RunResult& result) {
    std::string text = "rates";
    if (result.clock_hz > 0) text += fmt::format(" at {:.0f} MHz", result.clock_hz / 1e6);
    text += ":";
    const char* separator = " ";
    for (const auto& row : throughput_rows(result.throughputs, result.device_busy_us)) {
        text += separator + row[0] + " " + row[1] + " of " + row[2] + " (" + row[3] + ")";
        separator = ", ";
    }
    return text + "\n";
}

/// Who waits for the host, when it matters.
std::string host_line(const RunResult& result) {
    const double waiting = share(result.division.host_us, result.division.total_us);
    if (waiting < 0.005) return {};
    const char* const how = result.graph           ? "one CUDA graph"
                            : result.recorded_host ? "the host's times as recorded"
                                                   : "launched one by one; --graph launches all at once";
    return fmt::format("device idle, waiting for the host: {} of the step ({})\n", format_share(waiting),
                       how);
}

std::string memory_line(const MemoryReport& memory) {
    std::string text = fmt::format("memory {} (", memory.sentence());
    const char* separator = "";
    for (const MemoryPart& part : memory.at_peak) {
        text += separator + part.name + " " + format_binary(part.bytes);
        separator = ", ";
    }
    text += ")";
    if (!memory.peak_op.empty()) text += " at its peak, in " + memory.peak_op;
    return text + "\n";
}

/// What was simulated beside what was recorded of it, and on which share of the recorded time that rests.
std::string comparison_line(const RunResult& result) {
    const std::optional<SimulatedShare> share = simulated_share(result);
    if (!share) return {};
    if (share->measured_us <= 0)
        return fmt::format("measured kernels without communication {}: none of them was simulated\n",
                           format_microseconds(share->all_us));
    return fmt::format(
        "measured kernels without communication {}, of which {} were simulated: there the simulation differs by "
        "{}\n",
        format_microseconds(share->all_us), format_share(share->measured_us / share->all_us),
        format_difference(share->simulated_us, share->measured_us));
}

std::string times(const RunResult& result) {
    std::string text = fmt::format("step time {}{}", not_understood(result).empty() ? "" : "more than ",
                                   format_microseconds(result.step_time_us));
    const StepDivision& parts = result.division;
    text += fmt::format(" = device busy {} + gaps between kernels {} + communication {}",
                        format_microseconds(parts.kernels_us + parts.copies_us),
                        format_microseconds(parts.gaps_us), format_microseconds(parts.communication_us));
    if (parts.host_us > 0)
        text += fmt::format(" + waiting for the host {}", format_microseconds(parts.host_us));
    text += "\n" + host_line(result);
    if (parts.overlapped_us > 0.001 * parts.total_us) {
        text += fmt::format(
            "side by side: kernels {}, copies and collectives {} in all, {} of it beside other work\n",
            format_microseconds(result.device_busy_us), format_microseconds(result.communication_us),
            format_microseconds(parts.overlapped_us));
    }
    if (result.memory) text += memory_line(*result.memory);
    if (result.sampling_error_us) {
        text += fmt::format(
            "sampled: {} of the kernels' cycles were simulated, the rest extrapolated; the step may "
            "take {} more or less\n",
            format_share(result.simulated_fraction), format_microseconds(*result.sampling_error_us));
    }
    if (!result.throughputs.empty()) text += throughput_line(result);
    if (!result.energy.empty()) text += energy_line(result);
    text += comparison_line(result);
    if (const std::optional<double> error = weighted_error(result)) {
        text += fmt::format("recorded kernels one by one, weighted with their time: mean error {}\n",
                            format_share(*error));
    }
    return text;
}

std::string numerics(const NumericsResult& numerics) {
    std::vector<std::vector<std::string>> rows{{"step", "loss", "reference", "difference"}};
    const std::size_t steps = std::min(numerics.device_loss.size(), numerics.reference_loss.size());
    for (std::size_t i = 0; i < steps; ++i) {
        if (steps > kShownSteps && i == kShownSteps - 1) {
            rows.push_back({"...", "", "", ""});
            i = steps - 1;
        }
        const double device = numerics.device_loss[i], reference = numerics.reference_loss[i];
        rows.push_back({std::to_string(i + 1), fmt::format("{:.9g}", device),
                        fmt::format("{:.9g}", reference), fmt::format("{:+.2e}", device - reference)});
    }
    std::string head = "\n";
    if (!numerics.data.empty()) head += "trained on " + numerics.data + "\n";
    if (numerics.resumed_at > 0) head += fmt::format("resumed after step {}\n", numerics.resumed_at);
    if (steps > kShownSteps) head += "loss by step\n" + text_plot(numerics.device_loss) + "\n";
    return head + align_columns(rows, {true, true, true, true}) +
           fmt::format(
               "each step beside the reference, from the same numbers: worst error of a loss {:.3g} (bound "
               "{:.3g}), of a "
               "gradient {:.3g} (bound {:.3g}, {}), of an update {:.3g} (bound {:.3g}, {})\n"
               "both trainings after {} steps: parameters differ by {:.3g}; parameters of the device: {}\n",
               numerics.loss_error, numerics.loss_error_bound, numerics.gradient_error,
               numerics.gradient_error_bound, numerics.worst_gradient, numerics.weight_error,
               numerics.weight_error_bound, numerics.worst_parameter, steps, numerics.drift,
               numerics.weights);
}

}  // namespace

std::string format_does_not_fit(const MemoryReport& memory) {
    std::vector<std::vector<std::string>> rows{{"memory", "size", "share"}};
    for (const MemoryPart& part : memory.at_peak)
        rows.push_back(
            {part.name, format_binary(part.bytes), format_share(share(part.bytes, memory.peak()))});
    return "does not fit: " + memory.sentence() + "\n" +
           (memory.peak_op.empty() ? "" : "most is held during " + memory.peak_op + "\n") + "\n" +
           align_columns(rows, {false, true, true});
}

std::string format_report(const RunResult& result, std::size_t width) {
    const bool measured = any_measured(result);
    std::string head;
    if (result.coverage.cycle < 0.5 && result.coverage.cycle + result.coverage.estimated + result.coverage.unknown > 0)
        head = fmt::format("only {} of the time was simulated: {} estimated, {} unknown or as recorded\n",
                           format_share(result.coverage.cycle), format_share(result.coverage.estimated),
                           format_share(result.coverage.unknown));
    head += result.workload + " on " + result.hardware;
    if (!result.hardware_description.empty()) head += ": " + result.hardware_description;
    const std::string incomplete = not_understood_text(result);
    if (!incomplete.empty()) head += "\n" + incomplete;
    std::string text = wrap_lines(head + "\n" + times(result), width);
    text += "\n" + kind_table(result, measured, width);
    text += "\n" + slowest_table(result, measured, width) + "\n";
    std::string rest;
    if (!result.utilisation.empty()) {
        rest += "utilisation:";
        const char* separator = " ";
        for (const auto& [unit, fraction] : result.utilisation) {
            rest += separator + unit + " " + format_share(fraction);
            separator = ", ";
        }
        rest += "\n";
    }
    rest += units_table(result);
    rest += fmt::format("coverage of the time{}: {} cycle by cycle, {} estimated, {} unknown\n",
                        incomplete.empty() ? "" : " that is known", format_share(result.coverage.cycle),
                        format_share(result.coverage.estimated), format_share(result.coverage.unknown));
    for (const std::string& note : result.notes) rest += "note: " + note + "\n";
    text += wrap_lines(rest, width);
    if (result.numerics) text += numerics(*result.numerics);
    return text;
}

std::string numerics_failure(const NumericsResult& numerics) {
    // Written so that NaN fails.
    if (!(numerics.loss_error <= numerics.loss_error_bound)) {
        return fmt::format("the loss differs from the reference by {:.3g}, more than the bound of {:.3g}",
                           numerics.loss_error, numerics.loss_error_bound);
    }
    if (!(numerics.gradient_error <= numerics.gradient_error_bound)) {
        return fmt::format(
            "the gradient of {} differs from the reference by {:.3g}, more than the bound of {:.3g}",
            numerics.worst_gradient, numerics.gradient_error, numerics.gradient_error_bound);
    }
    if (!(numerics.weight_error <= numerics.weight_error_bound)) {
        return fmt::format("{} differs from the reference by {:.3g}, more than the bound of {:.3g}",
                           numerics.worst_parameter, numerics.weight_error, numerics.weight_error_bound);
    }
    return {};
}

std::string format_simulation(const RunResult& result) {
    const RunResult::Simulation& simulation = result.simulation;
    std::string text =
        fmt::format("simulated {} distinct kernels", format_count(simulation.kernels_simulated));
    if (simulation.warp_instructions > 0) {
        text += fmt::format(", {} warp instructions", format_count(simulation.warp_instructions));
    }
    if (!simulation.scheduled) text += ", as written (--schedule off)";
    if (simulation.tpu_cycles > 0)
        text += fmt::format(", {} TPU cycles", format_count(simulation.tpu_cycles));
    if (simulation.tilings_searched > 0)
        text += fmt::format(", {} tilings searched", format_count(simulation.tilings_searched));
    text += fmt::format(" in {:.1f} s with {} worker{}", simulation.wall_s, simulation.workers,
                        simulation.workers == 1 ? "" : "s");
    return simulation.processor_s >= 1
               ? text + fmt::format(", {:.0f} s of processor time", simulation.processor_s)
               : text;
}

}  // namespace heddle::sim
