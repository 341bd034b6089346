// The files that a launch file names under `outputs`.
#pragma once

#include <string>
#include <vector>

#include "isa/common/result_folder.h"
#include "sim/kernel/launch_file.h"
#include "sim/kernel/run.h"

namespace heddle::kernel {

/// Where the outputs of a launch file go. A launch file may come from somebody else: what it names stays
/// within the folder, unless `anywhere`, and replaces no file that Heddle did not write.
class Outputs {
  public:
    /// `folder` ("": the current one) is where the paths begin. Throws heddle::Error, with the line of the
    /// launch file, for a path that leads out of it, and for a file that is there already and not Heddle's:
    /// before the run.
    Outputs(const std::vector<OutputDeclaration>& declared, const std::string& folder, bool anywhere);

    /// Writes the buffers, when the run has values. Returns the paths.
    std::vector<std::string> write(const KernelRun& run) const;

  private:
    struct Output {
        std::size_t buffer;
        std::string path, folder, name;
    };
    std::vector<Output> outputs_;
};

/// The first option of nvcc among `flags` that could run another program, load one, or read or write files
/// beside the module: what is not known to choose only what the code is. Empty: there is none.
std::string powerful_nvcc_flag(const std::vector<std::string>& flags);

}  // namespace heddle::kernel
