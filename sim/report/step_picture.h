// The step as a picture: what ran when, and which units of the device it kept at work.
#pragma once

#include <string>

#include "sim/run/assemble/result.h"

namespace heddle::sim {

/// A lane for the host and one for each stream, coloured by kind of op, and a lane for each unit of the
/// device, the darker the more of the unit's rate the running kernels used. `width` pixels. Work that is
/// shorter than a pixel is drawn together with what follows it. One <svg> and its legend; empty without
/// kernels.
std::string timeline_picture(const RunResult& result, double width = 1200);

/// The same as a file of its own, timeline.svg, with title and legend; follows a light or dark screen.
std::string timeline_svg(const RunResult& result);

}  // namespace heddle::sim
