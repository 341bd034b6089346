// Heddle's own kernels on silicon beside the same kernels on the virtual GPU.
#pragma once

#include <vector>

#include "validation/compare/result.h"
#include "validation/read/recorded_capture.h"

namespace heddle::validation {

/// The section `kernels` of a capture, run again on the simulator's device. One row for each kernel: `bits`
/// of its outputs (all of them where the hashes are equal, else those recorded), ULPs, and microseconds with
/// a warm L2, captured (the median) and simulated. Bar: every element identical, of kernels without
/// approximated functions (.approx, div.full) and whose second run on silicon gave the same bits as the
/// first. Kernels that the library has changed since, and those that failed, are listed as missing. Throws
/// heddle::Error for a damaged capture.
std::vector<Comparison> compare_kernels(const RecordedCapture& capture, const CompareOptions& options);

}  // namespace heddle::validation
