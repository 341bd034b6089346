// A folder for readers of several files, and "refused or read" in one word.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "isa/common/error.h"

namespace heddle::test {

/// Goes when the program ends.
class Folder {
  public:
    explicit Folder(const std::string& name)
        : path_(std::filesystem::temp_directory_path() /
                ("heddle-fuzz-" + name + "-" + std::to_string(::getpid()))) {
        std::filesystem::create_directories(path_);
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::string operator/(const std::string& name) const { return (path_ / name).string(); }
    const std::filesystem::path& path() const { return path_; }
    std::string write(const std::string& name, std::string_view bytes) const {
        std::error_code ignored;
        std::filesystem::remove(path_ / name,
                                ignored);  // truncating an old file makes ext4 write it out at once
        std::ofstream(path_ / name, std::ios::binary)
            .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        return *this / name;
    }

  private:
    std::filesystem::path path_;
};

/// What a reader may do with any input. Whatever else it throws ends the program.
template <typename Read>
void refuse_or_read(Read read) {
    try {
        read();
    } catch (const heddle::Error&) {
    }
}

/// Cuts the part before the next line of `---` off `text`; all of it where there is none.
inline std::string_view next_part(std::string_view& text) {
    constexpr std::string_view kLine = "---\n";
    const std::size_t at = text.find(kLine);
    const std::string_view part = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view() : text.substr(at + kLine.size());
    return part;
}

}  // namespace heddle::test
