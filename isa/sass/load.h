// Kernels of a cubin as modules that the PTX executor runs.
//
// A cubin may hold thousands of kernels, so that each is decoded and translated when it is asked for. What all of them share, the
// variables and what can be known of a kernel without its code, is declarations_of().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "isa/ptx/module.h"
#include "isa/sass/cubin.h"

namespace heddle::sass {

/// The parameters of a kernel, as launches lay them out.
std::vector<ptx::Parameter> parameters_of(const MachineFunction& kernel);

/// A module with the cubin's variables, and with its kernels but for their instructions: names, parameters, limits.
std::shared_ptr<const ptx::Module> declarations_of(const Cubin& cubin);

/// A module of one kernel, translated and with the times of its machine code (ptx::Kernel::machine_code). Its variables are those
/// of declarations_of(). `report`, when there is one, says how its code and that of the functions it calls was read. Throws heddle::Error that names the first instruction that is not understood, or the kernel when there
/// is none of this name.
std::shared_ptr<const ptx::Module> load_kernel(const Cubin& cubin, const std::string& kernel, DecodeReport* report = nullptr);

}  // namespace heddle::sass
