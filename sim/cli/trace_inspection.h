// What a trace holds, for people and for scripts.
#pragma once

#include <string>

#include "workloads/trace/recorded_device.h"
#include "workloads/trace/trace.h"

namespace heddle::cli {

/// Tables by op kind and phase: counts, floating-point operations, bytes, recorded time; layers found by
/// repetition; the peak of memory by lifetimes; how much of the recorded time is understood. Ops that were
/// not understood are counted and listed by their recorded kernels.
std::string inspect_for_people(const trace::Trace& trace, const trace::RecordedDevice& device);

/// One line: what part of the recorded time is understood, and what is not; empty where nothing was recorded.
std::string coverage_for_people(const trace::Trace& trace);

/// The same as one JSON object, ending with a newline.
std::string inspect_as_json(const trace::Trace& trace, const trace::RecordedDevice& device);

/// In what two traces differ: counts, operations, bytes and recorded time of each kind of op, and the first
/// op that is another one.
std::string difference_for_people(const trace::Trace& first, const trace::Trace& second);
std::string difference_as_json(const trace::Trace& first, const trace::Trace& second);

}  // namespace heddle::cli
