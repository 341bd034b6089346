// The colours of charts: a palette for any names, and one fixed colour for each part of a unit's time, which
// is the same wherever that part is shown.
#pragma once

#include <string>
#include <vector>

namespace heddle::sim {

/// Number of distinguishable colours in the palette; series take them in order.
inline constexpr int kPaletteSize = 8;

/// One colour with its shades for light and dark pages.
struct Colour {
    std::string name;         ///< what it stands for, such as "memory"; empty for colours of the palette
    std::string light, dark;  ///< "#2f6fde": on a white page and on a black page
};

/// Returns all colours by index. The palette comes first, then the parts of the cycles of a GPU's issue
/// slots, of a TPU's matrix units and of a TPU's other units. All of these differ, and charts stack them in
/// this order, from work to idleness.
const std::vector<Colour>& colours();

/// Returns the index of the colour of a part of time ("memory", "useful", "RAW stall"), or -1 when it has
/// none of its own.
int colour_of_part(const std::string& part);

/// Returns the style sheet of pages: variables --c0, --c1, ... for light and dark pages, and classes c0, c1,
/// ... that fill shapes.
std::string colour_style();
/// Returns the same for the palette only, for a self-contained SVG. `light` and `dark` are inserted before
/// the rules of each.
std::string palette_style(const std::string& light, const std::string& dark);

}  // namespace heddle::sim
