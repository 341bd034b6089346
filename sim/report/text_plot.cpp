#include "sim/report/text_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace heddle::sim {
namespace {

struct Range {
    double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
    void add(double value) {
        if (!std::isfinite(value)) return;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    bool empty() const { return !(low <= high); }
};

}  // namespace

std::string text_plot(const std::vector<double>& y, std::size_t width, std::size_t height) {
    // Eighths of a character's height.
    static const std::array<const char*, 9> kLevels{" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                                    "\u2585", "\u2586", "\u2587", "\u2588"};
    if (y.empty()) return {};
    const std::size_t columns = std::min(width, y.size());
    std::vector<double> means(columns);
    Range range;
    for (std::size_t c = 0; c < columns; ++c) {
        const std::size_t begin = c * y.size() / columns, end = (c + 1) * y.size() / columns;
        for (std::size_t i = begin; i < end; ++i) means[c] += y[i] / static_cast<double>(end - begin);
        range.add(means[c]);
    }
    if (range.empty()) return {};
    const double low = range.low, span = std::max(range.high - range.low, 1e-300);
    std::string text;
    for (std::size_t row = height; row-- > 0;) {
        const std::string label = row + 1 == height ? fmt::format("{:.4g}", range.high)
                                  : row == 0        ? fmt::format("{:.4g}", range.low)
                                                    : "";
        text += fmt::format("{:>9} ", label);
        std::string line;
        for (const double mean : means) {
            // The smallest value still shows.
            const double level =
                std::isfinite(mean) ? 1 + (mean - low) / span * (8 * static_cast<double>(height) - 1) : 0;
            const double here = std::clamp(level - 8 * static_cast<double>(row), 0.0, 8.0);
            line += kLevels[static_cast<std::size_t>(here)];
        }
        while (!line.empty() && line.back() == ' ') line.pop_back();
        text += line + "\n";
    }
    return text;
}

}  // namespace heddle::sim
