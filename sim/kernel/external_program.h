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

/// Runs ptxas: the one that HEDDLE_PTXAS names, else the one on PATH. Throws heddle::Error for `module` when it is not there or
/// refuses the module; `remedy` says how to do without.
void run_ptxas(std::vector<std::string> arguments, const std::string& log, const std::string& module, const std::string& remedy);

/// The target that ptxas is asked for: sm_90a where the device has instructions of its own, sm_86.
std::string ptxas_target(unsigned compute_capability);

/// Returns the first line of a program's output that contains "error", else its first line.
std::string first_complaint(const std::string& output);

/// Returns the contents of a file. Throws heddle::Error when it cannot be read or is empty.
std::string text_of_file(const std::string& path);

}  // namespace heddle::kernel
