// Where the traces that Heddle writes put generic addresses of shared and local memory: as isa/ptx has them.
#pragma once

#include <cstdint>

namespace heddle::sass {

inline constexpr std::uint64_t kRecordedShared = 0x7d0000000000, kRecordedLocal = 0x7e0000000000;

}  // namespace heddle::sass
