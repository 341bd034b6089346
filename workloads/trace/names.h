// The words for enumerations of a Trace, both ways.
#pragma once

#include <string>

#include "workloads/trace/trace.h"

namespace heddle::trace {

std::string name_of(TensorRole role);

/// Each throws heddle::Error with the nearest known word.
Phase phase_from_name(const std::string& name);
OpKind op_kind_from_name(const std::string& name);
TensorRole tensor_role_from_name(const std::string& name);

}  // namespace heddle::trace
