// Python literals, as PyTorch writes operands into execution traces: "[[5, 6, 0, 1, 4, 'cuda:0'], 0.1, True,
// '<None>']".
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace heddle::importers {

struct Literal;
using LiteralList = std::vector<Literal>;

/// A parsed literal. None and True/False are distinct from numbers; lists and tuples are not distinguished.
struct Literal {
    std::variant<std::monostate, bool, std::int64_t, double, std::string, LiteralList> value;

    bool is_none() const;  ///< None, or PyTorch's text '<None>'
    const LiteralList* list() const { return std::get_if<LiteralList>(&value); }
    const std::string* text() const { return std::get_if<std::string>(&value); }
    /// Returns the number (True is 1, False 0), or the fallback when the literal is not a number.
    double number(double fallback) const;
    bool is_number() const;
    /// Returns all elements when this is a list of integers (or one integer), otherwise an empty list.
    std::vector<std::int64_t> integers() const;
};

/// Parses a literal. Throws heddle::Error that names the column.
Literal parse_literal(const std::string& text);

}  // namespace heddle::importers
