// The items of section "probes" that execute instructions of one thread.
#pragma once

#include <vector>

#include "validation/capture/sections/section_item.h"

namespace heddle::capture {

/// Question 10: subnormal numbers in fma, with and without .ftz.
void add_scalar_questions(const SectionContext& context, std::vector<SectionItem>& items);
/// Conversions, arithmetic, approximations on many operands.
void add_scalar_vectors(const SectionContext& context, std::vector<SectionItem>& items);

}  // namespace heddle::capture
