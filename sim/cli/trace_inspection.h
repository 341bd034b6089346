// The contents of a trace, for people and for scripts.
#pragma once

#include <string>

#include "workloads/trace/recorded_device.h"
#include "workloads/trace/trace.h"

namespace heddle::cli {

/// Returns tables by kind of op and phase with counts, floating-point operations, bytes and recorded time;
/// the layers found by repetition; the peak of memory from tensor lifetimes; and the fraction of the recorded
/// time that is understood. Ops that are not understood are counted and listed by their recorded kernels.
std::string inspect_for_people(const trace::Trace& trace, const trace::RecordedDevice& device);

/// Returns one line with the fraction of the recorded time that is understood, and what is not; empty where
/// nothing was recorded.
std::string coverage_for_people(const trace::Trace& trace);

/// Returns the same as inspect_for_people() as one JSON object that ends with a newline.
std::string inspect_as_json(const trace::Trace& trace, const trace::RecordedDevice& device);

/// Returns the differences between two traces: counts, operations, bytes and recorded time of each kind of
/// op, and the first op that differs.
std::string difference_for_people(const trace::Trace& first, const trace::Trace& second);
std::string difference_as_json(const trace::Trace& first, const trace::Trace& second);

}  // namespace heddle::cli
