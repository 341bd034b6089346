// The items of section "probes" that execute matrix instructions.
#pragma once

#include <vector>

#include "validation/capture/sections/section_item.h"

namespace heddle::capture {

/// Questions 1 to 8 and a few more, of each dense floating-point instruction.
void add_matrix_questions(const SectionContext& context, std::vector<SectionItem>& items);
/// Random vectors of every instruction, sparse ones too, and of two instructions after one another.
void add_matrix_vectors(const SectionContext& context, std::vector<SectionItem>& items);

}  // namespace heddle::capture
