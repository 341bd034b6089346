// Recorded PyTorch executions in Chakra files as Traces of ops that can be lowered and compared with what was
// measured.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"
#include "workloads/trace_files/chakra.h"

namespace heddle::importers {

/// import_recording() of a graph in Chakra's form; kernels are nodes with is_cpu_op == false.
trace::Trace import_chakra_execution(const trace::ChakraGraph& graph, const std::string& name = "recording");

struct Coverage {
    struct Line {
        std::size_t ops = 0, kernels = 0;
        double microseconds = 0;
    };
    std::map<trace::OpKind, Line> kinds;
    /// Reasons of unknown ops, with how often and how long.
    std::map<std::string, Line> reasons;
    Line total;
};

Coverage coverage_of(const trace::Trace& trace);
/// A table for people, longest first.
std::string to_text(const Coverage& coverage);

}  // namespace heddle::importers
