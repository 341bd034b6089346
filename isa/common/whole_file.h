// Files that are there whole or not at all.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace heddle {

/// Writes a file beside its place and renames it, so that nobody ever reads half of it, and what was there
/// before stays when it fails. The file keeps the permissions that it had; a link stays and the file that it
/// leads to is written. Devices, FIFOs and descriptors (/dev/null, /dev/stdout, /dev/fd/3) are written into.
/// Throws heddle::Error, also when the file is write-protected.
void write_whole_file(const std::string& path, std::string_view bytes);

/// Does the same with a file that `write` makes under the path that it is given; `write` returns false when
/// it failed.
void write_whole_file(const std::string& path, const std::function<bool(const std::string& aside)>& write);

}  // namespace heddle
