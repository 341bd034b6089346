// How near to the user a value of a hardware file was set.
#pragma once

#include <cstddef>

#include "sim/config/settings.h"

namespace heddle::sim {

/// 0: on the command line, 1: in the file itself, 2: in the one that it extends, ...
std::size_t distance_from_user(const ValueOrigin& origin, const HardwareText& text);

}  // namespace heddle::sim
