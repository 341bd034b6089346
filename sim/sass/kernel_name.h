// Names of recorded kernels for people: tracers write them as the compiler made them.
#pragma once

#include <string>

namespace heddle::sass {

/// "_Z4addVPfS_" as "addV(float*, float*)", without what it returns; other names as they are.
std::string readable_name(const std::string& name);

/// The function alone, "reduce_kernel": without namespaces, arguments of templates and parameters.
std::string function_name(const std::string& name);

}  // namespace heddle::sass
