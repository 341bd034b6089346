#include "sim/report/step_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "sim/report/chart.h"
#include "sim/report/numbers.h"
#include "sim/report/page.h"

namespace heddle::sim {
namespace {

/// The smallest of 1, 2, 5, 10, 20, ... that is not below `least`.
double round_tick(double least) {
    const double power = std::pow(10, std::floor(std::log10(least)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= least) return factor * power;
    return 10 * power;
}

constexpr double kNames = 120, kLane = 26, kUnitLane = 18, kAxis = 24, kRightEdge = 34;
constexpr int kShades = 20;

/// Kinds by falling time: what has a colour of its own, the rest shares the last.
std::vector<std::string> coloured_kinds(const RunResult& result) {
    std::map<std::string, double> times;
    for (const KernelResult& kernel : result.kernels) times[kernel.kind] += kernel.time_us;
    std::vector<std::pair<std::string, double>> sorted(times.begin(), times.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<std::string> kinds;
    kinds.reserve(sorted.size());
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

std::string lane_name(const std::string& name, double top, double height) {
    return fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kNames - 8,
                       top + height * 0.68, escape_html(name));
}

std::string lane(const std::string& name, const std::vector<Block>& blocks, double top, double scale) {
    std::string svg = lane_name(name, top, kLane);
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

/// Resources that are no unit at work.
bool is_unit(const std::string& resource) {
    return resource != "launch" && resource != "latency" && resource != "multiply-accumulates";
}

/// Mean utilisation of a unit in each pixel, 0..1.
std::vector<double> unit_by_pixel(const RunResult& result, const std::string& unit, std::size_t pixels) {
    std::vector<double> busy(pixels, 0);
    const double scale = static_cast<double>(pixels) / result.step_time_us;
    for (const KernelResult& kernel : result.kernels) {
        const auto found = kernel.utilisation.find(unit);
        // Beside other work a kernel takes longer, with as much to do.
        const double length = (kernel.end_us - kernel.start_us) * scale;
        if (found == kernel.utilisation.end() || !(length > 0)) continue;
        const double rate = found->second * kernel.time_us * scale / length;
        const double begin = std::clamp(kernel.start_us * scale, 0.0, static_cast<double>(pixels));
        const double end = std::clamp(kernel.end_us * scale, 0.0, static_cast<double>(pixels));
        for (auto p = static_cast<std::size_t>(begin); p < pixels && static_cast<double>(p) < end; ++p) {
            const double from = std::max(begin, static_cast<double>(p)),
                         to = std::min(end, static_cast<double>(p + 1));
            busy[p] += std::max(0.0, to - from) * rate;
        }
    }
    return busy;
}

/// Neighbouring pixels of one shade are one rectangle.
std::string unit_lane(const std::string& name, const std::vector<double>& busy, double top, double step_us) {
    std::string svg = lane_name(name, top, kUnitLane);
    const auto shade = [&](std::size_t p) {
        return std::clamp(static_cast<int>(std::ceil(busy[p] * kShades - 1e-9)), 0, kShades);
    };
    const double width = static_cast<double>(busy.size());
    svg += fmt::format("<rect x=\"{}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"{}\" class=\"track\"/>\n",
                       kNames, top + 2, width, kUnitLane - 4);
    for (std::size_t begin = 0, end = 0; begin < busy.size(); begin = end) {
        for (end = begin + 1; end < busy.size() && shade(end) == shade(begin); ++end) {
        }
        if (shade(begin) == 0) continue;
        svg += fmt::format(
            "<rect x=\"{:.0f}\" y=\"{:.1f}\" width=\"{}\" height=\"{}\" class=\"c0\" "
            "fill-opacity=\"{:.2f}\"><title>{}: {} of its rate at {}</title></rect>\n",
            kNames + static_cast<double>(begin), top + 2, end - begin, kUnitLane - 4,
            static_cast<double>(shade(begin)) / kShades, escape_html(name), format_share(busy[begin]),
            format_microseconds(static_cast<double>(begin) * step_us / width));
    }
    return svg;
}

struct Picture {
    std::string svg;  ///< without the element around it
    double height = 0;
    std::vector<std::string> kinds;
};

Picture draw(const RunResult& result, double width) {
    Picture picture;
    picture.kinds = coloured_kinds(result);
    const double inner = std::floor(width - kNames - kRightEdge);
    const double scale = inner / result.step_time_us, pixel = 1 / scale;
    std::map<std::uint32_t, std::vector<Block>> streams;
    std::vector<Block> host;
    std::set<std::string> units;
    double handed_out = 0;
    for (const KernelResult& kernel : result.kernels) {
        const auto kind = std::find(picture.kinds.begin(), picture.kinds.end(), kernel.kind);
        const auto colour =
            static_cast<int>(kind == picture.kinds.end() ? kPaletteSize - 1 : kind - picture.kinds.begin());
        streams[kernel.stream].push_back({kernel.start_us, kernel.end_us, colour, kernel.op_name});
        if (kernel.launched_us > handed_out)
            host.push_back({handed_out, kernel.launched_us, colour, "launches " + kernel.op_name});
        handed_out = std::max(handed_out, kernel.launched_us);
        for (const auto& [resource, fraction] : kernel.utilisation)
            if (is_unit(resource) && fraction > 0) units.insert(resource);
    }
    double top = 0;
    if (!host.empty()) {
        picture.svg += lane("host", joined(host, pixel), top, scale);
        top += kLane;
    }
    for (const auto& [stream, blocks] : streams) {
        picture.svg += lane(streams.size() == 1 ? "device" : "stream " + std::to_string(stream),
                            joined(blocks, pixel), top, scale);
        top += kLane;
    }
    for (const std::string& unit : units) {
        picture.svg += unit_lane(unit, unit_by_pixel(result, unit, static_cast<std::size_t>(inner)), top,
                                 result.step_time_us);
        top += kUnitLane;
    }
    const double tick = round_tick(result.step_time_us / 8);
    for (int i = 0; i * tick <= result.step_time_us * (1 + 1e-9); ++i) {
        const double at = i * tick;
        picture.svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                                   kNames + at * scale, top + 16, format_microseconds(at));
    }
    picture.height = top + kAxis;
    return picture;
}

std::string file_style() {
    return "<style>\n" +
           palette_style(
               "svg { --ink: #1c2430; --track: #eef1f5; background: #ffffff; "
               "font: 12px system-ui, sans-serif; }\n"
               "text { fill: var(--ink); } .track { fill: var(--track); } "
               ".title { font-size: 15px; font-weight: 600; }\n",
               "svg { --ink: #e6e9ef; --track: #222935; background: #14181f; }\n") +
           "</style>\n";
}

std::string label_of(const RunResult& result) {
    return result.workload + " on " + result.hardware + ": a step of " +
           format_microseconds(result.step_time_us);
}

}  // namespace

std::string timeline_picture(const RunResult& result, double width) {
    if (result.kernels.empty() || result.step_time_us <= 0) return {};
    const Picture picture = draw(result, width);
    return fmt::format(
               "<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\" aria-label=\"{2}\">\n",
               width, picture.height, escape_html(label_of(result))) +
           picture.svg + "</svg>\n" + legend(picture.kinds);
}

std::string timeline_svg(const RunResult& result) {
    if (result.kernels.empty() || result.step_time_us <= 0) return {};
    constexpr double width = 1200, head = 34, foot = 28;
    Picture picture = draw(result, width);
    // What a pointer would be told: half of the file, and an <img> shows none of it.
    for (std::size_t begin; (begin = picture.svg.find("<title>")) != std::string::npos;)
        picture.svg.erase(begin, picture.svg.find("</title>", begin) + 8 - begin);
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "role=\"img\" aria-label=\"{2}\">\n{3}<text x=\"10\" y=\"21\" class=\"title\">{2}</text>\n"
        "<g transform=\"translate(0 {4})\">\n{5}</g>\n",
        width, head + picture.height + foot, escape_html(label_of(result)), file_style(), head, picture.svg);
    double left = kNames;
    const double top = head + picture.height + 6;
    for (std::size_t i = 0; i < picture.kinds.size(); ++i) {
        svg += fmt::format(
            "<rect x=\"{0:.0f}\" y=\"{1:.0f}\" width=\"11\" height=\"11\" class=\"c{2}\"/>"
            "<text x=\"{3:.0f}\" y=\"{4:.0f}\">{5}</text>\n",
            left, top, i, left + 16, top + 10, escape_html(picture.kinds[i]));
        left += 34 + 6.6 * static_cast<double>(picture.kinds[i].size());
    }
    return svg + "</svg>\n";
}

}  // namespace heddle::sim
