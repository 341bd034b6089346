// Recorded PyTorch executions in Chakra files as Traces of ops that can be lowered and compared with what was
// measured.
#pragma once

#include <string>

#include "workloads/trace/trace.h"
#include "workloads/trace_files/chakra.h"

namespace heddle::importers {

/// Does import_recording() for a graph in Chakra's form; kernels are nodes with is_cpu_op == false.
trace::Trace import_chakra_execution(const trace::ChakraGraph& graph, const std::string& name = "recording");

}  // namespace heddle::importers
