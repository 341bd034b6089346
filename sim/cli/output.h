// Writing to stdout and to files.
#pragma once

#include <string>

namespace heddle::cli {

/// Writes text to stdout. On a terminal, control characters are written as escapes
/// (isa/common/foreign_text.h). Throws heddle::Error on failure (a full disk, a closed pipe).
void print(const std::string& text);

/// Writes a file under a temporary name and renames it, so that nobody reads a partial file. Throws
/// heddle::Error.
void write_file(const std::string& path, const std::string& text);

}  // namespace heddle::cli
