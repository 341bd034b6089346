// A Trace as JSON for people to read, write and compare:
//     { "heddle_trace": 1, "name": "...",
//       "device": {"name": "NVIDIA A100-SXM4-80GB", "memory_bytes": 85097971712},
//       "tensors": [ {"name": "x", "type": "bf16", "shape": [256, 784], "role": "input", "storage": 7}, ...
//       ], "ops": [ {"name": "hidden", "kind": "matmul", "phase": "forward", "inputs": ["x", "w"], "outputs":
//       ["h"],
//                 "attributes": {"transpose_b": 1}, "dependencies": [0], "measured_us": 18.0, "kernel_name":
//                 "..."}, ... ] }
// "device" (on which it was recorded), "role" (default activation), "storage" (0), "phase" (forward),
// "attributes", "dependencies", "measured_us", "kernel_name", "stream" (0), "host_us" may be left out.
// Tensors are named, or numbered from 0 where names are not unique. Dependencies are positions of earlier
// ops. Attributes: a number written with a point is real, otherwise an integer; lists alike.
#pragma once

#include <istream>
#include <string>

#include "workloads/trace/recorded_device.h"
#include "workloads/trace/trace.h"

namespace heddle::trace {

/// Writes a trace, and the device on which it was recorded, as this JSON.
std::string to_json(const Trace& trace, const RecordedDevice& device = {});
/// Reads a trace. Throws heddle::Error that names the line (malformed JSON) or the element, such as
/// ops[3].inputs[0]. `device` receives the device that the file names. At most one tensor or op of the text
/// is held at a time.
Trace from_json(std::istream& text, const std::string& file, RecordedDevice* device = nullptr);
Trace from_json(const std::string& text, const std::string& file, RecordedDevice* device = nullptr);

}  // namespace heddle::trace
