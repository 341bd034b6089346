// Files that are held whole.
#pragma once

#include <cstdint>
#include <string>

namespace heddle {

/// What a person writes or a small tool prints: hardware, clusters, models, launches.
inline constexpr std::uint64_t kMostOfWritten = std::uint64_t{16} << 20;
/// What programs print: tables, programs of TPUs.
inline constexpr std::uint64_t kMostOfPrinted = std::uint64_t{256} << 20;

/// The bytes of a file. Throws heddle::Error when it cannot be read or has more than `most`; `remedy` is that
/// of a file that is not there. Devices and pipes that never end are refused so, too.
std::string read_text_file(const std::string& path, std::uint64_t most, const std::string& remedy = "");

}  // namespace heddle
