// Writing to stdout.
#pragma once

#include <string>

namespace heddle::cli {

/// Writes the text to stdout; on a terminal with control characters written out (isa/common/foreign_text.h). Throws heddle::Error when it cannot (a full disk, a closed pipe).
void print(const std::string& text);

/// Writes a file beside its place and renames it, so that nobody ever reads half of it. Throws heddle::Error.
void write_file(const std::string& path, const std::string& text);

}  // namespace heddle::cli
