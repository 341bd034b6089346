// Execution traces of PyTorch (torch.profiler.ExecutionTraceObserver) as JSON: calls with operands and
// results, no times.
#pragma once

#include <istream>
#include <string>

#include "workloads/importers/kineto.h"

namespace heddle::importers {

/// Reads an execution trace of schema 1.0.1 (flat nodes), 1.0.2 to 1.0.4, or 1.1.0 and later ("-chakra" and
/// without: operands and attributes in lists; strides from 1.1.1 on; collectives with their sizes from 1.1.0
/// on). Throws heddle::Error that names the node when a node lacks members that every schema has, when two
/// nodes have the same number, or when callers form a circle.
Recording read_execution_trace(std::istream& text, const std::string& file);

/// Reads the same file as operands for a Kineto recording of the same run.
RecordedOperands read_operands(std::istream& text, const std::string& file);

}  // namespace heddle::importers
