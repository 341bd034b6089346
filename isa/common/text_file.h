// Files that are held whole.
#pragma once

#include <cstdint>
#include <string>

namespace heddle {

/// Largest size in bytes of files that people write or small tools print: hardware, clusters, models,
/// launches.
inline constexpr std::uint64_t kMostOfWritten = std::uint64_t{16} << 20;
/// Largest size in bytes of files that programs print: tables, programs of TPUs.
inline constexpr std::uint64_t kMostOfPrinted = std::uint64_t{256} << 20;

/// The bytes of a file. Throws heddle::Error when it cannot be read or has more than `most`; `remedy` is the
/// advice for a file that does not exist. The limit also stops reads of devices and pipes that never end.
std::string read_text_file(const std::string& path, std::uint64_t most, const std::string& remedy = "");

}  // namespace heddle
