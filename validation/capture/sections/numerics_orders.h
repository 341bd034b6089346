// The orders of the algorithms that the GEMMs of section `numerics` met: what cannot be told from an
// algorithm's attributes is asked of the device while it is there.
#pragma once

#include <vector>

#include "validation/capture/section.h"
#include "validation/capture/sections/numerics_items.h"

namespace heddle::capture {

/// The heuristic's first, then those that may add in another order than the ones before (tile and cluster
/// shape do not change it), at most `count`.
std::vector<GemmAlgorithm> telling_algorithms(const std::vector<GemmAlgorithm>& offered, std::size_t count);

/// Reveals the order of every algorithm among the items' at up to three K, until the time for it is over: one
/// record each, "kind": "order" and the members of order_record.h. Returns false when it was stopped.
bool reveal_met_orders(SectionContext& context, Blas& blas, const std::vector<NumericsItem>& items);

}  // namespace heddle::capture
