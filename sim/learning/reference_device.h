// The double-precision reference as a device that trains.
#pragma once

#include <memory>

#include "sim/run/numerics/numerics.h"

namespace heddle::sim {

/// The trace must outlive it.
std::unique_ptr<TrainingDevice> reference_device(const trace::Trace& trace);

}  // namespace heddle::sim
