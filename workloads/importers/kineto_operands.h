// Operands as Kineto records them: shapes and types of inputs, rarely numbers, never results or addresses.
#pragma once

#include <vector>

#include "workloads/importers/recording.h"
#include "workloads/trace_files/json_stream.h"

namespace heddle::importers {

/// "Input Dims", "Input type", and where present "Concrete Inputs" and "Input Strides" of an event's args.
/// Throws heddle::Error when there can be no tensor of that size.
std::vector<Argument> kineto_inputs(const trace::JsonView& arguments);

/// Makes a dense row-major tensor without a place in memory. An impossible shape gets no strides.
RecordedTensor tensor_like(ElementType type, Shape shape);

/// Gives every tensor a place in memory, and every call whose schema is known its results. Operands of one
/// call are different tensors. In a node of autograd they are the node's gradient and what the forward call
/// had (the same sequence number) where shape and type say so; else the newest results of their shape and
/// type; else memory of their own.
void infer_results(Recording& recording);

/// Returns the shapes and types of a call's results by its schema; empty when they do not follow from the
/// operands or are impossible.
std::vector<RecordedTensor> results_of(const Call& call);

}  // namespace heddle::importers
