// Machine code that ptxas makes of PTX, where it is installed.
#pragma once

#include <memory>
#include <string>

#include "isa/sass/cubin.h"

namespace heddle::kernel {

/// Returns the machine code that ptxas (HEDDLE_PTXAS or on PATH) makes of PTX. `module`: its name in messages. Throws heddle::Error
/// when ptxas is not installed or refuses the module.
std::shared_ptr<const sass::Cubin> assemble(const std::string& text, unsigned compute_capability, const std::string& module);

/// Throws heddle::Error when ptxas is not installed, so that it is told before work begins.
void require_ptxas();

}  // namespace heddle::kernel
