// Programs of the CUDA toolkit, where they are installed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace heddle::kernel {

/// A folder of its own that goes away.
class ScratchFolder {
  public:
    ScratchFolder();
    ~ScratchFolder();
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

/// Runs a program, found on PATH or named by its path, with stdout and stderr in `log`. Returns its exit
/// code, 127 when there is no such program.
int run_program(const std::vector<std::string>& words, const std::string& log);

/// Of what a program printed: the first line with "error", else the first line.
std::string first_complaint(const std::string& output);

/// The contents of a file. Throws heddle::Error when it cannot be read or is empty.
std::string text_of_file(const std::string& path);

}  // namespace heddle::kernel
