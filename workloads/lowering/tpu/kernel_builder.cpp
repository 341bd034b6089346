#include "workloads/lowering/tpu/kernel_builder.h"

#include <algorithm>
#include <bit>

#include "workloads/lowering/tpu/core_builder.h"

namespace heddle::lowering::on_tpu {
namespace {

using expression::Operator;
using tpu::VectorOp;

VectorOp vector_op(Operator op) {
    switch (op) {
        case Operator::add:
            return VectorOp::add;
        case Operator::subtract:
            return VectorOp::subtract;
        case Operator::multiply:
            return VectorOp::multiply;
        case Operator::divide:
            return VectorOp::divide;
        case Operator::minimum:
            return VectorOp::minimum;
        case Operator::maximum:
            return VectorOp::maximum;
        case Operator::negate:
            return VectorOp::negate;
        case Operator::absolute:
            return VectorOp::absolute;
        case Operator::exponential:
            return VectorOp::exponential;
        case Operator::logarithm:
            return VectorOp::logarithm;
        case Operator::square_root:
            return VectorOp::square_root;
        case Operator::reciprocal_square_root:
            return VectorOp::reciprocal_square_root;
        case Operator::reciprocal:
            return VectorOp::reciprocal;
        case Operator::hyperbolic_tangent:
            return VectorOp::hyperbolic_tangent;
        case Operator::sigmoid:
            return VectorOp::sigmoid;
        case Operator::error_function:
            return VectorOp::error_function;
        case Operator::floor:
            return VectorOp::floor;
        case Operator::greater:
            return VectorOp::greater;
        case Operator::greater_equal:
            return VectorOp::greater_equal;
        case Operator::less:
            return VectorOp::less;
        case Operator::less_equal:
            return VectorOp::less_equal;
        case Operator::equal:
            return VectorOp::equal;
        case Operator::not_equal:
            return VectorOp::not_equal;
        case Operator::select:
            return VectorOp::select;
        case Operator::input:
        case Operator::scalar:
        case Operator::constant:
        case Operator::random:
        case Operator::philox:
        case Operator::position:
            break;
    }
    return VectorOp::input;
}

}  // namespace

KernelBuilder::Node KernelBuilder::add(const tpu::VectorNode& node) {
    const auto [known, fresh] =
        known_.try_emplace({node.op, node.a, node.b, node.c, node.index, node.bits},
                           static_cast<Node>(kernel_.nodes.size()));
    if (fresh) kernel_.nodes.push_back(node);
    return known->second;
}

KernelBuilder::Node KernelBuilder::leaf(VectorOp op, std::uint32_t index, std::uint32_t bits) {
    tpu::VectorNode node;
    node.op = op;
    node.index = index;
    node.bits = bits;
    return add(node);
}

KernelBuilder::Node KernelBuilder::raw_input() {
    return leaf(VectorOp::input, kernel_.inputs++);
}

KernelBuilder::Node KernelBuilder::input(tpu::ElementType type) {
    const Node node = raw_input();
    return value_type_of(type) == tpu::ValueType::floating ? node : apply(VectorOp::integer_to_float, node);
}

KernelBuilder::Node KernelBuilder::scalar() {
    return leaf(VectorOp::scalar, kernel_.scalars++);
}

KernelBuilder::Node KernelBuilder::constant(double value) {
    return leaf(VectorOp::constant, 0, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
}

KernelBuilder::Node KernelBuilder::integer(std::int32_t value) {
    return leaf(VectorOp::integer_constant, 0, static_cast<std::uint32_t>(value));
}

KernelBuilder::Node KernelBuilder::random(std::uint32_t stream) {
    return leaf(VectorOp::random, stream);
}

KernelBuilder::Node KernelBuilder::apply(VectorOp op, Node a, Node b, Node c) {
    const unsigned operands = tpu::traits(op).operands;
    tpu::VectorNode node;
    node.op = op;
    if (operands > 0) node.a = a;
    if (operands > 1) node.b = b;
    if (operands > 2) node.c = c;
    return add(node);
}

std::vector<KernelBuilder::Node> KernelBuilder::expression(const expression::Expression& expression,
                                                           const std::vector<Node>& inputs,
                                                           const std::vector<Node>& scalars) {
    std::vector<Node> values;
    for (const expression::Node& node : expression.nodes) {
        const auto value = [&](int operand) {
            return operand < 0 ? Node{0} : values[static_cast<std::size_t>(operand)];
        };
        switch (node.op) {
            case Operator::input:
                values.push_back(inputs.at(node.index));
                break;
            case Operator::scalar:
                values.push_back(scalars.at(node.index));
                break;
            case Operator::constant:
                values.push_back(constant(node.value));
                break;
            case Operator::random:
                values.push_back(random(node.index));
                break;
            case Operator::philox:
                values.push_back(leaf(VectorOp::philox_counter, node.index));
                break;
            case Operator::position:
                values.push_back(apply(VectorOp::integer_to_float, leaf(VectorOp::element_index)));
                break;
            default:
                values.push_back(apply(vector_op(node.op), value(node.a), value(node.b), value(node.c)));
        }
    }
    std::vector<Node> outputs;
    for (const int output : expression.outputs) outputs.push_back(values[static_cast<std::size_t>(output)]);
    return outputs;
}

void KernelBuilder::output(Node node, tpu::ElementType type, bool boolean) {
    if (boolean) node = apply(VectorOp::not_equal, node, constant(0));
    if (value_type_of(type) == tpu::ValueType::integer) node = apply(VectorOp::float_to_integer, node);
    raw_output(node);
}

void KernelBuilder::raw_output(Node node) {
    kernel_.outputs.push_back({node, tpu::Reduction::none, false});
}

void KernelBuilder::reduce(Node node, tpu::Reduction reduction, bool accumulate) {
    kernel_.outputs.push_back({node, reduction, accumulate});
}

void KernelBuilder::accumulate(Node node) {
    kernel_.outputs.push_back({node, tpu::Reduction::none, true});
}

}  // namespace heddle::lowering::on_tpu
