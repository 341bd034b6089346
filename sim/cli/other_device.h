// What may a recording of one device say about another?
#pragma once

#include <string>

#include "sim/machine/hardware.h"
#include "workloads/trace/recorded_device.h"
#include "workloads/trace/trace.h"

namespace heddle::cli {

/// Recorded times of kernels that are not understood, and of collectives, stand in for simulated ones only on
/// the device on which they were recorded. For any other one they are removed: where a hardware file
/// describes the recording's device, such a kernel gets as many bytes as that device moves in its recorded
/// time, which are estimated on the other one and marked "inferred: "; elsewhere it has no time and the result
/// says that it is incomplete. Returns a sentence for people; empty when nothing was changed, as it is when
/// the recording does not name its device.
std::string keep_to_recorded_device(trace::Trace& trace, const trace::RecordedDevice& device,
                                    const sim::Hardware& hardware);

}  // namespace heddle::cli
