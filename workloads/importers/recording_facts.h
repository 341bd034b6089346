// What does a recording have, and what does it lack?
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "workloads/trace/recorded_device.h"

namespace heddle::importers {

/// Counts of a recording, before anything is made of it.
struct RecordingFacts {
    std::string kind;  ///< "profile (Kineto)", "execution trace", "Chakra", ...
    trace::RecordedDevice device;
    bool is_recording = false;  ///< false: a file of Heddle's own or of XLA, which is a step already
    std::size_t calls = 0, calls_with_shapes = 0, calls_with_numbers = 0, calls_with_results = 0;
    std::size_t kernels = 0, kernels_with_grid = 0, kernels_without_call = 0;
    std::size_t copies = 0, copies_with_bytes = 0;
    std::size_t collectives = 0, collectives_with_bytes = 0;
    double kernel_us = 0, without_call_us = 0;  ///< microseconds of all kernels, and of those without a call
};

class Recording;

/// Counts what a finished recording has. `kind` is the name of its form.
RecordingFacts facts_of(const Recording& recording, const std::string& kind);

/// One thing that a recording lacks, and the option of the profiler that would have recorded it.
struct MissingFact {
    std::string what, remedy;
};

/// Returns what is missing, the most important first; empty where everything is there.
std::vector<MissingFact> missing_facts(const RecordingFacts& facts);

}  // namespace heddle::importers
