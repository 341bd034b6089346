// Builds an Expression node by node; the same node is never made twice.
#pragma once

#include <map>
#include <tuple>

#include "workloads/expression/expression.h"

namespace heddle::expression {

/// Collects the nodes of one expression. Each function returns the index of a node, and equal nodes have the
/// same index.
class Builder {
  public:
    int input(unsigned index);
    int scalar(unsigned index);
    int constant(double value);
    int random(unsigned stream);
    int philox(unsigned key);
    int position();
    /// An operator over earlier nodes, exactly as written (only a negated constant becomes a constant).
    int apply(Operator op, int a, int b = -1, int c = -1);
    /// Adds an operator and simplifies it with the identities of algebra: 0 + x, 0 * x, 1 * x, x / 1, select
    /// with equal arms, and folding of constants. It serves derived expressions, in which an exact zero means
    /// "does not depend".
    int simplified(Operator op, int a, int b = -1, int c = -1);
    /// Copies the nodes of another expression; element i of the result is the new place of its node i.
    std::vector<int> copy(const Expression& other);

    bool is_constant(int node, double value) const;
    const std::vector<Node>& nodes() const { return nodes_; }
    /// Keeps the nodes that the outputs need, in definition order.
    Expression finish(const std::vector<int>& outputs) const;

  private:
    using Key = std::tuple<Operator, int, int, int, unsigned, std::uint64_t>;
    int intern(const Node& node);

    std::vector<Node> nodes_;
    std::map<Key, int> known_;
};

/// Number of operands of an operator: 0 for input, scalar, constant, random and position.
unsigned operand_count(Operator op);
/// One operator on numbers; not for input, scalar, constant, random, position.
double apply(Operator op, double a, double b, double c);

}  // namespace heddle::expression
