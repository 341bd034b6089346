// The functions of the vector library, and expressions made of instructions.
#include <algorithm>
#include <bit>
#include <cmath>

#include "workloads/lowering/cpu/builder.h"

namespace heddle::lowering::on_cpu {
namespace {

/// c[0] + c[1] x + ..., by Horner's rule.
Value polynomial(Builder& b, const Value& x, std::initializer_list<float> coefficients) {
    auto next = std::rbegin(coefficients);
    Value sum = b.constant(*next++);
    for (; next != std::rend(coefficients); ++next) {
        const Value term = b.constant(*next);
        b.apply_into(sum, Opcode::op_fma, sum, x, term);
    }
    return sum;
}

Value mixed_bits(Builder& b, Value x) {
    x = b.apply(Opcode::op_xor, x, b.shift_right(x, 16));
    x = b.apply(Opcode::op_imul, x, b.bits(0x7feb352du));
    x = b.apply(Opcode::op_xor, x, b.shift_right(x, 15));
    x = b.apply(Opcode::op_imul, x, b.bits(0x846ca68bu));
    return b.apply(Opcode::op_xor, x, b.shift_right(x, 16));
}

std::uint32_t mixed(std::uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

}  // namespace

Value Builder::exponential(const Value& x) {
    // 2^n e^r, |r| <= ln 2 / 2, by the series to the sixth power.
    Value n = apply(Opcode::op_mul, x, constant(1.44269504f));
    n = apply(Opcode::op_min, apply(Opcode::op_max, n, constant(-150)), constant(150));
    n = apply(Opcode::op_round, n);
    Value r = apply(Opcode::op_fma, n, constant(-0.693145752f), x);
    r = apply(Opcode::op_fma, n, constant(-1.42860677e-6f), r);
    const Value series = polynomial(*this, r, {1, 1, 0.5f, 0.166666667f, 0.0416666667f, 0.00833333333f, 0.00138888889f});
    r = nullptr;
    const Value result = apply(Opcode::op_scale, series, n);
    // Beyond the range r is wrong: infinity above, zero below.
    const Value over = apply(Opcode::op_gt, x, constant(89));
    const Value high = apply(Opcode::op_select, over, constant(INFINITY), result);
    const Value under = apply(Opcode::op_gt, constant(-104), x);
    return apply(Opcode::op_select, under, constant(0), high);
}

Value Builder::logarithm(const Value& x) {
    // x = 2^e m, m in [1, 2); ln m = 2 artanh s, s = (m - c) / (m + c) + ..., with m / sqrt 2 in the middle.
    Value m = apply(Opcode::op_mul, apply(Opcode::op_mantissa, x), constant(0.70710678f));
    Value s = apply(Opcode::op_div, apply(Opcode::op_sub, m, constant(1)), apply(Opcode::op_add, m, constant(1)));
    m = nullptr;
    const Value square = apply(Opcode::op_mul, s, s);
    const Value series = polynomial(*this, square, {2, 0.666666667f, 0.4f, 0.285714286f, 0.222222222f, 0.181818182f});
    s = apply(Opcode::op_mul, s, series);
    const Value e = apply(Opcode::op_add, apply(Opcode::op_exponent, x), constant(0.5f));
    return apply(Opcode::op_fma, e, constant(0.69314718f), s);
}

Value Builder::hyperbolic_tangent(const Value& x) {
    // 1 - 2 / (e^2x + 1); near zero the series, which has no cancellation.
    const Value twice = apply(Opcode::op_add, x, x);
    const Value e = apply(Opcode::op_add, exponential(twice), constant(1));
    const Value far = apply(Opcode::op_sub, constant(1), apply(Opcode::op_div, constant(2), e));
    const Value square = apply(Opcode::op_mul, x, x);
    const Value near = apply(Opcode::op_mul, x, polynomial(*this, square, {1, -0.333333333f, 0.133333333f, -0.0539682540f, 0.0218694885f}));
    const Value small = apply(Opcode::op_gt, constant(0.09f), square);
    return apply(Opcode::op_select, small, near, far);
}

Value Builder::sigmoid(const Value& x) {
    const Value e = exponential(apply(Opcode::op_sub, constant(0), x));
    return apply(Opcode::op_div, constant(1), apply(Opcode::op_add, e, constant(1)));
}

Value Builder::error_function(const Value& x) {
    // Abramowitz and Stegun 7.1.26: 1 - (a1 t + ... + a5 t^5) e^-x^2, t = 1 / (1 + p |x|); the error is below 1.5e-7.
    const Value magnitude = apply(Opcode::op_and, x, bits(0x7FFFFFFFu));
    const Value t = apply(Opcode::op_div, constant(1), apply(Opcode::op_fma, magnitude, constant(0.3275911f), constant(1)));
    Value series = polynomial(*this, t, {0.254829592f, -0.284496736f, 1.421413741f, -1.453152027f, 1.061405429f});
    series = apply(Opcode::op_mul, series, t);
    const Value square = apply(Opcode::op_mul, x, x);
    const Value e = exponential(apply(Opcode::op_sub, constant(0), square));
    const Value positive = apply(Opcode::op_sub, constant(1), apply(Opcode::op_mul, series, e));
    return apply(Opcode::op_xor, positive, apply(Opcode::op_and, x, bits(0x80000000u)));
}

Value Builder::reciprocal_square_root(const Value& x) {
    return apply(Opcode::op_div, constant(1), apply(Opcode::op_sqrt, x));
}

std::vector<Value> Builder::evaluate(const expression::Expression& expression, const std::vector<double>& scalars,
                                     const std::function<Value(unsigned)>& input, const Affine& position, std::int64_t position_step) {
    using expression::Operator;
    std::vector<int> uses(expression.nodes.size(), 0);
    const auto each_operand = [](const expression::Node& node, const auto& function) {
        for (const int operand : {node.a, node.b, node.c})
            if (operand >= 0) function(operand);
    };
    for (const expression::Node& node : expression.nodes) each_operand(node, [&](int operand) { ++uses[operand]; });
    for (const int output : expression.outputs) ++uses[output];
    std::vector<Value> values(expression.nodes.size());
    // Leaves are made when they are first needed.
    const std::function<Value(int)> value_of = [&](int i) -> Value {
        if (values[i]) return values[i];
        const expression::Node& node = expression.nodes[i];
        switch (node.op) {
            case Operator::input: return values[i] = input(node.index);
            case Operator::scalar: return constant(static_cast<float>(node.index < scalars.size() ? scalars[node.index] : 0));
            case Operator::constant: return constant(static_cast<float>(node.value));
            case Operator::position: return values[i] = apply(Opcode::op_to_float, index(position, position_step));
            case Operator::random: {
                const std::uint32_t key = mixed(node.index + 0x9e3779b9u);  // streams are below 2^32, and so are elements
                Value x = mixed_bits(*this, index(position, position_step));
                x = mixed_bits(*this, apply(Opcode::op_iadd, x, bits(key)));
                return values[i] = apply(Opcode::op_mul, apply(Opcode::op_to_float, shift_right(x, 8)), constant(0x1p-24f));
            }
            default: throw Unsupported{"an expression in an order that is not its own"};
        }
    };
    for (std::size_t i = 0; i < expression.nodes.size(); ++i) {
        const expression::Node& node = expression.nodes[i];
        if (uses[i] == 0 || node.op == Operator::input || node.op == Operator::scalar || node.op == Operator::constant ||
            node.op == Operator::position || node.op == Operator::random)
            continue;
        const Value a = node.a >= 0 ? value_of(node.a) : nullptr;
        const Value b = node.b >= 0 ? value_of(node.b) : nullptr;
        const Value c = node.c >= 0 ? value_of(node.c) : nullptr;
        Value& d = values[i];
        switch (node.op) {
            case Operator::add: d = apply(Opcode::op_add, a, b); break;
            case Operator::subtract: d = apply(Opcode::op_sub, a, b); break;
            case Operator::multiply: d = apply(Opcode::op_mul, a, b); break;
            case Operator::divide: d = apply(Opcode::op_div, a, b); break;
            case Operator::minimum: d = apply(Opcode::op_min, a, b); break;
            case Operator::maximum: d = apply(Opcode::op_max, a, b); break;
            case Operator::negate: d = apply(Opcode::op_xor, a, bits(0x80000000u)); break;
            case Operator::absolute: d = apply(Opcode::op_and, a, bits(0x7FFFFFFFu)); break;
            case Operator::exponential: d = exponential(a); break;
            case Operator::logarithm: d = logarithm(a); break;
            case Operator::square_root: d = apply(Opcode::op_sqrt, a); break;
            case Operator::reciprocal_square_root: d = reciprocal_square_root(a); break;
            case Operator::reciprocal: d = apply(Opcode::op_div, constant(1), a); break;
            case Operator::hyperbolic_tangent: d = hyperbolic_tangent(a); break;
            case Operator::sigmoid: d = sigmoid(a); break;
            case Operator::error_function: d = error_function(a); break;
            case Operator::floor: d = apply(Opcode::op_floor, a); break;
            case Operator::greater: d = apply(Opcode::op_gt, a, b); break;
            case Operator::greater_equal: d = apply(Opcode::op_ge, a, b); break;
            case Operator::less: d = apply(Opcode::op_gt, b, a); break;
            case Operator::less_equal: d = apply(Opcode::op_ge, b, a); break;
            case Operator::equal: d = apply(Opcode::op_eq, a, b); break;
            case Operator::not_equal: d = apply(Opcode::op_ne, a, b); break;
            case Operator::select: d = apply(Opcode::op_select, a, b, c); break;
            default: throw Unsupported{"random numbers of Philox"};
        }
        each_operand(node, [&](int operand) {
            if (--uses[operand] == 0) values[operand] = nullptr;
        });
    }
    std::vector<Value> outputs;
    for (const int output : expression.outputs) outputs.push_back(value_of(output));
    return outputs;
}

}  // namespace heddle::lowering::on_cpu
