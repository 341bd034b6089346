// Names of recorded kernels for people; tracers write mangled names.
#pragma once

#include <string>

namespace heddle::sass {

/// Demangles a name without its return type: "_Z4addVPfS_" becomes "addV(float*, float*)". Other names are
/// unchanged.
std::string readable_name(const std::string& name);

/// Returns the function's name alone, "reduce_kernel", without namespaces, template arguments and parameters.
std::string function_name(const std::string& name);

}  // namespace heddle::sass
