// Static shared memory of a kernel. Internal to the parser.
#pragma once

#include <string>

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// Gives the static shared arrays that the kernel uses their offsets; dynamic ones start behind them.
void lay_out_shared_memory(Kernel& kernel, const std::string& file_name);

}  // namespace heddle::ptx
