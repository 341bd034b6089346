// How instructions ask caches to keep their lines, as far as the program text says it.
#pragma once

#include <span>
#include <vector>

#include "isa/ptx/decode/data_flow.h"
#include "isa/ptx/execution.h"
#include "isa/ptx/module.h"

namespace heddle::ptx {

/// One per instruction of the kernel. An operand L2::cache_hint is followed to its only definition: a
/// createpolicy.fractional, or one of the constants that CUTLASS gives TMA copies. Policies of a range of
/// addresses, and those that a kernel parameter holds, say nothing.
std::vector<CachePolicy> cache_policies(const Kernel& kernel, std::span<const RegisterUse> uses);

}  // namespace heddle::ptx
