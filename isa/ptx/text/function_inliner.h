// Functions disappear while a module is parsed: every call becomes a copy of the function's body. The rest of
// isa/ptx knows kernels only. Internal to the parser.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "isa/ptx/module.h"

namespace heddle::ptx {

/// A .func. Its parameters are variables of parameter space, results first, from `first_formal` on.
struct Function {
    Kernel body;
    std::size_t first_formal = 0, results = 0, arguments = 0;
    bool defined = false;  ///< false: declared only
};

/// Replaces the calls of `kernel`, and turns the parameter variables into registers, or into local memory
/// where they are arrays. Throws heddle::Error at recursion, and for a function that has no body (of those,
/// __assertfail is known and becomes trap).
void inline_calls(Kernel& kernel, const std::map<std::string, Function>& functions,
                  const std::string& file_name);

/// Gives the static shared arrays that the kernel uses their offsets; dynamic ones start behind them.
void lay_out_shared_memory(Kernel& kernel, const std::string& file_name);

}  // namespace heddle::ptx
