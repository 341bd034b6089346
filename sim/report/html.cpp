#include "sim/report/html.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "sim/report/chart.h"
#include "sim/report/kind_summary.h"
#include "sim/report/numbers.h"
#include "sim/report/page.h"
#include "sim/report/plot.h"
#include "sim/report/roofline.h"
#include "sim/report/step_section.h"

namespace heddle::sim {
namespace {

constexpr std::size_t kShownOps = 100, kShownKernels = 200, kKernelsWithReasons = 20;

std::string optional_time(const std::optional<double>& microseconds) {
    return microseconds ? format_microseconds(*microseconds) : "";
}

std::string rate(double amount, double microseconds, const std::string& unit) {
    return amount > 0 && microseconds > 0 ? format_si(amount / (microseconds * 1e-6), unit) : "";
}

std::string head_figures(const RunResult& result) {
    std::string html = "<div class=\"figures\">\n";
    html += html_figure("step time", format_microseconds(result.step_time_us));
    html += html_figure("kernels", format_microseconds(result.device_busy_us));
    html += html_figure("gaps between kernels", format_microseconds(result.launch_gap_us));
    html += html_figure("communication", format_microseconds(result.communication_us));
    if (result.division.host_us > 0)
        html += html_figure("waiting for the host", format_microseconds(result.division.host_us));
    if (result.memory) html += html_figure("memory", format_binary(result.memory->peak()));
    if (result.measured_total_us) {
        html +=
            html_figure("measured, without communication", format_microseconds(*result.measured_total_us));
        html +=
            html_figure("difference", format_difference(result.device_busy_us, *result.measured_total_us));
    }
    html += html_figure("of the time cycle by cycle", format_share(result.coverage.cycle));
    html += html_figure("estimated", format_share(result.coverage.estimated));
    html += html_figure("unknown", format_share(result.coverage.unknown));
    return html + "</div>\n";
}

std::string time_by_kind(const RunResult& result) {
    std::vector<Bar> bars;
    bool measured = false;
    for (const KindSummary& kind : summarise_by_kind(result)) {
        const std::string time = format_microseconds(kind.time_us);
        bars.push_back({kind.kind, time, {{kind.time_us, kind.kind + ": " + time, 0}}});
        if (!kind.measured_us) continue;
        measured = true;
        const std::string recorded = format_microseconds(*kind.measured_us);
        bars.push_back(
            {"", recorded + " measured", {{*kind.measured_us, kind.kind + ", measured: " + recorded, 1}}});
    }
    std::string html = "<h2>Time by kind of op</h2>\n" + bar_chart(bars);
    if (measured) html += legend({"simulated", "measured"});
    HtmlTable table(
        {"op kind", "count", "time", "share", "measured", "difference", "FLOP/s", "bytes/s", "bound by"},
        {false, true, true, true, true, true, true, true, false});
    for (const KindSummary& kind : summarise_by_kind(result)) {
        const double share = result.step_time_us > 0 ? kind.time_us / result.step_time_us : 0;
        table.row({kind.kind, format_count(kind.count), format_microseconds(kind.time_us),
                   format_share(share), optional_time(kind.measured_us),
                   kind.measured_us ? format_difference(kind.time_us, *kind.measured_us) : "",
                   rate(kind.flops, kind.time_us, "FLOP/s"), rate(kind.bytes, kind.time_us, "B/s"),
                   kind.bound_by});
    }
    return html + table.html();
}

std::vector<const KernelResult*> slowest_kernels(const RunResult& result) {
    std::vector<const KernelResult*> kernels;
    for (const KernelResult& kernel : result.kernels) kernels.push_back(&kernel);
    std::stable_sort(kernels.begin(), kernels.end(),
                     [](const KernelResult* a, const KernelResult* b) { return a->time_us > b->time_us; });
    return kernels;
}

std::string where_time_goes(const std::vector<const KernelResult*>& kernels) {
    // Distinct kernels only: a step runs the same one many times.
    std::vector<const KernelResult*> shown;
    std::map<std::string, int> colours;
    for (const KernelResult* kernel : kernels) {
        if (shown.size() == kKernelsWithReasons) break;
        if (kernel->time_by_reason.empty()) continue;
        const bool seen = std::any_of(shown.begin(), shown.end(), [&](const KernelResult* other) {
            return other->name == kernel->name && other->op_name == kernel->op_name;
        });
        if (seen) continue;
        shown.push_back(kernel);
        for (const auto& [reason, fraction] : kernel->time_by_reason) colours.emplace(reason, 0);
    }
    if (shown.empty()) return {};
    std::vector<std::string> names;
    for (auto& [reason, colour] : colours) {
        colour = static_cast<int>(names.size());
        names.push_back(reason);
    }
    std::vector<Bar> bars;
    for (const KernelResult* kernel : shown) {
        Bar bar{kernel->op_name.empty() ? kernel->name : kernel->op_name, kernel->bound_by, {}};
        for (const auto& [reason, fraction] : kernel->time_by_reason) {
            bar.segments.push_back({fraction, reason + ": " + format_share(fraction), colours.at(reason)});
        }
        bars.push_back(std::move(bar));
    }
    return "<h2>Where the slowest kernels spend their time</h2>\n" + bar_chart(bars, 1) + legend(names);
}

std::string utilisation(const RunResult& result) {
    if (result.utilisation.empty()) return {};
    std::vector<Bar> bars;
    for (const auto& [unit, fraction] : result.utilisation) {
        bars.push_back({unit, format_share(fraction), {{fraction, unit + ": " + format_share(fraction), 2}}});
    }
    return "<h2>Utilisation over the whole step</h2>\n" + bar_chart(bars, 1);
}

/// The step and its slowest distinct kernels.
std::string roofline(const RunResult& result, const std::vector<const KernelResult*>& kernels) {
    if (result.throughputs.empty()) return {};
    std::vector<RooflinePoint> points;
    double flops = 0, bytes = 0;
    const auto add = [&](const std::string& name, const std::map<std::string, Throughput>& throughputs,
                         double microseconds) {
        if (const auto point = roofline_point(name, throughputs, microseconds)) points.push_back(*point);
        for (const auto& [resource, one] : throughputs) {
            if (one.unit == "FLOP") flops = std::max(flops, one.ceiling);
            if (resource == "dram") bytes = std::max(bytes, one.ceiling);
        }
    };
    add("the whole step", result.throughputs, result.device_busy_us);
    std::set<std::string> seen;
    HtmlTable table({"kernel", "op", "FLOP/B of memory", "nearest ceiling", "achieved", "ceiling", "share"},
                    {false, false, true, false, true, true, true});
    for (const KernelResult* kernel : kernels) {
        if (seen.size() == kKernelsWithReasons) break;
        if (kernel->throughputs.empty() || !seen.insert(kernel->name + "\n" + kernel->op_name).second)
            continue;
        const double time = kernel->time_us + kernel->gap_us;
        add(kernel->op_name.empty() ? kernel->name : kernel->op_name, kernel->throughputs, time);
        const auto point = roofline_point("", kernel->throughputs, time);
        const std::string nearest = nearest_ceiling(kernel->throughputs, time);
        if (nearest.empty()) continue;
        const auto row = throughput_rows({{nearest, kernel->throughputs.at(nearest)}}, time).front();
        table.row({kernel->name, kernel->op_name, point ? fmt::format("{:.3g}", point->intensity) : "",
                   row[0], row[1], row[2], row[3]});
    }
    return "<h2>Roofline</h2>\n" + roofline_chart(points, bytes, flops) + table.html();
}

std::string ops_table(const RunResult& result) {
    std::string html = "<h2>Ops</h2>\n";
    if (result.ops.size() > kShownOps) {
        html += fmt::format("<p class=\"faint\">The {} slowest of {}; all are in summary.json.</p>\n",
                            kShownOps, result.ops.size());
    }
    HtmlTable table({"op", "kind", "phase", "count", "time", "measured", "difference", "FLOP/s", "bytes/s",
                     "bound by", "fidelity"},
                    {false, false, false, true, true, true, true, true, true, false, false});
    for (std::size_t i = 0; i < std::min(kShownOps, result.ops.size()); ++i) {
        const OpSummary& op = result.ops[i];
        table.row({op.name, op.kind, op.phase, format_count(op.count), format_microseconds(op.time_us),
                   optional_time(op.measured_us),
                   op.measured_us ? format_difference(op.time_us, *op.measured_us) : "",
                   rate(op.flops, op.time_us, "FLOP/s"), rate(op.bytes, op.time_us, "B/s"), op.bound_by,
                   name_of(op.fidelity)});
    }
    return html + table.html();
}

std::string kernels_table(const std::vector<const KernelResult*>& kernels) {
    std::string html = "<h2>Kernels</h2>\n";
    if (kernels.size() > kShownKernels) {
        html += fmt::format("<p class=\"faint\">The {} slowest of {}; all are in kernels.csv.</p>\n",
                            kShownKernels, kernels.size());
    }
    HtmlTable table(
        {"kernel", "op", "start", "time", "cycles", "grid", "block", "CTAs per SM", "DRAM", "bound by"},
        {false, false, true, true, true, false, false, true, true, false});
    for (std::size_t i = 0; i < std::min(kShownKernels, kernels.size()); ++i) {
        const KernelResult& kernel = *kernels[i];
        const auto size = [](const std::uint32_t(&s)[3]) {
            return s[0] == 0 ? std::string() : fmt::format("{}x{}x{}", s[0], s[1], s[2]);
        };
        table.row({kernel.name, kernel.op_name, format_microseconds(kernel.start_us),
                   format_microseconds(kernel.time_us), kernel.cycles == 0 ? "" : format_count(kernel.cycles),
                   size(kernel.grid), size(kernel.block),
                   kernel.ctas_per_sm == 0 ? "" : std::to_string(kernel.ctas_per_sm),
                   kernel.dram_bytes > 0 ? format_si(kernel.dram_bytes, "B") : "", kernel.bound_by});
    }
    return html + table.html();
}

std::string numerics_section(const RunResult& result) {
    if (!result.numerics) return {};
    const NumericsResult& numerics = *result.numerics;
    HtmlTable table({"step", "loss on the device", "loss in double precision"}, {true, true, true});
    const std::size_t steps = numerics.device_loss.size();
    std::vector<double> numbers;
    for (std::size_t i = 0; i < steps; ++i) {
        numbers.push_back(static_cast<double>(i + 1));
        const std::size_t shown = 40;
        if (steps > shown && i >= shown / 2 && i + shown / 2 < steps) continue;
        table.row(
            {std::to_string(i + 1), fmt::format("{:.9g}", numerics.device_loss[i]),
             i < numerics.reference_loss.size() ? fmt::format("{:.9g}", numerics.reference_loss[i]) : ""});
    }
    return "<h2>Training with real values</h2>\n" +
           line_plot(numbers,
                     {{"loss on the device", numerics.device_loss},
                      {"loss in double precision", numerics.reference_loss}},
                     "step") +
           table.html() +
           fmt::format(
               "<p>Each step beside the reference, from the same numbers: worst loss error {:.3g} (bound "
               "{:.3g}), gradient "
               "error {:.3g} (bound {:.3g}, {}), update error {:.3g} (bound {:.3g}, {}). After all steps the "
               "parameters "
               "of both trainings differ by {:.3g}.</p>\n",
               numerics.loss_error, numerics.loss_error_bound, numerics.gradient_error,
               numerics.gradient_error_bound, escape_html(numerics.worst_gradient), numerics.weight_error,
               numerics.weight_error_bound, escape_html(numerics.worst_parameter), numerics.drift);
}

}  // namespace

std::string report_html(const RunResult& result) {
    const std::string name = result.workload + " on " + result.hardware;
    const std::string title = escape_html(name);
    const std::vector<const KernelResult*> kernels = slowest_kernels(result);
    std::string html =
        "<h1>" + title + "</h1>\n<p class=\"faint\">" + escape_html(result.hardware_description) + "</p>\n";
    html += head_figures(result);
    if (result.sampling_error_us) {
        html += fmt::format(
            "<p>Sampled: {} of the kernels' cycles were simulated, the rest extrapolated; the step "
            "may take {} more or less.</p>\n",
            format_share(result.simulated_fraction), format_microseconds(*result.sampling_error_us));
    }
    for (const std::string& note : result.notes) html += "<p>Note: " + escape_html(note) + "</p>\n";
    html += step_section(result) + memory_section(result);
    html += time_by_kind(result) + where_time_goes(kernels) + roofline(result, kernels) +
            utilisation(result) + numerics_section(result);
    html += ops_table(result) + kernels_table(kernels);
    return html_page(name, html);
}

}  // namespace heddle::sim
