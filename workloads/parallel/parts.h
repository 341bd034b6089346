// A training step of one device as a sequence of parts (embedding, blocks, head): a pipeline is divided
// between parts, and sharded weights are gathered for one part at a time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::parallel {

/// A sequence of ops without a collective, or one collective.
struct Segment {
    std::vector<trace::OpId> ops;  ///< one op for a collective
    bool collective = false;
    /// For backward passes: the segment computes only gradients of weights, so it may be delayed.
    bool weights_only = false;
};

/// One part of the model with the ops that belong to it.
struct Part {
    std::int64_t number = 0;  ///< as the ops say
    std::vector<Segment> forward, backward;
    std::vector<trace::OpId> update;  ///< casts of weights, optimizer
    std::vector<trace::TensorId> parameters;
    double parameter_count = 0;
    double expert_count = 0;  ///< of the parameters, those of experts: weights of three axes, one expert each
    double kept_bytes = 0;    ///< made by the forward pass, or read by it, for the backward pass
    double rounded_bytes = 0;    ///< of weights in 8 bits, beside those in the type of the layers
    double result_bytes = 0;     ///< what goes on to later parts
    double workspace_bytes = 0;  ///< most that is held for a while beside what is kept
    /// Describes the part's content: parts with equal keys have the same ops on the same shapes.
    std::string key;
};

/// The parts of a step in order, from a trace whose ops have an attribute "part" (zoo::StepOptions::parts). A
/// trace without that attribute has one part. Empty parts are left out.
struct PartedStep {
    std::vector<Part> parts;
    /// Weights that several parts read (a tied head): of another part's parameters, by part index.
    std::map<std::size_t, double> shared_parameters;
};

/// Divides a step into its parts.
PartedStep part_step(const trace::Trace& trace);

/// Returns a text that describes what an op computes, without names: kind, attributes, types, shapes,
/// strides. It is equal for equal work.
std::string content_of(const trace::Trace& trace, const trace::Op& op);

/// One stage of a pipeline: the parts [first, last).
struct StageRange {
    std::size_t first = 0, last = 0;
};

/// Divides the parts into `stages` consecutive groups, with the blocks (runs of the most frequent part)
/// distributed as evenly as possible. Throws heddle::Error when there are fewer blocks than stages.
std::vector<StageRange> share_parts(const PartedStep& step, std::size_t stages);

}  // namespace heddle::parallel
