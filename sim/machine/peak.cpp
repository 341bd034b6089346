#include "sim/machine/peak.h"

#include <fmt/format.h>

namespace heddle::sim {

std::string describe(const MatrixPeak& peak) {
    std::string text =
        fmt::format("{:.4g} TFLOP/s, dense bf16 at {:.0f} MHz", peak.flops / 1e12, peak.clock / 1e6);
    if (peak.sustained < peak.flops)
        text += fmt::format(", of which products sustain {:.4g} at {:.0f} MHz", peak.sustained / 1e12,
                            peak.sustained_clock / 1e6);
    return text;
}

}  // namespace heddle::sim
