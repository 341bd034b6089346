// The step as a picture: what ran when, and how busy the device's units were.
#pragma once

#include <string>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// Returns one <svg> and its legend with a lane for the host, a lane for each stream, coloured by kind of op,
/// and a lane for each unit of the device, which is darker the more of the unit's rate the running kernels
/// used. `width` is in pixels; work that is shorter than a pixel is drawn together with what follows it.
/// Empty without kernels.
std::string timeline_picture(const RunResult& result, double width = 1200);

/// Returns the same as a self-contained file, timeline.svg, with title and legend, that follows a light or
/// dark screen.
std::string timeline_svg(const RunResult& result);

}  // namespace heddle::sim
