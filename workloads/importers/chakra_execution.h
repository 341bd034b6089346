// Recorded PyTorch executions in Chakra files as Traces of ops that can be lowered and compared with what was
// measured.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"
#include "workloads/trace_files/chakra.h"

namespace heddle::importers {

/// Every kernel and memory copy of the recording (is_cpu_op == false) becomes one op, in recorded order, with
/// its measured duration and kernel name. What is not understood becomes OpKind::unknown with attribute
/// "reason".
///
/// Attributes beside those of the kind: "tile" (of the kernel's name), "layout", "vector_width",
/// "elements_per_thread", "strided" (1: addresses go through offset calculators), "casting" (1: element types
/// are switched at run time), "assumed" (what the recording did not say and where it was taken from).
///
/// Tensors are places in memory: storages are the recording's, so dependencies follow from what each op reads
/// and overwrites there, together with the recorded ones between kernels.
trace::Trace import_chakra_execution(const trace::ChakraGraph& graph, const std::string& name = "recording");

struct Coverage {
    struct Line {
        std::size_t ops = 0;
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
