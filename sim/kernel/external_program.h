// Running programs of the CUDA toolkit, where they are installed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace heddle::kernel {

/// A temporary folder, which is removed with its contents when the object is destroyed.
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

/// Runs a program, found on PATH or given by its path, with stdout and stderr written to the file `log`.
/// Returns its exit code, or 127 when there is no such program.
int run_program(const std::vector<std::string>& words, const std::string& log);

/// Returns the first line of a program's output that contains "error", else its first line.
std::string first_complaint(const std::string& output);

/// Returns the contents of a file. Throws heddle::Error when it cannot be read or is empty.
std::string text_of_file(const std::string& path);

}  // namespace heddle::kernel
