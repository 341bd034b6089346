// The order in which one algorithm adds, as members of a record: what the sections `order` and `numerics`
// ask.
#pragma once

#include <cstddef>
#include <vector>

#include "validation/capture/section.h"

namespace heddle::capture {

/// Whether the order of a problem can be revealed: floating point, alpha 1, beta 0, no epilogue, one batch
/// entry, D dense.
bool has_order(const GemmProblem& problem);

/// Adds "algorithm" (observed), and "tree", or "tree_length" with the text in `bytes` when it is long, or
/// "problem"; "probes", "complete", "multiplications", "places" ("corner": the edges may differ); or "error".
/// Returns false when it was interrupted: nothing is to be recorded then. Passes on the DeviceError of a lost
/// device.
bool reveal_algorithm(SectionContext& context, const GemmProblem& problem, GemmAlgorithm algorithm,
                      Record& record, std::vector<std::byte>& bytes);

}  // namespace heddle::capture
