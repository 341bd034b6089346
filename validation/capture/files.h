// Files of a capture: whole ones are written aside and renamed; long ones are compressed by `gzip`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace heddle::capture {

/// Throws heddle::Error.
std::string read_file(const std::filesystem::path& path);
/// Written to PATH.part, then renamed: a reader sees the old text or the new one. Throws heddle::Error.
void write_file(const std::filesystem::path& path, std::string_view text);

/// Runs the `gzip` program: `from` compressed, or with `expand` expanded, becomes `to`, and `from` is
/// removed. False, with both as they were, when there is no gzip or it fails.
bool gzip_file(const std::filesystem::path& from, const std::filesystem::path& to, bool expand = false);

}  // namespace heddle::capture
