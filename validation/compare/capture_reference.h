// A capture as what a comparison compares with.
#pragma once

#include <string>

#include "validation/compare/result.h"
#include "validation/read/recorded_capture.h"

namespace heddle::validation {

/// `hardware`: the preset that is simulated beside it; empty where none is.
inline Reference reference_of(const RecordedCapture& capture, const std::string& hardware = "") {
    return {"capture",      capture.name(),   capture.device_name(),
            capture.date(), capture.driver(), capture.is_silicon(),
            hardware};
}

}  // namespace heddle::validation
