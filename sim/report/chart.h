// Bar charts as inline SVG.
#pragma once

#include <string>
#include <vector>

namespace heddle::sim {

/// A horizontal bar: its name, the text at its end, and its segments from left to right.
struct Bar {
    struct Segment {
        double length = 0;    ///< in the chart's own unit; the longest bar fills the width
        std::string meaning;  ///< shown when the mouse rests on it
        int colour = 0;       ///< index into the palette of the page, taken modulo its size
    };
    std::string name;
    std::string text;
    std::vector<Segment> segments;
};

/// Number of colours that bar_chart() and legend() tell apart.
inline constexpr int kPaletteSize = 8;

/// One <svg> element. `full_length` is what the whole width stands for; 0: the longest bar.
std::string bar_chart(const std::vector<Bar>& bars, double full_length = 0);

/// One line that names colours 0, 1, ...
std::string legend(const std::vector<std::string>& names);

}  // namespace heddle::sim
