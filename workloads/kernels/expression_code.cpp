#include "workloads/kernels/expression_code.h"

#include "isa/common/error.h"
#include "workloads/kernels/philox_code.h"

namespace heddle::kernels {

using expression::Expression;
using expression::Node;
using expression::Operator;

bool ExpressionCode::reads_input(const Expression& expression, unsigned index) {
    for (const Node& node : expression.nodes) {
        if (node.op == Operator::input && node.index == index) return true;
    }
    return false;
}

bool ExpressionCode::uses_element(const Expression& expression) {
    for (const Node& node : expression.nodes) {
        if (node.op == Operator::random || node.op == Operator::philox || node.op == Operator::position)
            return true;
    }
    return false;
}

bool ExpressionCode::uses_transcendental(const Expression& expression) {
    for (const Node& node : expression.nodes) {
        switch (node.op) {
            case Operator::exponential:
            case Operator::logarithm:
            case Operator::hyperbolic_tangent:
            case Operator::sigmoid:
            case Operator::error_function:
                return true;
            default:
                break;
        }
    }
    return false;
}

ExpressionCode::ExpressionCode(PtxWriter& w, const Expression& expression, ComputeType compute,
                               std::vector<Reg> scalars)
    : w_(w), expression_(expression), compute_(compute), scalars_(std::move(scalars)) {
    if (scalars_.size() < expression.scalar_count) {
        throw Error("the expression uses " + std::to_string(expression.scalar_count) +
                        " scalars, the kernel has " + std::to_string(scalars_.size()),
                    {.key = expression::to_text(expression)});
    }
    uses_.assign(expression.nodes.size(), 0);
    for (const Node& node : expression.nodes) {
        for (const int operand : {node.a, node.b, node.c}) {
            if (operand >= 0) ++uses_[operand];
        }
    }
    for (const int output : expression.outputs) ++uses_[output];
    // Negated scalars that a subtraction can fuse with, once per thread instead of once per element.
    for (const Node& node : expression.nodes) {
        if (node.op != Operator::subtract || expression.nodes[node.b].op != Operator::multiply) continue;
        for (const int factor : {expression.nodes[node.b].a, expression.nodes[node.b].b}) {
            const Node& f = expression.nodes[factor];
            if (f.op == Operator::scalar && !negated_scalars_.contains(f.index)) {
                negated_scalars_[f.index] = make("neg" + suffix(), scalars_[f.index]);
            }
        }
    }
}

std::string ExpressionCode::immediate(double value) const {
    return compute_ == ComputeType::f32 ? f32_immediate(value) : f64_immediate(value);
}

Reg ExpressionCode::make(const std::string& opcode, const Reg& a, const Reg& b, const Reg& c) {
    Reg result = compute_ == ComputeType::f32 ? w_.f32() : w_.f64();
    if (b.empty()) {
        w_.op(opcode, result, a);
    } else if (c.empty()) {
        w_.op(opcode, result, a, b);
    } else {
        w_.op(opcode, result, a, b, c);
    }
    return result;
}

const Reg& ExpressionCode::number(int node) {
    Value& value = values_[node];
    if (value.reg.empty() && !value.predicate.empty()) {
        value.reg = make("selp" + suffix(), immediate(1), immediate(0), value.predicate);
    }
    return value.reg;
}

bool ExpressionCode::is_uniform(int node) const {
    const Operator op = expression_.nodes[node].op;
    return op == Operator::scalar || op == Operator::constant;
}

Reg ExpressionCode::negated(int node) {
    const Node& n = expression_.nodes[node];
    return n.op == Operator::constant ? immediate(-n.value) : negated_scalars_.at(n.index);
}

/// a * b + c, c + a * b, a * b - constant, c - scalar * b: one FMA when the product has no other use; else
/// empty.
Reg ExpressionCode::fused(const Node& node) {
    const auto single_product = [&](int operand) {
        return expression_.nodes[operand].op == Operator::multiply && uses_[operand] == 1;
    };
    const std::string fma = "fma.rn" + suffix();
    if (node.op == Operator::add) {
        const int product = single_product(node.a) ? node.a : single_product(node.b) ? node.b : -1;
        if (product < 0) return {};
        const Node& p = expression_.nodes[product];
        return make(fma, number(p.a), number(p.b), number(product == node.a ? node.b : node.a));
    }
    if (single_product(node.b)) {
        const Node& p = expression_.nodes[node.b];
        if (is_uniform(p.a)) return make(fma, negated(p.a), number(p.b), number(node.a));
        if (is_uniform(p.b)) return make(fma, negated(p.b), number(p.a), number(node.a));
    }
    if (single_product(node.a) && expression_.nodes[node.b].op == Operator::constant) {
        const Node& p = expression_.nodes[node.a];
        return make(fma, number(p.a), number(p.b), negated(node.b));
    }
    return {};
}

void ExpressionCode::need_element(const Reg& element) const {
    if (element.empty()) {
        throw Error("random() and position are not available in this kernel: it has no element index",
                    {.key = expression::to_text(expression_)}, "use an elementwise kernel");
    }
}

Reg ExpressionCode::random(unsigned stream, const Reg& element) {
    need_element(element);
    // expression::random_uniform() for element < 2^32: mix(mix(element) + key) >> 8, times 2^-24.
    const auto mix = [](std::uint32_t x) {
        x ^= x >> 16;
        x *= 0x7feb352du;
        x ^= x >> 15;
        x *= 0x846ca68bu;
        return x ^ (x >> 16);
    };
    const std::uint32_t key = mix(stream + 0x9e3779b9u);
    const auto mixed = [this](Reg x) {
        x = w_.make_b32("xor.b32", x, w_.make_b32("shr.u32", x, 16));
        x = w_.make_b32("mul.lo.u32", x, "0x7feb352d");
        x = w_.make_b32("xor.b32", x, w_.make_b32("shr.u32", x, 15));
        x = w_.make_b32("mul.lo.u32", x, "0x846ca68b");
        return w_.make_b32("xor.b32", x, w_.make_b32("shr.u32", x, 16));
    };
    const Reg bits = mixed(w_.make_b32("add.u32", mixed(element), key));
    const Reg top = w_.make_b32("shr.u32", bits, 8);
    const Reg integer = make("cvt.rn" + suffix() + ".u32", top);
    return make("mul.rn" + suffix(), integer, immediate(0x1p-24));
}

std::vector<bool> ExpressionCode::folded() const {
    std::vector<bool> folded(expression_.nodes.size(), false);
    const auto product = [&](int operand) {
        return operand >= 0 && expression_.nodes[operand].op == Operator::multiply && uses_[operand] == 1;
    };
    const auto uniform_factor = [&](int p) {
        return is_uniform(expression_.nodes[p].a) || is_uniform(expression_.nodes[p].b);
    };
    for (const Node& node : expression_.nodes) {
        if (node.op == Operator::add) {
            if (product(node.a)) {
                folded[node.a] = true;
            } else if (product(node.b)) {
                folded[node.b] = true;
            }
        } else if (node.op == Operator::subtract) {
            if (product(node.b) && uniform_factor(node.b)) {
                folded[node.b] = true;
            } else if (product(node.a) && expression_.nodes[node.b].op == Operator::constant) {
                folded[node.a] = true;
            }
        }
    }
    return folded;
}

Reg ExpressionCode::philox(unsigned stream, const Reg& element) {
    need_element(element);
    const Reg zero = w_.constant_b32(0);
    const auto words = emit_philox(w_, {element, zero, zero, zero}, {w_.constant_b32(stream), zero});
    const Reg uniform = emit_uniform(w_, words[0]);
    return compute_ == ComputeType::f32 ? uniform : w_.make_f64("cvt.f64.f32", uniform);
}

Reg ExpressionCode::transcendental(const Node& node) {
    struct Function {
        const char* name;
        Reg (*emit)(PtxWriter&, const Reg&);
    };
    const Function function = [&]() -> Function {
        switch (node.op) {
            case Operator::exponential:
                return {"exp", emit_exponential};
            case Operator::logarithm:
                return {"log", emit_logarithm};
            case Operator::hyperbolic_tangent:
                return {"tanh", emit_hyperbolic_tangent};
            case Operator::sigmoid:
                return {"sigmoid", emit_sigmoid};
            default:
                return {"erf", emit_error_function};
        }
    }();
    if (compute_ != ComputeType::f32) {
        throw Error(std::string(function.name) + "() of 64-bit numbers is not available in GPU kernels",
                    {.key = expression::to_text(expression_)}, "use f32 tensors");
    }
    return function.emit(w_, number(node.a));
}

Reg ExpressionCode::comparison(const Node& node) {
    const char* const name = node.op == Operator::greater         ? "gt"
                             : node.op == Operator::greater_equal ? "ge"
                             : node.op == Operator::less          ? "lt"
                             : node.op == Operator::less_equal    ? "le"
                             : node.op == Operator::equal         ? "eq"
                                                                  : "neu";
    return w_.make_predicate(std::string("setp.") + name + suffix(), number(node.a), number(node.b));
}

Reg ExpressionCode::selection(const Node& node) {
    Reg condition = values_[node.a].predicate;
    if (condition.empty()) condition = w_.make_predicate("setp.neu" + suffix(), number(node.a), immediate(0));
    return make("selp" + suffix(), number(node.b), number(node.c), condition);
}

/// One machine operation for the node, or two.
Reg ExpressionCode::arithmetic(const Node& node) {
    const std::string type = suffix();
    const bool f32 = compute_ == ComputeType::f32;
    switch (node.op) {
        case Operator::add:
        case Operator::subtract:
            if (Reg sum = fused(node); !sum.empty()) return sum;
            return make((node.op == Operator::add ? "add.rn" : "sub.rn") + type, number(node.a),
                        number(node.b));
        case Operator::multiply:
            return make("mul.rn" + type, number(node.a), number(node.b));
        case Operator::divide:
            return make("div.rn" + type, number(node.a), number(node.b));
        case Operator::minimum:
            return make("min" + type, number(node.a), number(node.b));
        case Operator::maximum:
            return make("max" + type, number(node.a), number(node.b));
        case Operator::negate:
            return make("neg" + type, number(node.a));
        case Operator::absolute:
            return make("abs" + type, number(node.a));
        case Operator::square_root:
            return make("sqrt.rn" + type, number(node.a));
        case Operator::reciprocal:
            return make("rcp.rn" + type, number(node.a));
        case Operator::reciprocal_square_root:
            return f32 ? make("rsqrt.approx.f32", number(node.a))
                       : make("rcp.rn.f64", make("sqrt.rn.f64", number(node.a)));
        default:  // floor
            return make(f32 ? "cvt.rmi.f32.f32" : "cvt.rmi.f64.f64", number(node.a));
    }
}

ExpressionCode::Value ExpressionCode::value_of(const Node& node, const std::vector<Reg>& inputs,
                                               const Reg& element) {
    switch (node.op) {
        case Operator::input:
            return {inputs.at(node.index), {}};
        case Operator::scalar:
            return {scalars_[node.index], {}};
        case Operator::constant:
            return {immediate(node.value), {}};
        case Operator::random:
            return {random(node.index, element), {}};
        case Operator::philox:
            return {philox(node.index, element), {}};
        case Operator::position:
            need_element(element);
            return {make("cvt.rn" + suffix() + ".u32", element), {}};
        case Operator::exponential:
        case Operator::logarithm:
        case Operator::hyperbolic_tangent:
        case Operator::sigmoid:
        case Operator::error_function:
            return {transcendental(node), {}};
        case Operator::greater:
        case Operator::greater_equal:
        case Operator::less:
        case Operator::less_equal:
        case Operator::equal:
        case Operator::not_equal:
            return {{}, comparison(node)};
        case Operator::select:
            return {selection(node), {}};
        default:
            return {arithmetic(node), {}};
    }
}

std::vector<Reg> ExpressionCode::emit(const std::vector<Reg>& inputs, const Reg& element) {
    values_.assign(expression_.nodes.size(), {});
    const std::vector<bool> within_another = folded();
    for (std::size_t i = 0; i < expression_.nodes.size(); ++i)
        if (uses_[i] != 0 && !within_another[i]) values_[i] = value_of(expression_.nodes[i], inputs, element);
    std::vector<Reg> outputs;
    for (const int output : expression_.outputs) {
        const Reg value = number(output);
        // Outputs that are constants must be registers.
        const bool constant = expression_.nodes[output].op == Operator::constant;
        outputs.push_back(constant ? make("mov" + suffix(), value) : value);
    }
    return outputs;
}

Expression identity_expression() {
    Expression identity;
    Node input;
    input.op = Operator::input;
    identity.nodes.push_back(input);
    identity.outputs = {0};
    identity.input_count = 1;
    return identity;
}

}  // namespace heddle::kernels
