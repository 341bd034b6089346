// Where third-party recordings lie: $HEDDLE_DATA, or ../shared/data beside the source tree.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>

namespace heddle::test {

/// The path of a recording, or nothing (and one line "skipped: ...") when it is not there.
inline std::optional<std::string> recording(const std::string& name) {
    const char* folder = std::getenv("HEDDLE_DATA");
    const std::filesystem::path root = folder != nullptr
                                           ? std::filesystem::path(folder)
                                           : std::filesystem::path(HEDDLE_SOURCE_DIR) / "../shared/data";
    const std::filesystem::path path = root / name;
    if (std::filesystem::exists(path)) return path.string();
    std::cout << "skipped: " << name << " is not in " << root.string() << "\n";
    return std::nullopt;
}

}  // namespace heddle::test
