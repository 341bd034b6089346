// The PTX of a launch file's modules: read, or compiled by nvcc.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isa/ptx/module.h"

namespace heddle::kernel {

/// The text of a .ptx file, or what nvcc makes of a .cu file: `nvcc -ptx -arch=sm_NN FLAGS`, with the
/// device's compute capability (sm_90a for 90) unless the flags choose one. Throws heddle::Error when the
/// file cannot be read, nvcc is not there, or it fails (with the first line of its complaint).
std::string module_text(const std::string& path, const std::vector<std::string>& nvcc_flags,
                        unsigned compute_capability);

/// The kernel that `entry` names in a module. Throws heddle::Error that lists the kernels there are.
const ptx::Kernel& find_kernel(const ptx::Module& module, const std::string& entry);

}  // namespace heddle::kernel
