// The double-precision reference as a training device.
#pragma once

#include <memory>

#include "sim/run/numerics/numerics.h"

namespace heddle::sim {

/// Makes the device. `trace` must outlive it. Its time_step() returns an empty list.
std::unique_ptr<TrainingDevice> reference_device(const trace::Trace& trace);

}  // namespace heddle::sim
