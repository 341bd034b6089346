#include "sim/report/step_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "sim/report/chart.h"
#include "sim/report/numbers.h"
#include "sim/report/page.h"
#include "sim/report/plot.h"

namespace heddle::sim {
namespace {

constexpr double kNames = 90, kLane = 26, kAxis = 22;

/// Kinds by falling time: what has a colour of its own, the rest shares the last.
std::vector<std::string> coloured_kinds(const RunResult& result) {
    std::map<std::string, double> times;
    for (const KernelResult& kernel : result.kernels) times[kernel.kind] += kernel.time_us;
    std::vector<std::pair<std::string, double>> sorted(times.begin(), times.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<std::string> kinds;
    for (const auto& [kind, time] : sorted) kinds.push_back(kind);
    if (kinds.size() > kPaletteSize) {
        kinds.resize(kPaletteSize - 1);
        kinds.emplace_back("other");
    }
    return kinds;
}

struct Block {
    double begin = 0, end = 0;
    int colour = 0;
    std::string name;
    std::size_t count = 1;
};

/// Joins neighbours of one colour, and what is too short to be seen.
std::vector<Block> joined(std::vector<Block> blocks, double pixel_us) {
    std::stable_sort(blocks.begin(), blocks.end(),
                     [](const Block& a, const Block& b) { return a.begin < b.begin; });
    std::vector<Block> result;
    for (Block& block : blocks) {
        if (!result.empty()) {
            Block& last = result.back();
            const bool near = block.begin - last.end < 0.5 * pixel_us;
            const bool tiny = last.end - last.begin < pixel_us || block.end - block.begin < 0.3 * pixel_us;
            if (near && tiny) {
                if (block.end - block.begin > last.end - last.begin) {
                    last.colour = block.colour;
                    last.name = block.name;
                }
                last.end = std::max(last.end, block.end);
                last.count += block.count;
                continue;
            }
        }
        result.push_back(std::move(block));
    }
    return result;
}

std::string lane(const std::string& name, const std::vector<Block>& blocks, double top, double scale) {
    std::string svg = fmt::format("<text x=\"{}\" y=\"{:.1f}\" class=\"name\">{}</text>\n", kNames - 8,
                                  top + kLane * 0.65, escape_html(name));
    for (const Block& block : blocks) {
        const std::string more = block.count > 1 ? fmt::format(" and {} more", block.count - 1) : "";
        svg += fmt::format(
            "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" "
            "class=\"c{}\"><title>{}</title></rect>\n",
            kNames + block.begin * scale, top + 3, std::max(0.4, (block.end - block.begin) * scale),
            kLane - 6, block.colour,
            escape_html(fmt::format("{}{}: {} at {}", block.name, more,
                                    format_microseconds(block.end - block.begin),
                                    format_microseconds(block.begin))));
    }
    return svg;
}

}  // namespace

std::string timeline_picture(const RunResult& result, double width) {
    if (result.kernels.empty() || result.step_time_us <= 0) return {};
    const std::vector<std::string> kinds = coloured_kinds(result);
    const double scale = (width - kNames - 10) / result.step_time_us, pixel = 1 / scale;
    std::map<std::uint32_t, std::vector<Block>> streams;
    std::vector<Block> host;
    double handed_out = 0;
    for (const KernelResult& kernel : result.kernels) {
        const auto kind = std::find(kinds.begin(), kinds.end(), kernel.kind);
        const auto colour = static_cast<int>(kind == kinds.end() ? kPaletteSize - 1 : kind - kinds.begin());
        streams[kernel.stream].push_back({kernel.start_us, kernel.end_us, colour, kernel.op_name});
        if (kernel.launched_us > handed_out)
            host.push_back({handed_out, kernel.launched_us, colour, "launches " + kernel.op_name});
        handed_out = std::max(handed_out, kernel.launched_us);
    }
    const double lanes = static_cast<double>(streams.size() + (host.empty() ? 0 : 1));
    const double height = lanes * kLane + kAxis;
    std::string svg = fmt::format("<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n",
                                  width, height);
    double top = 0;
    if (!host.empty()) {
        svg += lane("host", joined(host, pixel), top, scale);
        top += kLane;
    }
    for (const auto& [stream, blocks] : streams) {
        svg += lane(streams.size() == 1 ? "device" : "stream " + std::to_string(stream),
                    joined(blocks, pixel), top, scale);
        top += kLane;
    }
    for (int i = 0; i <= 8; ++i) {
        const double at = result.step_time_us * i / 8;
        svg +=
            fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", kNames + at * scale,
                        height - 6, i == 8 ? "end" : "middle", format_microseconds(at));
    }
    return svg + "</svg>\n" + legend(kinds);
}

std::string step_section(const RunResult& result) {
    const std::string picture = timeline_picture(result);
    if (picture.empty()) return {};
    const StepDivision& parts = result.division;
    std::vector<Bar> bars;
    const auto bar = [&](const char* name, double time, int colour) {
        if (time <= 0) return;
        const std::string text =
            format_microseconds(time) + ", " + format_share(parts.total_us > 0 ? time / parts.total_us : 0);
        bars.push_back({name, text, {{time, std::string(name) + ": " + text, colour}}});
    };
    bar("kernels", parts.kernels_us, 0);
    bar("only communication", parts.communication_us, 1);
    bar("only copies", parts.copies_us, 5);
    bar("between kernels", parts.gaps_us, 4);
    bar("device idle, waiting for the host", parts.host_us, 3);
    return "<h2>The step</h2>\n" + picture + bar_chart(bars, parts.total_us);
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
    constexpr double gib = 1024.0 * 1024 * 1024;
    std::vector<double> x;
    std::vector<Curve> curves;
    for (const std::string& part : memory.parts) curves.push_back({part, {}});
    for (const auto& [start, bytes] : memory_over_time(memory, 400)) {
        x.push_back(start / 1e3);
        for (std::size_t i = 0; i < curves.size(); ++i) curves[i].y.push_back(bytes[i] / gib);
    }
    std::string html = "<h2>Memory</h2>\n<p>" + escape_html(memory.sentence()) + " at the peak, in " +
                       escape_html(memory.peak_op) + ".</p>\n";
    if (!x.empty()) html += area_plot(x, curves, memory.capacity / gib, "ms, GiB");
    HtmlTable table({"at the peak", "size", "share"}, {false, true, true});
    for (const MemoryPart& part : memory.at_peak)
        table.row({part.name, format_binary(part.bytes), format_share(part.bytes / memory.peak())});
    return html + table.html();
}

}  // namespace heddle::sim
