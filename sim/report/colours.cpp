#include "sim/report/colours.h"

#include <fmt/format.h>

#include <algorithm>

namespace heddle::sim {
namespace {

const std::vector<Colour> kColours{
    {"", "#2f6fde", "#6ea0ff"},
    {"", "#d97a0b", "#f0ad52"},
    {"", "#23936a", "#58c79a"},
    {"", "#b5475d", "#e07a8f"},
    {"", "#7a5fc7", "#a892ea"},
    {"", "#1d95a8", "#63cbdb"},
    {"", "#7d8231", "#bcc063"},
    {"", "#8b95a5", "#7f8a9b"},
    // Issue slots of a GPU.
    {"issued", "#2f6fde", "#6ea0ff"},
    {"pipeline busy", "#23936a", "#58c79a"},
    {"register banks", "#9bbf3b", "#c3de6e"},
    {"fixed latency", "#7a5fc7", "#a892ea"},
    {"memory", "#d97a0b", "#f0ad52"},
    {"load-store queue full", "#f4c95d", "#ffe08a"},
    {"barrier", "#b5475d", "#e07a8f"},
    {"constant cache", "#1d95a8", "#63cbdb"},
    {"instruction fetch", "#c96bb5", "#eb9dd8"},
    {"no warp", "#7d8694", "#8f99a8"},
    {"not launched", "#c3cad4", "#4d5765"},
    // Matrix units of a TPU.
    {"useful", "#1b4f9c", "#4f86e0"},
    {"unused", "#8db8ea", "#a9cbf5"},
    {"weight shift", "#5fb39a", "#8fd8c1"},
    {"weight stall", "#0f6b52", "#2d7f63"},
    {"RAW stall", "#5d3fa8", "#8c6fdb"},
    {"DMA wait", "#c4560a", "#ea8a3c"},
    {"input stall", "#96293f", "#cf5a73"},
    {"results", "#7d8231", "#bcc063"},
    // Its other units.
    {"working", "#3d93c9", "#5fb6ec"},
    {"RAW", "#b49ce3", "#cbb8f5"},
    {"DMA", "#eda05f", "#ffc48c"},
    {"input", "#dd8a9b", "#f2abb9"},
    {"sync flag", "#cfa711", "#e8c93f"},
    {"weights", "#35876c", "#4bb089"},
    {"accumulator", "#b9bb6a", "#d8da95"},
    {"on-chip memory", "#6e5136", "#a58463"},
    {"outstanding transfers", "#f3cfae", "#ffe2c9"},
    {"queue full", "#3fb3c7", "#8ae0ee"},
    // Idle.
    {"no instruction", "#949ca8", "#79828f"},
    {"not used", "#d3d8e0", "#3b4452"},
};

std::string variables(bool dark) {
    std::string text;
    for (std::size_t i = 0; i < kColours.size(); ++i)
        text += fmt::format(" --c{}: {};", i, dark ? kColours[i].dark : kColours[i].light);
    return text;
}

}  // namespace

const std::vector<Colour>& colours() {
    return kColours;
}

int colour_of_part(const std::string& part) {
    const auto found = std::find_if(kColours.begin() + kPaletteSize, kColours.end(),
                                    [&](const Colour& colour) { return colour.name == part; });
    return found == kColours.end() ? -1 : static_cast<int>(found - kColours.begin());
}

std::string colour_style() {
    std::string text = fmt::format(
        ":root {{{0} }}\n@media (prefers-color-scheme: dark) {{ :root:not([data-theme=\"light\"]) {{{1} }} "
        "}}\n"
        ":root[data-theme=\"dark\"] {{{1} }}\n",
        variables(false), variables(true));
    for (std::size_t i = 0; i < kColours.size(); ++i)
        text += fmt::format(".c{0} {{ fill: var(--c{0}); background: var(--c{0}); }}\n", i);
    return text;
}

std::string palette_style(const std::string& light, const std::string& dark) {
    const auto rules = [](bool of_dark) {
        std::string text;
        for (std::size_t i = 0; i < kPaletteSize; ++i)
            text += fmt::format(".c{} {{ fill: {}; }}\n", i, of_dark ? kColours[i].dark : kColours[i].light);
        return text;
    };
    return light + rules(false) + "@media (prefers-color-scheme: dark) { " + dark + rules(true) + "}\n";
}

}  // namespace heddle::sim
