// Charts as data. Each is declared once and shown in three ways: an SVG, which needs no script; the same
// drawn by Chart.js, with hover, where the page holds it; and a table, which the page offers as CSV.
#pragma once

#include <string>
#include <vector>

#include "sim/report/colours.h"

namespace heddle::sim {

/// `unit` of values: see format_value().
struct ChartAxis {
    std::string name;
    std::string unit = {};
    bool logarithmic = false;  ///< values that are not above 0 are left out
    bool from_zero = false;    ///< a linear axis begins at 0
};

struct ChartSeries {
    std::string name;
    std::vector<double> y;                 ///< values that are not finite leave a hole
    std::vector<double> x = {};            ///< bars: empty
    std::vector<std::string> points = {};  ///< names of the points, where they have any
    bool line = false;                     ///< plots: points are joined
    int colour = -1;                       ///< number in colours(); -1: of the palette, by its place
    bool faint = false;                    ///< drawn thin and grey: a diagonal, a limit
};

struct Chart {
    enum class Kind {
        bars,   ///< horizontal; series beside each other or, `stacked`, after each other
        areas,  ///< all series over the x of the first, on top of each other; each value holds until the next
                ///< x
        plot,   ///< points and lines
    };
    Kind kind = Kind::bars;
    std::string id;                        ///< unique in its page: letters, digits, hyphens
    std::string title;                     ///< plain text, as everything here
    std::string reading;                   ///< what to read from it, one or two sentences
    ChartAxis x = {}, y = {};              ///< bars: x is the axis of the values; y names what the rows are
    std::vector<std::string> labels = {};  ///< of bars, one for each row
    std::vector<std::string> texts = {};   ///< at the bars' ends; empty: the value
    bool stacked = false;
    double full = 0;  ///< bars: what the whole width stands for at least
    std::vector<ChartSeries> series = {};
};

/// A <figure>: caption, picture, legend, table, and the data as JSON for the page's script. Empty when there
/// is nothing to draw.
std::string chart_html(const Chart& chart);

/// The picture alone, one <svg>; empty when no value is finite.
std::string chart_svg(const Chart& chart);

/// The chart's data as a table, the heading first: bars have a row for each label, areas for each x, plots
/// for each point. Numbers in the axes' base units, unrounded.
std::vector<std::vector<std::string>> chart_rows(const Chart& chart);

/// The number of a series' colour.
int colour_of(const Chart& chart, std::size_t series);

/// One line that names colours 0, 1, ...
std::string legend(const std::vector<std::string>& names);

}  // namespace heddle::sim
