// Operands of timed GEMMs: random numbers written by the device itself. Their values decide how much power a
// tensor core takes, and so the clock; nothing else about them matters here.
#pragma once

#include "validation/capture/device.h"

namespace heddle::capture {

/// Fills `bytes` (a multiple of 4) with elements of the type: random signs and significands, magnitudes
/// between 1/8 and 2; integers of all values. Puts the work on the device's stream.
void fill_random(Device& device, Address to, std::uint64_t bytes, Type type, std::uint32_t seed);

}  // namespace heddle::capture
