// A capture written by hand, for tests of what reads it.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace heddle::validation::test {

/// A folder that goes away at the end of the scope.
class CaptureFolder {
  public:
    explicit CaptureFolder(const std::string& name = "capture")
        : path_(std::filesystem::temp_directory_path() /
                ("heddle-test-" + std::to_string(getpid()) + "-" + name)) {
        std::filesystem::remove_all(path_);
        std::filesystem::create_directories(path_);
    }
    ~CaptureFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    const std::filesystem::path& path() const { return path_; }
    void write(const std::string& name, const std::string& contents) const {
        std::ofstream(path_ / name, std::ios::binary) << contents;
    }

  private:
    std::filesystem::path path_;
};

}  // namespace heddle::validation::test
