// Any trace that Heddle can read, whoever wrote it.
#pragma once

#include <string>

#include "workloads/trace/recorded_device.h"
#include "workloads/trace/trace.h"

namespace heddle::importers {

/// A Trace of our own (.json, .et), a program of XLA, or a recorded PyTorch execution: Chakra (.et or JSON),
/// Kineto, an execution trace, or "kineto.json+execution.json", both of one run. Plain, gzip or the only
/// member of a .tar.gz ("archive.tar.gz:member" names one of several); recognised by content. `device`: is
/// given the device of the recording, where the file has it.
trace::Trace open_trace(const std::string& path, trace::RecordedDevice* device = nullptr);

}  // namespace heddle::importers
