// What a trace holds, for people and for scripts.
#pragma once

#include <string>

#include "workloads/trace/trace.h"

namespace heddle::cli {

/// Tables by op kind and phase: counts, floating-point operations, bytes, recorded time. Ops that were not
/// understood are counted and listed by their recorded kernels.
std::string inspect_for_people(const trace::Trace& trace);

/// The same as one JSON object, ending with a newline.
std::string inspect_as_json(const trace::Trace& trace);

}  // namespace heddle::cli
