// The devices that this build of the program has.
#pragma once

#include <memory>
#include <string>

#include "validation/capture/device.h"

namespace heddle::capture {

/// "cuda", "cuda:N", "simulator", "simulator:HARDWARE". Throws heddle::Error: not in this build, not on this
/// machine.
std::unique_ptr<Device> open_device(const std::string& name);

}  // namespace heddle::capture
