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

std::vector<Reg> ExpressionCode::emit(const std::vector<Reg>& inputs, const Reg& element) {
    const std::string type = suffix();
    const bool f32 = compute_ == ComputeType::f32;
    const auto need_f32 = [&](const char* function) {
        if (!f32) {
            throw Error(std::string(function) + "() of 64-bit numbers is not available in GPU kernels",
                        {.key = expression::to_text(expression_)}, "use f32 tensors");
        }
    };
    values_.assign(expression_.nodes.size(), {});
    // A product that is fused into its only sum is not computed on its own.
    std::vector<bool> folded(expression_.nodes.size(), false);
    for (const Node& node : expression_.nodes) {
        const auto product = [&](int operand) {
            return operand >= 0 && expression_.nodes[operand].op == Operator::multiply && uses_[operand] == 1;
        };
        if (node.op == Operator::add) {
            if (product(node.a)) {
                folded[node.a] = true;
            } else if (product(node.b)) {
                folded[node.b] = true;
            }
        } else if (node.op == Operator::subtract) {
            const auto uniform_factor = [&](int p) {
                return is_uniform(expression_.nodes[p].a) || is_uniform(expression_.nodes[p].b);
            };
            if (product(node.b) && uniform_factor(node.b)) {
                folded[node.b] = true;
            } else if (product(node.a) && expression_.nodes[node.b].op == Operator::constant) {
                folded[node.a] = true;
            }
        }
    }
    const auto compare = [&](const char* comparison, const Node& node) {
        return w_.make_predicate(std::string("setp.") + comparison + type, number(node.a), number(node.b));
    };
    for (std::size_t i = 0; i < expression_.nodes.size(); ++i) {
        const Node& node = expression_.nodes[i];
        if (uses_[i] == 0 || folded[i]) continue;
        Value& value = values_[i];
        switch (node.op) {
            case Operator::input:
                value.reg = inputs.at(node.index);
                break;
            case Operator::scalar:
                value.reg = scalars_[node.index];
                break;
            case Operator::constant:
                value.reg = immediate(node.value);
                break;
            case Operator::random:
                value.reg = random(node.index, element);
                break;
            case Operator::philox: {
                need_element(element);
                const Reg zero = w_.constant_b32(0);
                const auto words =
                    emit_philox(w_, {element, zero, zero, zero}, {w_.constant_b32(node.index), zero});
                const Reg uniform = emit_uniform(w_, words[0]);
                value.reg = compute_ == ComputeType::f32 ? uniform : w_.make_f64("cvt.f64.f32", uniform);
                break;
            }
            case Operator::position:
                need_element(element);
                value.reg = make("cvt.rn" + type + ".u32", element);
                break;
            case Operator::add:
            case Operator::subtract:
                value.reg = fused(node);
                if (value.reg.empty()) {
                    value.reg = make((node.op == Operator::add ? "add.rn" : "sub.rn") + type, number(node.a),
                                     number(node.b));
                }
                break;
            case Operator::multiply:
                value.reg = make("mul.rn" + type, number(node.a), number(node.b));
                break;
            case Operator::divide:
                value.reg = make("div.rn" + type, number(node.a), number(node.b));
                break;
            case Operator::minimum:
                value.reg = make("min" + type, number(node.a), number(node.b));
                break;
            case Operator::maximum:
                value.reg = make("max" + type, number(node.a), number(node.b));
                break;
            case Operator::negate:
                value.reg = make("neg" + type, number(node.a));
                break;
            case Operator::absolute:
                value.reg = make("abs" + type, number(node.a));
                break;
            case Operator::square_root:
                value.reg = make("sqrt.rn" + type, number(node.a));
                break;
            case Operator::reciprocal:
                value.reg = make("rcp.rn" + type, number(node.a));
                break;
            case Operator::reciprocal_square_root:
                value.reg = f32 ? make("rsqrt.approx.f32", number(node.a))
                                : make("rcp.rn.f64", make("sqrt.rn.f64", number(node.a)));
                break;
            case Operator::floor:
                value.reg = make(f32 ? "cvt.rmi.f32.f32" : "cvt.rmi.f64.f64", number(node.a));
                break;
            case Operator::exponential:
                need_f32("exp");
                value.reg = emit_exponential(w_, number(node.a));
                break;
            case Operator::logarithm:
                need_f32("log");
                value.reg = emit_logarithm(w_, number(node.a));
                break;
            case Operator::hyperbolic_tangent:
                need_f32("tanh");
                value.reg = emit_hyperbolic_tangent(w_, number(node.a));
                break;
            case Operator::sigmoid:
                need_f32("sigmoid");
                value.reg = emit_sigmoid(w_, number(node.a));
                break;
            case Operator::error_function:
                need_f32("erf");
                value.reg = emit_error_function(w_, number(node.a));
                break;
            case Operator::greater:
                value.predicate = compare("gt", node);
                break;
            case Operator::greater_equal:
                value.predicate = compare("ge", node);
                break;
            case Operator::less:
                value.predicate = compare("lt", node);
                break;
            case Operator::less_equal:
                value.predicate = compare("le", node);
                break;
            case Operator::equal:
                value.predicate = compare("eq", node);
                break;
            case Operator::not_equal:
                value.predicate = compare("neu", node);
                break;
            case Operator::select: {
                Reg condition = values_[node.a].predicate;
                if (condition.empty())
                    condition = w_.make_predicate("setp.neu" + type, number(node.a), immediate(0));
                value.reg = make("selp" + type, number(node.b), number(node.c), condition);
                break;
            }
        }
    }
    std::vector<Reg> outputs;
    for (const int output : expression_.outputs) {
        const Reg value = number(output);
        // Outputs that are constants must be registers.
        const bool constant = expression_.nodes[output].op == Operator::constant;
        outputs.push_back(constant ? make("mov" + type, value) : value);
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
