// Training steps on silicon beside the same steps on the virtual GPU: losses, gradients and weights, bit for
// bit.
#pragma once

#include <vector>

#include "validation/compare/result.h"
#include "validation/read/recorded_capture.h"

namespace heddle::validation {

/// Repeats every run of the section `training`, with real values, on Heddle's functional machine. One
/// Comparison for each run (a model with a variant, see validation/capture/training.h), one row for each
/// step: captured and simulated are the losses, `bits` counts loss, gradients and weights that are identical
/// in every bit, `frobenius` is the relative difference of the recorded samples of gradients.
///
/// Bars: every bit of runs whose every instruction has one right result ("exact": our own kernels, without
/// the approximations of the special function unit), and of runs with the vendor's matrix products when the
/// ReductionPlan of all of them is known; elsewhere the losses within a stated relative difference.
///
/// Throws heddle::Error for a damaged capture.
std::vector<Comparison> compare_training(const RecordedCapture& capture, const CompareOptions& options);

}  // namespace heddle::validation
