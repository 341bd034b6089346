// The items of section "probes" about instructions that move or multiply whole tiles from memory: wmma with a
// C and a D of different types, tensor loads that fill with NaN or round to tf32.
#pragma once

#include <vector>

#include "validation/capture/sections/section_item.h"

namespace heddle::capture {

/// wmma.mma of f16 with C and D each f32 or f16: in which precision the sum is made.
void add_wmma_questions(const SectionContext& context, std::vector<SectionItem>& items);
/// cp.async.bulk.tensor: elements beyond the tensor filled with NaN; fp32 stored as tf32; .ftz types.
void add_tensor_load_questions(const SectionContext& context, std::vector<SectionItem>& items);

std::string wmma_probe_ptx(bool half_c, bool half_d);
std::string tensor_load_ptx(unsigned element_bytes);

}  // namespace heddle::capture
