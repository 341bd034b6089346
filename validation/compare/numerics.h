// GEMMs of a capture, bit for bit.
#pragma once

#include <vector>

#include "validation/compare/result.h"
#include "validation/read/recorded_capture.h"

namespace heddle::validation {

/// The section `numerics` of a capture, computed again on this machine's cores from the recorded inputs. The
/// order in which each GEMM adds is settled first, from its algorithm's attributes and from revealed
/// orders alone; its outputs are looked at after that. Two Comparisons:
/// - GEMMs whose order is known: `bits`, ULP histogram, `frobenius`, the worst elements with their inputs.
///   Bars: every element identical (epilogues with an approximated function apart), at least 80 % of the
///   GEMMs' orders known.
/// - The others: `frobenius` beside the exact result and its share of the bound for any order, and a table of
///   their kernels. Bar: no element beyond its bound.
/// Throws heddle::Error for a damaged capture.
std::vector<Comparison> compare_numerics(const RecordedCapture& capture, const CompareOptions& options);

}  // namespace heddle::validation
