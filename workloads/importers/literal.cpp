#include "workloads/importers/literal.h"

#include <cctype>
#include <charconv>
#include <limits>
#include <string_view>

#include "isa/common/error.h"

namespace heddle::importers {
namespace {

constexpr unsigned deepest_nesting = 64;

class Parser {
  public:
    explicit Parser(const std::string& text) : text_(text) {}

    Literal parse() {
        Literal literal = value(0);
        skip_space();
        if (position_ != text_.size()) fail("text goes on after the value");
        return literal;
    }

  private:
    [[noreturn]] void fail(const std::string& problem) const {
        throw Error(problem,
                    {.key = "column " + std::to_string(position_ + 1) + " of " + text_.substr(0, 80)});
    }
    char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
    void skip_space() {
        while (std::isspace(static_cast<unsigned char>(peek()))) ++position_;
    }
    bool accept(std::string_view word) {
        if (std::string_view(text_).substr(position_, word.size()) != word) return false;
        position_ += word.size();
        return true;
    }

    Literal value(unsigned depth) {
        if (depth > deepest_nesting) fail("lists nest too deeply");
        skip_space();
        const char first = peek();
        if (first == '[' || first == '(') return list(depth);
        if (first == '\'' || first == '"') return {quoted()};
        if (accept("None")) return {};
        if (accept("True") || accept("true")) return {true};
        if (accept("False") || accept("false")) return {false};
        const double sign = accept("-inf") ? -1 : accept("inf") ? 1 : 0;
        if (sign != 0) return {sign * std::numeric_limits<double>::infinity()};
        if (accept("nan")) return {std::numeric_limits<double>::quiet_NaN()};
        return number();
    }

    Literal list(unsigned depth) {
        const char close = peek() == '[' ? ']' : ')';
        ++position_;
        LiteralList items;
        for (skip_space(); peek() != close; skip_space()) {
            items.push_back(value(depth + 1));
            skip_space();
            if (peek() == ',') {
                ++position_;
            } else if (peek() != close) {
                fail("expected ',' or the end of the list");
            }
        }
        ++position_;
        return {std::move(items)};
    }

    std::string quoted() {
        const char quote = text_[position_++];
        std::string result;
        while (peek() != quote) {
            if (position_ >= text_.size()) fail("the text has no end");
            if (text_[position_] == '\\' && position_ + 1 < text_.size()) ++position_;
            result.push_back(text_[position_++]);
        }
        ++position_;
        return result;
    }

    Literal number() {
        const char* start = text_.data() + position_;
        const char* stop = text_.data() + text_.size();
        std::int64_t integer = 0;
        double real = 0;
        const auto whole = std::from_chars(start, stop, integer);
        const auto fraction = std::from_chars(start, stop, real);
        if (fraction.ec == std::errc::invalid_argument) fail("expected a value");
        position_ = static_cast<std::size_t>(fraction.ptr - text_.data());
        if (whole.ec == std::errc{} && whole.ptr == fraction.ptr) return {integer};
        return {real};
    }

    const std::string& text_;
    std::size_t position_ = 0;
};

}  // namespace

bool Literal::is_none() const {
    return std::holds_alternative<std::monostate>(value) || (text() != nullptr && *text() == "<None>");
}

bool Literal::is_number() const {
    return std::holds_alternative<bool>(value) || std::holds_alternative<std::int64_t>(value) ||
           std::holds_alternative<double>(value);
}

double Literal::number(double fallback) const {
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
    if (const auto* real = std::get_if<double>(&value)) return *real;
    return fallback;
}

std::vector<std::int64_t> Literal::integers() const {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return {*integer};
    std::vector<std::int64_t> result;
    if (list() == nullptr) return result;
    for (const Literal& item : *list()) {
        const auto* integer = std::get_if<std::int64_t>(&item.value);
        if (integer == nullptr) return {};
        result.push_back(*integer);
    }
    return result;
}

Literal parse_literal(const std::string& text) {
    return Parser(text).parse();
}

}  // namespace heddle::importers
