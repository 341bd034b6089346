// The names of a Trace's enumerators, and the enumerators of names.
#pragma once

#include <string>

#include "workloads/trace/trace.h"

namespace heddle::trace {

/// Returns the name of a role as trace files write it.
std::string name_of(TensorRole role);

/// Return the enumerator of a name. They throw heddle::Error with the nearest known name.
Phase phase_from_name(const std::string& name);
OpKind op_kind_from_name(const std::string& name);
TensorRole tensor_role_from_name(const std::string& name);

}  // namespace heddle::trace
