#include "isa/common/hexadecimal.h"

#include <charconv>

namespace heddle {

std::string hexadecimal(std::uint64_t value) {
    char digits[16];
    const std::to_chars_result written = std::to_chars(digits, digits + sizeof digits, value, 16);
    return "0x" + std::string(digits, written.ptr);
}

}  // namespace heddle
