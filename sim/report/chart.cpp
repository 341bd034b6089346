#include "sim/report/chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/page.h"

namespace heddle::sim {
namespace {

constexpr double kNameWidth = 260, kBarWidth = 480, kTextWidth = 180, kRowHeight = 22;
constexpr std::size_t kLongestName = 38;

std::string shortened(const std::string& name) {
    if (name.size() <= kLongestName) return name;
    std::size_t end = kLongestName - 1;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80)
        --end;  // not inside a character
    return name.substr(0, end) + "\u2026";
}

double length_of(const Bar& bar) {
    double length = 0;
    for (const Bar::Segment& segment : bar.segments) length += segment.length;
    return length;
}

}  // namespace

std::string bar_chart(const std::vector<Bar>& bars, double full_length) {
    for (const Bar& bar : bars) full_length = std::max(full_length, length_of(bar));
    const double height = kRowHeight * static_cast<double>(bars.size());
    std::string svg = fmt::format("<svg viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" role=\"img\">\n",
                                  kNameWidth + kBarWidth + kTextWidth, height);
    double top = 0;
    for (const Bar& bar : bars) {
        const double baseline = top + kRowHeight * 0.7;
        svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" class=\"name\">{}<title>{}</title></text>\n",
                           kNameWidth - 8, baseline, escape_html(shortened(bar.name)), escape_html(bar.name));
        double left = kNameWidth;
        for (const Bar::Segment& segment : bar.segments) {
            const double width = full_length > 0 ? segment.length / full_length * kBarWidth : 0;
            svg += fmt::format(
                "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" "
                "class=\"c{}\"><title>{}</title></rect>\n",
                left, top + 3, width, kRowHeight - 6, segment.colour % kPaletteSize,
                escape_html(segment.meaning));
            left += width;
        }
        svg += fmt::format("<text x=\"{:.2f}\" y=\"{:.1f}\">{}</text>\n", left + 6, baseline,
                           escape_html(bar.text));
        top += kRowHeight;
    }
    return svg + "</svg>\n";
}

std::string legend(const std::vector<std::string>& names) {
    std::string text = "<p class=\"legend\">";
    for (std::size_t i = 0; i < names.size(); ++i) {
        text += fmt::format("<span><i class=\"c{}\"></i>{}</span> ", i % kPaletteSize, escape_html(names[i]));
    }
    return text + "</p>\n";
}

}  // namespace heddle::sim
