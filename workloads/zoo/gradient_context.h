// What every gradient rule needs: the op, the gradients of its results, and functions that record ops.
#pragma once

#include "workloads/zoo/tape.h"

namespace heddle::zoo {

using Upstream = std::vector<std::optional<Gradient>>;

/// The state of one application of a gradient rule.
class GradientContext {
  public:
    GradientContext(Tape& tape_in, const Op& op_in, const Upstream& upstream_in,
                    const std::vector<bool>& needed_in)
        : tape(tape_in), op(op_in), upstream(upstream_in), needed(needed_in), result(op_in.inputs.size()) {}

    Tape& tape;
    const Op op;  // a copy: recording ops moves the list that it came from
    const Upstream& upstream;
    const std::vector<bool>& needed;
    std::vector<std::optional<Gradient>> result;

    const Tensor& in(std::size_t i) const { return tape.tensor(op.inputs[i]); }
    const Tensor& out(std::size_t i) const { return tape.tensor(op.outputs[i]); }
    std::string gradient_name(std::size_t input) const { return "d " + in(input).name + " of " + op.name; }
    /// The gradient of a result as a tensor; zeros when it has none.
    TensorId upstream_tensor(std::size_t output);
    /// Records a gradient op that makes one result like each of the given inputs of the forward op.
    std::vector<TensorId> gradient_op(OpKind kind, const std::vector<TensorId>& operands,
                                      const std::vector<std::size_t>& like);
    /// Sums a gradient over the axes along which the input was repeated, so that it has the input's shape.
    Gradient sum_to(TensorId gradient, std::size_t input);
    void set(std::size_t input, TensorId gradient) { result[input] = Gradient{gradient, 0}; }
};

/// How ops of one kind are differentiated and recomputed.
struct LayerRule {
    OpKind kind;
    void (*gradient)(GradientContext&);  ///< null: none reaches its operands
    bool kept = false;                   ///< the results stay when a segment is recomputed selectively
};

/// Returns the rule of gradients_layers.cpp for a kind; null when it has none.
const LayerRule* layer_rule(OpKind kind);

}  // namespace heddle::zoo
