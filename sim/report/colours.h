// The colours of charts: a palette for whatever a chart names, and one fixed colour for each part of a unit's
// time, wherever it is shown.
#pragma once

#include <string>
#include <vector>

namespace heddle::sim {

/// Colours 0, 1, ... of the palette, which are told apart; series take them by their place.
inline constexpr int kPaletteSize = 8;

struct Colour {
    std::string name;         ///< of what it stands for: "memory"; of the palette: empty
    std::string light, dark;  ///< "#2f6fde", on a page of white and on one of black
};

/// All colours by number, those of the palette first. Behind it stand what a GPU's issue slots, a TPU's
/// matrix units and its other units do with their cycles: no two of them are alike, and charts stack them in
/// this order, work first and idleness last.
const std::vector<Colour>& colours();

/// The number of the colour of a part of time ("memory", "useful", "RAW stall"); -1: it has none of its own.
int colour_of_part(const std::string& part);

/// Style sheet of pages: variables --c0, --c1, ... for light and dark, and classes c0, c1, ... that fill.
std::string colour_style();
/// The same of the palette alone for an SVG that stands by itself, with `light` and `dark` before the rules.
std::string palette_style(const std::string& light, const std::string& dark);

}  // namespace heddle::sim
