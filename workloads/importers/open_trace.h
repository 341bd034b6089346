// Opens any trace that Heddle can read.
#pragma once

#include <string>

#include "workloads/importers/recording_facts.h"
#include "workloads/trace/recorded_device.h"
#include "workloads/trace/trace.h"

namespace heddle::importers {

/// Reads a Trace of Heddle's own (.json, .et), a program of XLA, or a recorded PyTorch execution: Chakra (.et
/// or JSON), Kineto, an execution trace, or "kineto.json+execution.json", both of one run. Files may be
/// plain, gzip, or the only member of a .tar.gz ("archive.tar.gz:member" names one of several), and are
/// recognised by content. `device` receives the device of the recording, where the file contains it, `facts` what a
/// recording has.
trace::Trace open_trace(const std::string& path, trace::RecordedDevice* device = nullptr,
                        RecordingFacts* facts = nullptr);

}  // namespace heddle::importers
