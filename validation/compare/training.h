// Training steps on silicon beside the same steps on the virtual GPU: losses, gradients and weights, bit for
// bit.
#pragma once

#include <vector>

#include "validation/capture/training/training_run.h"
#include "validation/compare/result.h"
#include "validation/read/recorded_capture.h"

namespace heddle::validation {

/// Repeats every run of the section `training` with real values on Heddle's functional machine. One
/// Comparison, one category for each run (a model with a variant, see
/// validation/capture/training/training_run.h), one row for each step: captured and simulated are the losses,
/// `bits` counts the loss, the gradients and the weights that are identical, `frobenius` is the relative
/// difference of the recorded samples of gradients.
///
/// Bars: every bit of runs whose every instruction has one right result ("exact": our own kernels, without
/// the approximations of the special function unit), and of runs with the vendor's matrix products when the
/// order of all of them is known; elsewhere the losses within training_tolerance().
///
/// Throws heddle::Error for a damaged capture.
std::vector<Comparison> compare_training(const RecordedCapture& capture, const CompareOptions& options);

/// How far losses of two runs of an item may be from each other where the bits are not claimed, relative. The
/// unit roundoff of what the products read (2^-24, 2^-11 for tf32 and fp16, 2^-8 for bf16), times 1,000 for
/// what twenty steps of AdamW make of it; at most 2 %.
double training_tolerance(const capture::TrainingItem& item);

/// Rows of one run: category `id`. The two have the same item.
std::vector<ComparisonRow> training_rows(const std::string& id, const capture::TrainingRun& captured,
                                         const capture::TrainingRun& simulated);

}  // namespace heddle::validation
