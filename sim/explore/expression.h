// Small formulas over a device's parameters, with units: "hbm.stacks * 670 GB/s", "area.total <= 814 mm2".
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/common/parameter.h"

namespace heddle::explore {

/// The dimension of a value: powers of seconds, bytes, joules, cycles and square millimetres. Dollars and per
/// cent are dimensionless.
using Dimension = std::array<int, 5>;
/// Returns the dimension of a parameter's quantity.
Dimension dimension_of(models::Quantity quantity);
/// Returns the dimension for error messages: "B/s", or "a bare number" where all powers are 0.
std::string name_of(const Dimension& dimension);

/// A number with its dimension.
struct Value {
    double number = 0;  ///< in base units
    Dimension dimension{};
};

/// Returns the value of a name, or nothing when there is no such name.
using Lookup = std::function<std::optional<Value>(const std::string& name)>;

/// A formula of numbers with units, names, + - * / ^ (by a whole number), parentheses, min, max, round,
/// floor, ceil and sqrt.
class Expression {
  public:
    /// Parses a formula. Errors name `option` and `text`. Throws heddle::Error that names the first token
    /// that does not fit.
    static Expression parse(const std::string& text, const std::string& option);

    /// Computes the value. Throws heddle::Error for unknown names (with the nearest of `known`) and for sums
    /// of different dimensions.
    Value evaluate(const Lookup& lookup, const std::vector<std::string>& known) const;
    const std::string& text() const { return text_; }
    const std::string& option() const { return option_; }

  private:
    enum class Kind {
        number,
        name,
        add,
        subtract,
        multiply,
        divide,
        power,
        negate,
        minimum,
        maximum,
        round,
        floor,
        ceil,
        sqrt
    };
    struct Node {
        Kind kind;
        Value value;       // number
        std::string name;  // name
    };
    friend class ExpressionParser;
    std::string text_, option_;
    std::vector<Node> nodes_;  ///< in the order of a stack machine
};

/// A condition on two expressions: "power.tdp <= 700 W".
struct Constraint {
    Expression left, right;
    std::string comparison;  ///< "<=", ">=", "<", ">", "=="
    std::string text;

    /// Parses a condition. Throws heddle::Error that names --constraint and the first token that does not
    /// fit.
    static Constraint parse(const std::string& text);
    /// Returns 0 when the condition holds, else by which fraction of the right side it is violated (at least
    /// 1e-9).
    double violation(const Lookup& lookup, const std::vector<std::string>& known) const;
};

/// A parameter that is computed from others: "hbm.bandwidth = hbm.stacks * 670 GB/s".
struct Link {
    std::string path;
    Expression formula;
    std::string text;

    /// Parses a link. Throws heddle::Error that names --link and the first token that does not fit.
    static Link parse(const std::string& text);
};

}  // namespace heddle::explore
