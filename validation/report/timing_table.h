// docs/timing-accuracy.md: published latencies and bandwidths beside those of the model.
#pragma once

#include <string>
#include <vector>

#include "validation/compare/result.h"

namespace heddle::validation {

/// The whole page, from the comparisons with publications (others are left out): for each device its rows
/// with bars and sources. Throws heddle::Error when there is no such comparison.
std::string timing_accuracy_page(const std::vector<Comparison>& comparisons);

}  // namespace heddle::validation
