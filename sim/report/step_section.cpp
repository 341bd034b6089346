#include "sim/report/step_section.h"

#include <algorithm>
#include <numeric>

#include "sim/report/chart.h"
#include "sim/report/numbers.h"
#include "sim/report/page.h"
#include "sim/report/step_picture.h"

namespace heddle::sim {
namespace {

Chart division_chart(const StepDivision& parts) {
    Chart chart;
    chart.id = "division";
    chart.title = "How the step's time divides";
    chart.reading =
        "Only kernels are work. What else is long says where to begin: fewer or larger kernels, a graph, or "
        "communication beside work.";
    chart.x = {"time", "us"};
    chart.y.name = "part";
    ChartSeries series{"time", {}};
    const auto bar = [&](const char* name, double time) {
        if (time <= 0) return;
        chart.labels.emplace_back(name);
        chart.texts.push_back(format_microseconds(time) + ", " +
                              format_share(parts.total_us > 0 ? time / parts.total_us : 0));
        series.y.push_back(time);
    };
    bar("kernels", parts.kernels_us);
    bar("only communication", parts.communication_us);
    bar("only copies", parts.copies_us);
    bar("between kernels", parts.gaps_us);
    bar("device idle, waiting for the host", parts.host_us);
    chart.series = {series};
    return chart;
}

}  // namespace

std::string step_section(const RunResult& result) {
    const std::string picture = timeline_picture(result);
    if (picture.empty()) return {};
    return "<p class=\"faint\">What ran when, by kind of op; below, which units it kept at work: the darker, "
           "the nearer to "
           "the unit's peak. timeline.json shows the same in Perfetto, with every kernel.</p>\n<div "
           "class=\"plot wide\" "
           "role=\"region\" tabindex=\"0\" aria-label=\"The step over time\">" +
           picture + "</div>\n" + chart_html(division_chart(result.division));
}

std::vector<std::pair<double, std::vector<double>>> memory_over_time(const MemoryReport& memory,
                                                                     std::size_t points) {
    std::vector<std::pair<double, std::vector<double>>> result;
    const std::size_t ops = std::min(memory.during.size(), memory.starts_us.size());
    const auto sum = [](const std::vector<double>& bytes) {
        return std::accumulate(bytes.begin(), bytes.end(), 0.0);
    };
    for (std::size_t p = 0; p < std::min(points, ops); ++p) {
        const std::size_t count = std::min(points, ops);
        const std::size_t begin = p * ops / count, end = (p + 1) * ops / count;
        std::size_t most = begin;
        for (std::size_t i = begin; i < end; ++i)
            if (sum(memory.during[i]) > sum(memory.during[most])) most = i;
        result.emplace_back(memory.starts_us[begin], memory.during[most]);
    }
    return result;
}

std::string memory_section(const RunResult& result) {
    if (!result.memory || result.memory->at_peak.empty()) return {};
    const MemoryReport& memory = *result.memory;
    Chart chart;
    chart.kind = Chart::Kind::areas;
    chart.id = "memory";
    chart.title = "Memory over time";
    chart.reading =
        "What tensors hold while each op runs, without context and allowance. The peak decides whether the "
        "step "
        "fits; activations grow through the forward pass and go in the backward pass.";
    chart.x = {"time", "us"};
    chart.y = {"held", "iB", false, true};
    for (const std::string& part : memory.parts) chart.series.push_back({part, {}});
    std::vector<double> x;
    double most = 0;
    for (const auto& [start, bytes] : memory_over_time(memory, 400)) {
        x.push_back(start);
        double sum = 0;
        for (std::size_t i = 0; i < chart.series.size(); ++i) {
            chart.series[i].y.push_back(bytes[i]);
            sum += bytes[i];
        }
        most = std::max(most, sum);
    }
    const auto is_empty = [](const ChartSeries& series) {
        return std::all_of(series.y.begin(), series.y.end(), [](double bytes) { return bytes == 0; });
    };
    std::erase_if(chart.series, is_empty);
    if (memory.capacity > 0 && memory.capacity < 4 * most)
        chart.series.push_back({"capacity", std::vector<double>(x.size(), memory.capacity)});
    for (ChartSeries& series : chart.series) series.x = x;
    if (!chart.series.empty() && chart.series.back().name == "capacity") chart.series.back().faint = true;
    HtmlTable table({"at the peak", "size", "share"}, {false, true, true});
    for (const MemoryPart& part : memory.at_peak)
        table.row({part.name, format_binary(part.bytes), format_share(part.bytes / memory.peak())});
    return "<p>" + escape_html(memory.sentence()) + " at the peak" +
           (memory.peak_op.empty() ? "" : ", in " + escape_html(memory.peak_op)) + ".</p>\n" +
           chart_html(chart) + table.html();
}

}  // namespace heddle::sim
