// The generic addresses of shared and local memory in traces that Heddle writes; isa/ptx uses the same.
#pragma once

#include <cstdint>

namespace heddle::sass {

inline constexpr std::uint64_t kRecordedShared = 0x7d0000000000, kRecordedLocal = 0x7e0000000000;

}  // namespace heddle::sass
