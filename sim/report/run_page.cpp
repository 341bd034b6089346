#include "sim/report/run_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/report/chart.h"
#include "sim/report/data_table.h"
#include "sim/report/kind_summary.h"
#include "sim/report/module_summary.h"
#include "sim/report/not_understood.h"
#include "sim/report/numbers.h"
#include "sim/report/page.h"
#include "sim/report/roofline.h"
#include "sim/report/stall_charts.h"
#include "sim/report/step_section.h"
#include "sim/gpu/settle/power_limit.h"

namespace heddle::sim {
namespace {

constexpr std::size_t kKernelsOnRoofline = 60, kNearestCeilings = 15;

double or_nothing(const std::optional<double>& number) {
    return number ? *number : std::nan("");
}

double rate(double amount, double microseconds) {
    return amount > 0 && microseconds > 0 ? amount / (microseconds * 1e-6) : std::nan("");
}

double difference(double simulated, const std::optional<double>& measured) {
    return measured && *measured > 0 ? simulated / *measured - 1 : std::nan("");
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
    double joules = 0;
    for (const auto& [part, amount] : result.energy) joules += amount;
    if (joules > 0) html += html_figure("energy of the kernels", format_si(joules, "J"));
    if (is_above_power_limit(result))
        html += html_figure(fmt::format("mean power: the board may draw {:.0f} W", result.power_limit),
                            format_si(mean_power(result), "W"));
    if (const std::optional<SimulatedShare> share = simulated_share(result)) {
        html += html_figure("measured, without communication", format_microseconds(share->all_us));
        html += html_figure("of it simulated", format_share(share->measured_us / share->all_us));
        if (share->measured_us > 0)
            html += html_figure("difference there", format_difference(share->simulated_us, share->measured_us));
    }
    html += html_figure(
        not_understood(result).empty() ? "of the time cycle by cycle" : "of the known time cycle by cycle",
        format_share(result.coverage.cycle));
    html += html_figure("estimated", format_share(result.coverage.estimated));
    html += html_figure("unknown", format_share(result.coverage.unknown));
    return html + "</div>\n";
}

std::string head(const RunResult& result) {
    std::string html;
    if (const std::string incomplete = not_understood_text(result); !incomplete.empty())
        html += "<p class=\"note\"><strong>" + escape_html(incomplete) + "</strong></p>\n";
    html += head_figures(result);
    if (result.sampling_error_us) {
        html += fmt::format(
            "<p>Sampled: {} of the kernels' cycles were simulated, the rest extrapolated; the step "
            "may take {} more or less.</p>\n",
            format_share(result.simulated_fraction), format_microseconds(*result.sampling_error_us));
    }
    for (const std::string& note : result.notes) html += "<p class=\"note\">" + escape_html(note) + "</p>\n";
    return html;
}

std::string time_by_kind(const RunResult& result) {
    const std::vector<KindSummary> kinds = summarise_by_kind(result);
    Chart chart;
    chart.id = "kinds";
    chart.title = "Time by kind of op";
    chart.reading = "All kernels of a kind together.";
    chart.x = {"time", "us"};
    chart.y.name = "op kind";
    ChartSeries simulated{"simulated", {}}, measured{"measured", {}};
    bool any_measured = false;
    std::vector<std::vector<std::string>> rows;
    for (const KindSummary& kind : kinds) {
        chart.labels.push_back(kind.kind);
        simulated.y.push_back(kind.time_us);
        measured.y.push_back(or_nothing(kind.measured_us));
        any_measured = any_measured || kind.measured_us;
        const double whole = base_of_shares(result), share = whole > 0 ? kind.time_us / whole : 0;
        rows.push_back({kind.kind, format_count(kind.count), format_microseconds(kind.time_us),
                        format_share(share), format_value(rate(kind.flops, kind.time_us), "FLOP/s"),
                        format_value(rate(kind.bytes, kind.time_us), "B/s"), kind.bound_by,
                        format_value(or_nothing(kind.measured_us), "us"),
                        kind.measured_us ? format_difference(kind.time_us, *kind.measured_us) : ""});
    }
    std::vector<std::string> heading{"op kind", "count", "time", heading_of_shares(result), "FLOP/s", "bytes/s", "bound by"};
    if (any_measured) heading.insert(heading.end(), {"measured", "difference"});
    HtmlTable table(heading, {false, true, true, true, true, true, false, true, true});
    for (std::vector<std::string>& row : rows) {
        row.resize(heading.size());
        table.row(row);
    }
    chart.series = {simulated};
    if (any_measured) chart.series.push_back(measured);
    return kinds.empty() ? "" : chart_html(chart) + table.html();
}

Chart utilisation_chart(const RunResult& result) {
    Chart chart;
    chart.id = "utilisation";
    chart.title = "Utilisation while kernels run";
    chart.reading =
        "Mean over the step's kernels, of what each resource could do at the clock that was simulated. A "
        "step that "
        "uses nothing much waits for "
        "latency, "
        "launches or the host.";
    chart.x = {"of the peak at this clock", "%"};
    chart.y.name = "resource";
    chart.full = 1;
    ChartSeries series{"of the peak at this clock", {}};
    series.colour = 2;
    for (const auto& [unit, fraction] : result.utilisation) {
        chart.labels.push_back(unit);
        series.y.push_back(fraction);
    }
    chart.series = {series};
    return chart;
}

/// The step and its slowest distinct kernels.
std::string roofline(const RunResult& result) {
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
    std::set<std::pair<std::string, std::string>> seen;
    HtmlTable table({"kernel", "op", "FLOP/B of memory", "nearest ceiling", "achieved", "ceiling", "share"},
                    {false, false, true, false, true, true, true});
    for (const KernelResult* kernel : slowest_kernels(result)) {
        if (seen.size() == kKernelsOnRoofline) break;
        if (kernel->throughputs.empty() || !seen.insert({kernel->name, kernel->op_name}).second) continue;
        const double time = kernel->time_us + kernel->gap_us;
        add(kernel->op_name.empty() ? kernel->name : kernel->op_name, kernel->throughputs, time);
        const auto point = roofline_point("", kernel->throughputs, time);
        const std::string nearest = nearest_ceiling(kernel->throughputs, time);
        if (nearest.empty() || seen.size() > kNearestCeilings) continue;
        const auto row = throughput_rows({{nearest, kernel->throughputs.at(nearest)}}, time).front();
        table.row({kernel->name, kernel->op_name, point ? fmt::format("{:.3g}", point->intensity) : "",
                   row[0], row[1], row[2], row[3]});
    }
    return chart_html(roofline_chart(points, bytes, flops)) +
           "<details><summary>The slowest kernels and their nearest ceilings</summary>\n" + table.html() +
           "</details>\n";
}

std::string ops_table(const RunResult& result) {
    DataTable table{
        "ops", "Ops", {{"op"}, {"kind"}, {"phase"}, {"count", "count"}, {"time", "us"}, {heading_of_shares(result), "%"}}, {}};
    const bool measured = std::any_of(result.ops.begin(), result.ops.end(),
                                      [](const OpSummary& op) { return op.measured_us.has_value(); });
    if (measured) table.columns.insert(table.columns.end(), {{"measured", "us"}, {"difference", "%"}});
    table.columns.insert(table.columns.end(),
                         {{"rate", "FLOP/s"}, {"traffic", "B/s"}, {"bound by"}, {"fidelity"}});
    const double whole = base_of_shares(result);
    for (const OpSummary& op : result.ops) {
        std::vector<DataCell> row{
            op.name,    op.kind,
            op.phase,   static_cast<double>(op.count),
            op.time_us, whole > 0 ? op.time_us / whole : std::nan("")};
        if (measured)
            row.insert(row.end(), {or_nothing(op.measured_us), difference(op.time_us, op.measured_us)});
        row.insert(row.end(), {rate(op.flops, op.time_us), rate(op.bytes, op.time_us), op.bound_by,
                               name_of(op.fidelity)});
        table.rows.push_back(std::move(row));
    }
    return data_table_html(table);
}

std::string kernels_table(const RunResult& result) {
    DataTable table{"kernels",
                    "Kernels",
                    {{"kernel"},
                     {"op"},
                     {"stream", "count"},
                     {"start", "us"},
                     {"time", "us"},
                     {"cycles", "count"},
                     {"grid"},
                     {"block"},
                     {"CTAs per SM", "count"},
                     {"DRAM", "B"},
                     {"L2 hits", "%"},
                     {"bound by"}},
                    {}};
    const bool loops = std::any_of(result.kernels.begin(), result.kernels.end(),
                                   [](const KernelResult& kernel) { return kernel.turns != 1; });
    if (loops) table.columns.insert(table.columns.begin() + 3, {"turns of a loop", "count"});
    const bool modules = std::any_of(result.kernels.begin(), result.kernels.end(),
                                     [](const KernelResult& kernel) { return !kernel.module.empty(); });
    if (modules) table.columns.insert(table.columns.begin() + 2, {"module"});
    const auto or_empty = [](double number) { return number > 0 ? number : std::nan(""); };
    for (const KernelResult* kernel : slowest_kernels(result)) {
        const auto size = [](const std::uint32_t(&s)[3]) {
            return s[0] == 0 ? std::string() : fmt::format("{}x{}x{}", s[0], s[1], s[2]);
        };
        table.rows.push_back(
            {kernel->name, kernel->op_name, static_cast<double>(kernel->stream), kernel->start_us,
             kernel->time_us, or_empty(static_cast<double>(kernel->cycles)), size(kernel->grid),
             size(kernel->block), or_empty(kernel->ctas_per_sm), or_empty(kernel->dram_bytes),
             kernel->l2_hit_rate ? 100 * *kernel->l2_hit_rate : std::nan(""), kernel->bound_by});
        auto& row = table.rows.back();
        if (loops) row.insert(row.begin() + 3, kernel->turns);
        if (modules) row.insert(row.begin() + 2, kernel->module);
    }
    drop_empty_columns(table);
    return data_table_html(table);
}

std::string modules_table(const RunResult& result) {
    DataTable table{"modules",
                    "Modules",
                    {{"module"}, {"kernels", "count"}, {"time", "us"}, {"forward", "us"}, {"backward", "us"}, {"optimizer", "us"}, {"other", "us"}},
                    {}};
    const auto or_empty = [](double number) { return number > 0 ? number : std::nan(""); };
    for (const ModuleSummary& module : summarise_by_module(result))
        table.rows.push_back({module.name, static_cast<double>(module.kernels), module.time_us, or_empty(module.forward_us),
                              or_empty(module.backward_us), or_empty(module.optimizer_us), or_empty(module.other_us)});
    if (table.rows.empty()) return {};
    drop_empty_columns(table);
    return data_table_html(table);
}

std::string numerics_section(const RunResult& result) {
    if (!result.numerics) return {};
    const NumericsResult& numerics = *result.numerics;
    Chart chart;
    chart.kind = Chart::Kind::plot;
    chart.id = "loss";
    chart.title = "Loss by step";
    chart.reading =
        "The device's numbers beside double precision: two trainings that round differently drift apart "
        "slowly.";
    chart.x = {"step"};
    chart.y = {"loss"};
    std::vector<double> steps;
    for (std::size_t i = 0; i < numerics.device_loss.size(); ++i) steps.push_back(static_cast<double>(i + 1));
    ChartSeries device{"on the device", numerics.device_loss, steps},
        reference{"in double precision", numerics.reference_loss, steps};
    reference.x.resize(std::min(reference.x.size(), reference.y.size()));
    device.line = reference.line = true;
    chart.series = {device, reference};
    return chart_html(chart) +
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

/// Charts beside each other where there is room.
std::string beside(const std::string& first, const std::string& second) {
    return first.empty() || second.empty() ? first + second
                                           : "<div class=\"charts\">\n" + first + second + "</div>\n";
}

}  // namespace

std::string report_html(const RunResult& result) {
    return html_page(result.workload + " on " + result.hardware, result.hardware_description, head(result),
                     {{"step", "The step", step_section(result)},
                      {"time", "Time", time_by_kind(result)},
                      {"stalls", "What the time goes to",
                       beside(chart_html(stalls_by_kind(result)), chart_html(stalls_by_kernel(result))) +
                           beside(chart_html(stalls_by_unit(result)), chart_html(utilisation_chart(result)))},
                      {"roofline", "Roofline", roofline(result)},
                      {"memory", "Memory", memory_section(result)},
                      {"energy", "Energy", chart_html(energy_by_kind(result))},
                      {"numerics", "Training with real values", numerics_section(result)},
                      {"ops", "Ops", ops_table(result)},
                      {"modules", "Modules", modules_table(result)},
                      {"kernels", "Kernels", kernels_table(result)}});
}

}  // namespace heddle::sim
