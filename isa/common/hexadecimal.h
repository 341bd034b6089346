// Addresses and bits in messages.
#pragma once

#include <cstdint>
#include <string>

namespace heddle {

/// The number in hexadecimal without leading zeros, such as "0x7f80".
std::string hexadecimal(std::uint64_t value);

}  // namespace heddle
