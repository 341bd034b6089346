// Writing to stdout.
#pragma once

#include <string>

namespace heddle::cli {

/// Writes the text to stdout. Throws heddle::Error when it cannot (a full disk, a closed pipe).
void print(const std::string& text);

}  // namespace heddle::cli
