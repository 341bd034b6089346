// Charts as data. Each chart is declared once and shown in three ways: as an SVG, which needs no script;
// drawn by Chart.js, with hover, where the page contains that library; and as a table, which the page offers
// as CSV.
#pragma once

#include <string>
#include <vector>

#include "sim/report/colours.h"

namespace heddle::sim {

/// An axis of a chart. format_value() lists the units of its values.
struct ChartAxis {
    std::string name;
    std::string unit = {};
    bool logarithmic = false;  ///< values that are not above 0 are left out
    bool from_zero = false;    ///< a linear axis begins at 0
};

/// One series of values of a chart.
struct ChartSeries {
    std::string name;
    std::vector<double> y;                 ///< values that are not finite leave a hole
    std::vector<double> x = {};            ///< values on the x axis; empty for bars
    std::vector<std::string> points = {};  ///< names of the points, where they have names
    bool line = false;                     ///< in a plot, joins the points
    int colour = -1;  ///< index in colours(); -1: the palette's colour for the series' index
    bool faint = false;                    ///< drawn thin and grey: a diagonal, a limit
};

/// One chart with its texts and values.
struct Chart {
    enum class Kind {
        bars,   ///< horizontal; series beside each other or, `stacked`, after each other
        areas,  ///< all series over the x of the first, on top of each other; each value holds until the next
                ///< x
        plot,   ///< points and lines
    };
    Kind kind = Kind::bars;
    std::string id;                        ///< unique in its page: letters, digits, hyphens
    std::string title;                     ///< plain text, as are all texts of a chart
    std::string reading;                   ///< what to read from it, one or two sentences
    ChartAxis x = {}, y = {};              ///< bars: x is the axis of the values; y names what the rows are
    std::vector<std::string> labels = {};  ///< for bars: the name of each row
    std::vector<std::string> texts = {};   ///< for bars: the text at the end of each row; empty: its value
    bool stacked = false;
    double full = 0;  ///< for bars: the least value that the whole width represents
    std::vector<ChartSeries> series = {};
};

/// Returns a <figure> with caption, picture, legend, table, and the data as JSON for the page's script. Empty
/// when there is nothing to draw.
std::string chart_html(const Chart& chart);

/// Returns only the picture, one <svg>; empty when no value is finite.
std::string chart_svg(const Chart& chart);

/// Returns the chart's data as a table whose first row is the heading: bars have a row for each label, areas
/// for each x, and plots for each point. Numbers are in the axes' base units, unrounded.
std::vector<std::vector<std::string>> chart_rows(const Chart& chart);

/// Returns the index in colours() of a series' colour.
int colour_of(const Chart& chart, std::size_t series);

/// Returns one line of HTML that names colours 0, 1, ...
std::string legend(const std::vector<std::string>& names);

}  // namespace heddle::sim
