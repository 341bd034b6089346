// Most functions disappear while a module is parsed: a call becomes a copy of the function's body. Functions
// that call themselves, or are called through pointers, are kept behind the kernel's own instructions, once
// each. The rest of isa/ptx knows kernels only. Internal to the parser.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// A .func. Its parameters are variables of parameter space, results first, from `first_formal` on.
struct Function {
    Kernel body;                                               ///< parsed as if it were a kernel
    std::size_t first_formal = 0, results = 0, arguments = 0;  ///< index in Kernel::variables of the first
                                                               ///< parameter, and how many there are of each
                                                               ///< kind
    bool defined = false;                                      ///< false: declared only
    std::uint64_t address = 0;                                 ///< what a pointer to it holds
    bool address_taken = false;                                ///< a pointer to it exists
    bool recursive = false;                                    ///< see mark_recursive()
};
using Functions = std::map<std::string, Function>;

/// Sizes of the results or arguments.
std::vector<std::uint32_t> formal_bytes(const Function& function, bool results);

/// Finds the functions that can be called while they run already. A call through a pointer may reach every
/// function whose address is taken, with parameters of the same sizes.
void mark_recursive(Functions& functions);

/// Replaces the calls of `kernel`, and turns the parameter variables into registers, or into local memory
/// where they are arrays. Fills Kernel::calls and Kernel::functions with what is left. Throws heddle::Error
/// for a function that has no body and is none of the device runtime's.
void inline_calls(Kernel& kernel, const Functions& functions, const std::string& file_name);

}  // namespace heddle::ptx
