// Machine code of a module: that of a cubin, or what ptxas makes of PTX and CUDA.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isa/sass/cubin.h"

namespace heddle::kernel {

/// Whether a module is machine code as it is: a .cubin file.
bool is_machine_code(const std::string& path);

/// Returns the machine code of a .cubin file, or what ptxas (HEDDLE_PTXAS or on PATH) makes of a .ptx file and nvcc of a .cu file
/// for the device's compute capability, unless the flags choose one. Throws heddle::Error when the file cannot be read, a program
/// is not installed, or it fails (with the first line of its message).
std::shared_ptr<const sass::Cubin> machine_code_of(const std::string& path, const std::vector<std::string>& nvcc_flags,
                                                   unsigned compute_capability);

}  // namespace heddle::kernel
