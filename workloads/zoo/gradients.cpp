// One gradient rule per kind of op.
#include <numeric>

#include "isa/common/error.h"
#include "workloads/expression/derivative.h"
#include "workloads/zoo/gradient_context.h"

namespace heddle::zoo {
namespace {

/// Rules of algebra and of what moves data; those of layers are in gradients_layers.cpp.
class Rule {
  public:
    explicit Rule(GradientContext& context)
        : c_(context),
          tape_(context.tape),
          op_(context.op),
          upstream_(context.upstream),
          needed_(context.needed),
          result_(context.result) {}

    void run() {
        switch (op_.kind) {
            case OpKind::matmul:
                matmul();
                break;
            case OpKind::elementwise:
                elementwise();
                break;
            case OpKind::reduce:
                reduce();
                break;
            case OpKind::softmax_cross_entropy:
                cross_entropy();
                break;
            case OpKind::embedding:
                single(c_.gradient_op(OpKind::embedding_grad, {upstream_tensor(0), op_.inputs[1]}, {0}), 0);
                break;
            case OpKind::copy:
                copy();
                break;
            case OpKind::concat:
                concat();
                break;
            default:
                if (const LayerRule* layer = layer_rule(op_.kind);
                    layer != nullptr && layer->gradient != nullptr)
                    return layer->gradient(c_);
                throw Error("there is no gradient rule for " + name_of(op_.kind), {.key = "op " + op_.name});
        }
    }

  private:
    const Tensor& in(std::size_t i) const { return c_.in(i); }
    const Tensor& out(std::size_t i) const { return c_.out(i); }
    std::string gradient_name(std::size_t input) const { return c_.gradient_name(input); }
    TensorId upstream_tensor(std::size_t output) { return c_.upstream_tensor(output); }
    Gradient sum_to(TensorId gradient, std::size_t input) { return c_.sum_to(gradient, input); }
    void single(const std::vector<TensorId>& results, std::size_t input) {
        result_[input] = Gradient{results[0], 0};
    }

    void matmul() {
        if (op_.has(keys::matmul.epilogue)) {
            throw Error("a matmul with an epilogue has no gradient rule", {.key = "op " + op_.name},
                        "record the epilogue as an op of its own");
        }
        const bool ta = op_.get(keys::matmul.transpose_a) != 0;
        const bool tb = op_.get(keys::matmul.transpose_b) != 0;
        const TensorId dy = upstream_tensor(0);
        const TensorId a = op_.inputs[0], b = op_.inputs[1];
        if (needed_[0]) {
            // y = A B: dA = dy B^T;  y = A^T B: dA = B dy^T
            const MatmulOptions straight{
                .transpose_a = false, .transpose_b = !tb, .bias = {}, .type = in(0).type};
            const MatmulOptions swapped{
                .transpose_a = tb, .transpose_b = true, .bias = {}, .type = in(0).type};
            result_[0] = sum_to(ta ? tape_.matmul(gradient_name(0), b, dy, swapped)
                                   : tape_.matmul(gradient_name(0), dy, b, straight),
                                0);
        }
        if (needed_[1]) {
            // y = A B: dB = A^T dy;  y = A B^T: dB = dy^T A
            const MatmulOptions straight{
                .transpose_a = !ta, .transpose_b = false, .bias = {}, .type = in(1).type};
            const MatmulOptions swapped{
                .transpose_a = true, .transpose_b = ta, .bias = {}, .type = in(1).type};
            result_[1] = sum_to(tb ? tape_.matmul(gradient_name(1), dy, a, swapped)
                                   : tape_.matmul(gradient_name(1), a, dy, straight),
                                1);
        }
        if (op_.inputs.size() > 2 && needed_[2]) result_[2] = sum_to(dy, 2);
    }

    void elementwise() {
        const expression::Expression forward = expression::parse(op_.get(keys::elementwise.expression));
        const auto inputs = static_cast<unsigned>(op_.inputs.size());
        for (unsigned i = 0; i < inputs; ++i) {
            if (!needed_[i]) continue;
            expression::Expression derived = expression::gradient(forward, i);
            // The derivative reads x0 ... and then the upstream gradients. A uniform one becomes a scalar
            // operand.
            std::vector<TensorId> operands;
            std::vector<double> scalars = op_.get(keys::elementwise.scalars);
            for (expression::Node& node : derived.nodes) {
                if (node.op != expression::Operator::input) continue;
                if (node.index < forward.input_count) {
                    node.index = operand(operands, op_.inputs[node.index]);
                    continue;
                }
                const std::size_t output = node.index - forward.input_count;
                const Gradient gradient = upstream_[output].value_or(Gradient{});
                if (gradient.tensor) {
                    node.index = operand(operands, *gradient.tensor);
                } else {
                    node.op = expression::Operator::constant;
                    node.value = gradient.uniform;
                    node.index = 0;
                }
            }
            derived.input_count = static_cast<unsigned>(operands.size());
            result_[i] = derivative_op(derived, operands, scalars, i);
        }
    }

    static unsigned operand(std::vector<TensorId>& operands, TensorId id) {
        for (std::size_t i = 0; i < operands.size(); ++i) {
            if (operands[i] == id) return static_cast<unsigned>(i);
        }
        operands.push_back(id);
        return static_cast<unsigned>(operands.size() - 1);
    }

    std::optional<Gradient> derivative_op(const expression::Expression& derived,
                                          const std::vector<TensorId>& operands,
                                          const std::vector<double>& scalars, unsigned input) {
        const expression::Node& last = derived.nodes.at(static_cast<std::size_t>(derived.outputs[0]));
        if (last.op == expression::Operator::constant && derived.nodes.size() == 1) {
            if (last.value == 0) return std::nullopt;
            const auto repeats =
                static_cast<double>(out(0).elements()) / static_cast<double>(in(input).elements());
            return Gradient{{}, last.value * repeats};
        }
        if (last.op == expression::Operator::input &&
            tape_.tensor(operands[last.index]).shape == out(0).shape) {
            return sum_to(operands[last.index], input);  // d(x + y)/dx is the gradient itself
        }
        Op op;
        op.kind = OpKind::elementwise;
        op.name = gradient_name(input);
        op.inputs = operands;
        op.set(keys::elementwise.expression, expression::to_text(derived));
        if (derived.scalar_count > 0) op.set(keys::elementwise.scalars, scalars);
        const TensorId gradient =
            tape_.record(std::move(op), {Tensor{gradient_name(input), in(input).type, out(0).shape}})[0];
        return sum_to(gradient, input);
    }

    void reduce() {
        const std::string reduction = op_.get(keys::reduce.reduction);
        if ((reduction != "sum" && reduction != "mean") || op_.has(keys::reduce.expression)) {
            throw Error("only plain sums and means have a gradient rule", {.key = "op " + op_.name});
        }
        const double share = reduction == "mean" ? static_cast<double>(out(0).elements()) /
                                                       static_cast<double>(in(0).elements())
                                                 : 1;
        const Gradient upstream = *upstream_[0];
        if (!upstream.tensor) {
            result_[0] = Gradient{{}, upstream.uniform * share};
            return;
        }
        // Put the reduced axes back with extent 1, then repeat along them.
        Shape kept = in(0).shape;
        std::vector<std::int64_t> axes = op_.get(keys::reduce.axes);
        if (!op_.has(keys::reduce.axes)) {
            axes.resize(kept.size());
            std::iota(axes.begin(), axes.end(), 0);
        }
        for (const std::int64_t axis : axes) kept[axis] = 1;
        const TensorId seen = tape_.view("d " + out(0).name, *upstream.tensor, kept);
        Op op;
        op.kind = OpKind::elementwise;
        op.name = gradient_name(0);
        op.inputs = {seen};
        op.set(keys::elementwise.expression, share == 1 ? "y0 = x0" : "y0 = s0 * x0");
        if (share != 1) op.set(keys::elementwise.scalars, {share});
        single(tape_.record(std::move(op), {Tensor{gradient_name(0), in(0).type, in(0).shape}}), 0);
    }

    void cross_entropy() {
        if (op_.outputs.size() < 2) throw Error("probabilities were not kept", {.key = "op " + op_.name});
        if (upstream_[1]) throw Error("only the loss has a gradient rule", {.key = "op " + op_.name});
        const Gradient upstream = *upstream_[0];
        Op op;
        op.kind = OpKind::softmax_cross_entropy_grad;
        op.name = op_.name + ".gradient";
        op.inputs = {op_.outputs[1], op_.inputs[1]};
        op.set(keys::softmax_cross_entropy.scale, upstream.tensor ? 1.0 : upstream.uniform);
        if (upstream.tensor) op.inputs.push_back(*upstream.tensor);
        single(tape_.record(std::move(op), {Tensor{gradient_name(0), in(0).type, in(0).shape}}), 0);
    }

    void copy() {
        const Gradient upstream = *upstream_[0];
        if (!upstream.tensor && out(0).elements() == in(0).elements()) {
            result_[0] = upstream;
            return;
        }
        const std::vector<std::int64_t> permutation = op_.get(keys::copy.permutation);
        Op op;
        op.kind = OpKind::copy;
        op.name = gradient_name(0);
        op.inputs = {upstream_tensor(0)};
        if (!permutation.empty()) {
            std::vector<std::int64_t> inverse(permutation.size());
            for (std::size_t i = 0; i < permutation.size(); ++i)
                inverse[permutation[i]] = static_cast<std::int64_t>(i);
            op.set(keys::copy.permutation, inverse);
        } else if (out(0).elements() != in(0).elements()) {
            result_[0] = sum_to(op.inputs[0], 0);
            return;
        }
        single(tape_.record(std::move(op), {Tensor{gradient_name(0), in(0).type, in(0).shape}}), 0);
    }

    /// Each part of the gradient is copied out; "input0_offset" and "input0_strides" say where it lies in the
    /// whole.
    void concat() {
        const TensorId dy = upstream_tensor(0);
        const Shape whole = tape_.tensor(dy).shape;
        const std::int64_t axis = op_.get(keys::concat.axis);
        Shape strides(whole.size(), 1);
        for (std::size_t i = whole.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * whole[i + 1];
        std::int64_t offset = 0;
        for (std::size_t i = 0; i < op_.inputs.size(); ++i) {
            const Shape part = in(i).shape;
            if (needed_[i]) {
                Op op;
                op.kind = OpKind::copy;
                op.name = gradient_name(i);
                op.inputs = {tape_.part_of(gradient_name(i) + ".part", dy, part)};
                op.set_strides("input0", strides);
                op.set_offset("input0", offset * strides[axis]);
                single(tape_.record(std::move(op), {Tensor{gradient_name(i), in(i).type, part}}), i);
            }
            offset += part[axis];
        }
    }

    GradientContext& c_;
    Tape& tape_;
    const Op& op_;
    const Upstream& upstream_;
    const std::vector<bool>& needed_;
    std::vector<std::optional<Gradient>>& result_;
};

}  // namespace

TensorId GradientContext::upstream_tensor(std::size_t output) {
    const Gradient gradient = upstream[output].value_or(Gradient{});
    return tape.materialise(gradient, "d " + out(output).name, op.outputs[output]);
}

std::vector<TensorId> GradientContext::gradient_op(OpKind kind, const std::vector<TensorId>& operands,
                                                   const std::vector<std::size_t>& like) {
    Op made;
    made.kind = kind;
    made.name = op.name + ".gradient";
    made.inputs = operands;
    for (const trace::Key& key : trace::own_keys_of(kind)) made.attributes.copy(key, op.attributes);
    std::vector<Tensor> outputs;
    outputs.reserve(like.size());
    for (const std::size_t input : like)
        outputs.push_back(Tensor{gradient_name(input), in(input).type, in(input).shape});
    return tape.record(std::move(made), outputs);
}

Gradient GradientContext::sum_to(TensorId gradient, std::size_t input) {
    const Shape from = tape.tensor(gradient).shape;
    const Shape to = in(input).shape;
    if (from == to) return {gradient, 0};
    const std::size_t missing = from.size() - to.size();
    std::vector<std::int64_t> axes;
    for (std::size_t axis = 0; axis < from.size(); ++axis) {
        if (axis < missing || (to[axis - missing] == 1 && from[axis] != 1))
            axes.push_back(static_cast<std::int64_t>(axis));
    }
    if (axes.empty()) return {tape.view(gradient_name(input), gradient, to), 0};
    return {tape.reduce(gradient_name(input) + ".sum", gradient, "sum", axes, to), 0};
}

std::vector<std::optional<Gradient>> gradient_rule(Tape& tape, const Op& op, const Upstream& upstream,
                                                   const std::vector<bool>& needed) {
    GradientContext context(tape, op, upstream, needed);
    Rule(context).run();
    return context.result;
}

}  // namespace heddle::zoo
