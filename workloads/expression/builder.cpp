#include "workloads/expression/builder.h"

#include <algorithm>
#include <bit>

namespace heddle::expression {

int Builder::intern(const Node& node) {
    const Key key{node.op, node.a, node.b, node.c, node.index, std::bit_cast<std::uint64_t>(node.value)};
    const auto [place, fresh] = known_.try_emplace(key, static_cast<int>(nodes_.size()));
    if (fresh) nodes_.push_back(node);
    return place->second;
}

int Builder::input(unsigned index) {
    return intern({.op = Operator::input, .index = index});
}
int Builder::scalar(unsigned index) {
    return intern({.op = Operator::scalar, .index = index});
}
int Builder::constant(double value) {
    return intern({.op = Operator::constant, .value = value});
}
int Builder::random(unsigned stream) {
    return intern({.op = Operator::random, .index = stream});
}

int Builder::philox(unsigned key) {
    return intern({.op = Operator::philox, .index = key});
}

int Builder::position() {
    return intern({.op = Operator::position});
}

int Builder::apply(Operator op, int a, int b, int c) {
    if (op == Operator::negate && nodes_[a].op == Operator::constant) return constant(-nodes_[a].value);
    return intern({.op = op, .a = a, .b = b, .c = c});
}

bool Builder::is_constant(int node, double value) const {
    return nodes_[node].op == Operator::constant && nodes_[node].value == value;
}

int Builder::simplified(Operator op, int a, int b, int c) {
    const auto constant_or_absent = [this](int node) {
        return node < 0 || nodes_[node].op == Operator::constant;
    };
    if (constant_or_absent(a) && constant_or_absent(b) && constant_or_absent(c)) {
        const auto value = [this](int node) { return node < 0 ? 0.0 : nodes_[node].value; };
        return constant(expression::apply(op, value(a), value(b), value(c)));
    }
    switch (op) {
        case Operator::add:
            if (is_constant(a, 0)) return b;
            if (is_constant(b, 0)) return a;
            break;
        case Operator::subtract:
            if (is_constant(b, 0)) return a;
            if (is_constant(a, 0)) return simplified(Operator::negate, b);
            break;
        case Operator::multiply:
            if (is_constant(a, 0) || is_constant(b, 0)) return constant(0);
            if (is_constant(a, 1)) return b;
            if (is_constant(b, 1)) return a;
            if (is_constant(a, -1)) return simplified(Operator::negate, b);
            if (is_constant(b, -1)) return simplified(Operator::negate, a);
            break;
        case Operator::divide:
            if (is_constant(a, 0)) return constant(0);
            if (is_constant(b, 1)) return a;
            break;
        case Operator::negate:
            if (nodes_[a].op == Operator::negate) return nodes_[a].a;
            break;
        case Operator::select:
            if (b == c) return b;
            if (nodes_[a].op == Operator::constant) return nodes_[a].value != 0 ? b : c;
            break;
        default:
            break;
    }
    return apply(op, a, b, c);
}

std::vector<int> Builder::copy(const Expression& other) {
    std::vector<int> place(other.nodes.size(), -1);
    const auto moved = [&place](int node) { return node < 0 ? -1 : place[node]; };
    for (std::size_t i = 0; i < other.nodes.size(); ++i) {
        Node node = other.nodes[i];
        node.a = moved(node.a);
        node.b = moved(node.b);
        node.c = moved(node.c);
        place[i] = intern(node);
    }
    return place;
}

Expression Builder::finish(const std::vector<int>& outputs) const {
    std::vector<bool> needed(nodes_.size(), false);
    for (const int output : outputs) needed[output] = true;
    for (std::size_t i = nodes_.size(); i-- > 0;) {
        if (!needed[i]) continue;
        for (const int operand : {nodes_[i].a, nodes_[i].b, nodes_[i].c}) {
            if (operand >= 0) needed[operand] = true;
        }
    }
    Expression result;
    std::vector<int> place(nodes_.size(), -1);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!needed[i]) continue;
        Node node = nodes_[i];
        for (int* operand : {&node.a, &node.b, &node.c}) {
            if (*operand >= 0) *operand = place[*operand];
        }
        if (node.op == Operator::input) result.input_count = std::max(result.input_count, node.index + 1);
        if (node.op == Operator::scalar) result.scalar_count = std::max(result.scalar_count, node.index + 1);
        place[i] = static_cast<int>(result.nodes.size());
        result.nodes.push_back(node);
    }
    for (const int output : outputs) result.outputs.push_back(place[output]);
    return result;
}

unsigned operand_count(Operator op) {
    switch (op) {
        case Operator::input:
        case Operator::scalar:
        case Operator::constant:
        case Operator::random:
        case Operator::philox:
        case Operator::position:
            return 0;
        case Operator::select:
            return 3;
        case Operator::negate:
        case Operator::absolute:
        case Operator::exponential:
        case Operator::logarithm:
        case Operator::square_root:
        case Operator::reciprocal_square_root:
        case Operator::reciprocal:
        case Operator::hyperbolic_tangent:
        case Operator::sigmoid:
        case Operator::error_function:
        case Operator::floor:
            return 1;
        default:
            return 2;
    }
}

}  // namespace heddle::expression
