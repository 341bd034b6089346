// Addresses and bits in messages.
#pragma once

#include <cstdint>
#include <string>

namespace heddle {

/// "0x7f80", without leading zeros.
std::string hexadecimal(std::uint64_t value);

}  // namespace heddle
