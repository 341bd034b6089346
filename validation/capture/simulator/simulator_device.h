// A device that does not exist: Heddle's own machine behind the interface of a capture, so that every section
// runs, and is tested, without a GPU. It is not silicon and says so.
//
// Values come from the functional machine (isa/ptx). Time comes from the GPU model (models/gpu): that of
// time(), and the cycles that a kernel reads itself from %clock, %clock64 or %globaltimer; launches of such
// kernels run on the model with their values. L2 is as earlier launches left it, at the grain of whole
// buffers (sim/gpu/plan/l2_residency.h). A number is simulated once and reported for every repetition: nothing
// here varies.
#pragma once

#include <memory>
#include <string>

#include "validation/capture/device.h"

namespace heddle::capture {

/// `hardware`: the name of a preset ("h100-sxm") or a YAML file. Its GPU model is built when first needed;
/// a process holds one (SystemC elaborates once), so a second device that needs time must be of the same
/// hardware. Throws heddle::Error when the hardware cannot be read or is no GPU.
///
/// `checked`, for tests: each simulated launch is also run without values, and with them looking at every
/// block in every cycle; cycles that differ are a DeviceError.
std::unique_ptr<Device> make_simulator_device(const std::string& hardware = "h100-sxm", bool checked = false);

}  // namespace heddle::capture
