// The PTX of a launch file's modules, which is read or compiled with nvcc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isa/ptx/module.h"

namespace heddle::kernel {

/// Returns the text of a .ptx file, or the output of `nvcc -ptx -arch=sm_NN FLAGS` for a .cu file, with the
/// device's compute capability (sm_90a for 90) unless the flags choose one. Throws heddle::Error when the
/// file cannot be read, nvcc is not installed, or it fails (with the first line of its message).
std::string module_text(const std::string& path, const std::vector<std::string>& nvcc_flags,
                        unsigned compute_capability);

/// Returns the kernel that `entry` names in a module. Throws heddle::Error that lists the existing kernels.
const ptx::Kernel& find_kernel(const ptx::Module& module, const std::string& entry);

}  // namespace heddle::kernel
