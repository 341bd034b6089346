// The files that a launch file names under `outputs`.
#pragma once

#include <string>
#include <vector>

#include "isa/common/result_folder.h"
#include "sim/kernel/launch_file.h"
#include "sim/kernel/run.h"

namespace heddle::kernel {

/// The outputs of a launch file. A launch file may come from somebody else; therefore its paths must stay
/// within the folder, unless `anywhere` is set, and must not replace a file that Heddle did not write.
class Outputs {
  public:
    /// Paths are relative to `folder` ("": the current one). Throws heddle::Error before the run, with the
    /// line of the launch file, for a path that leaves the folder and for an existing file that Heddle did
    /// not write.
    Outputs(const std::vector<OutputDeclaration>& declared, const std::string& folder, bool anywhere);

    /// Writes the buffers when the run has values. Returns the paths.
    std::vector<std::string> write(const KernelRun& run) const;

  private:
    struct Output {
        std::size_t buffer;
        std::string path, folder, name;
    };
    std::vector<Output> outputs_;
};

/// Returns the first option of nvcc in `flags` that could run or load another program, or read or write files
/// other than the module: every option that is not known to affect only the generated code. Empty when there
/// is none.
std::string powerful_nvcc_flag(const std::vector<std::string>& flags);

}  // namespace heddle::kernel
