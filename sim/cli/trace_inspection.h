// The contents of a trace, for people and for scripts.
#pragma once

#include <string>

#include "workloads/importers/recording_facts.h"
#include "workloads/trace/recorded_device.h"
#include "workloads/trace/trace.h"

namespace heddle::cli {

/// Returns tables by kind of op and phase with counts, floating-point operations, bytes and recorded time;
/// the layers found by repetition; the peak of memory from tensor lifetimes; and the fraction of the recorded
/// time that is understood. Ops that are not understood are counted and listed by their recorded kernels.
std::string inspect_for_people(const trace::Trace& trace, const trace::RecordedDevice& device);

/// Returns one line where less than half of the recorded time (without one, of the ops) can be simulated;
/// else nothing.
std::string warning_for_people(const trace::Trace& trace);

/// What a recording has and lacks, how much of it can be simulated, which options of the profiler would have
/// recorded the rest, and whether the device could have moved the bytes that were inferred in the recorded
/// time. `bandwidth` is the device's, in bytes per second; 0: not known.
std::string diagnosis_for_people(const trace::Trace& trace, const importers::RecordingFacts& facts,
                                 double bandwidth);
std::string diagnosis_as_json(const trace::Trace& trace, const importers::RecordingFacts& facts, double bandwidth);

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
