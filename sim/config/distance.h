// How close to the user a value of a hardware file was set.
#pragma once

#include <cstddef>

#include "sim/config/settings.h"

namespace heddle::sim {

/// Returns 0 for a value from the command line, 1 for one in the file itself, 2 for one in the file that it
/// extends, and so on.
std::size_t distance_from_user(const ValueOrigin& origin, const HardwareText& text);

}  // namespace heddle::sim
