// Times on silicon beside simulated ones: micro-benchmarks, GEMMs and kernels of a capture's section
// `timing`, and micro-benchmarks that others have published.
#pragma once

#include <vector>

#include "validation/compare/result.h"
#include "validation/read/recorded_capture.h"

namespace heddle::validation {

/// Runs what the section `timing` holds on the model of options.hardware (empty: the preset that matches the
/// capture's GPU). One Comparison for micro-benchmarks and one for GEMMs and kernels. Rows that the model
/// cannot run are listed as missing, with the reason. Throws heddle::Error for a damaged capture.
std::vector<Comparison> compare_timing(const RecordedCapture& capture, const CompareOptions& options);

/// The same micro-benchmarks against published figures (validation/published), one Comparison for each device
/// that has a preset; options.hardware selects one of them.
std::vector<Comparison> compare_published_timing(const CompareOptions& options);

}  // namespace heddle::validation
