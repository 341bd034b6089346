// Small formulas over a device's parameters, with units: "hbm.stacks * 670 GB/s", "area.total <= 814 mm2".
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/common/parameter.h"

namespace heddle::explore {

/// Powers of seconds, bytes, joules, cycles and square millimetres. Dollars and per cent are bare numbers.
using Dimension = std::array<int, 5>;
Dimension dimension_of(models::Quantity quantity);
/// "B/s"; "a bare number" where all powers are 0.
std::string name_of(const Dimension& dimension);

struct Value {
    double number = 0;  ///< in base units
    Dimension dimension{};
};

/// The value of a name; nothing when there is no such name.
using Lookup = std::function<std::optional<Value>(const std::string& name)>;

/// Numbers with units, names, + - * / ^ (by a whole number), parentheses, min, max, round, floor, ceil, sqrt.
class Expression {
  public:
    /// `option` and `text` stand in errors. Throws heddle::Error that names the first token which does not
    /// fit.
    static Expression parse(const std::string& text, const std::string& option);

    /// Throws heddle::Error for unknown names (with the nearest of `known`) and for sums of unlike units.
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

/// Two expressions and how they must compare: "power.tdp <= 700 W".
struct Constraint {
    Expression left, right;
    std::string comparison;  ///< "<=", ">=", "<", ">", "=="
    std::string text;

    static Constraint parse(const std::string& text);
    /// 0 when it holds, else by which part of the right side it fails (at least 1e-9).
    double violation(const Lookup& lookup, const std::vector<std::string>& known) const;
};

/// A parameter that follows from others: "hbm.bandwidth = hbm.stacks * 670 GB/s".
struct Link {
    std::string path;
    Expression formula;
    std::string text;

    static Link parse(const std::string& text);
};

}  // namespace heddle::explore
