// How texts of formulas are read: the part that is the same in every small language of the house.
//
// A language says which operators stand between two operands, what an operand is, and what becomes of two of them. Precedence and
// nesting are here.
#pragma once

#include <cctype>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace heddle {

/// How operators of one level group.
enum class Grouping : std::uint8_t {
    left,   ///< a - b - c is (a - b) - c
    right,  ///< a ^ b ^ c is a ^ (b ^ c)
    none,   ///< a < b < c is an error: what follows the first two operands is not read
};

/// An operator between two operands.
struct InfixOperator {
    std::string_view symbol;            ///< as written; longer ones come before their beginnings in a table
    int level = 0;                      ///< the higher, the tighter it binds; at least 1
    Grouping grouping = Grouping::left;  ///< the same for all of a level
};

/// Reads operands with operators of `least` or a higher level between them. `next(least)` takes the next operator and returns it as a
/// pointer, or takes nothing and returns nullptr when there is none or it binds less tightly. `operand()` reads one operand;
/// `combine(operator, left, right)` makes one of two.
template <class Next, class Operand, class Combine>
auto read_operators(int least, Next&& next, Operand&& operand, Combine&& combine) -> decltype(operand()) {
    auto left = operand();
    int most = 1 << 30;  // what may still follow
    while (const InfixOperator* const found = next(least, most)) {
        const int tighter = found->grouping == Grouping::right ? found->level : found->level + 1;
        left = combine(*found, left, read_operators(tighter, next, operand, combine));
        if (found->grouping == Grouping::none) most = found->level - 1;
    }
    return left;
}

/// A place in a text, which moves on.
class TextCursor {
  public:
    /// `text` must outlive the cursor.
    explicit TextCursor(std::string_view text) : text_(text) {}

    std::string_view text() const { return text_; }
    std::size_t at() const { return at_; }          ///< bytes that have been read
    void go_to(std::size_t at) { at_ = at; }
    bool at_end() const { return at_ >= text_.size(); }
    char peek() const { return at_end() ? '\0' : text_[at_]; }
    std::string_view rest() const { return text_.substr(at_); }
    void skip_space() {
        while (!at_end() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    }
    /// Whether `symbol` comes next, behind spaces; then it is read.
    bool take(std::string_view symbol) {
        skip_space();
        if (text_.substr(at_, symbol.size()) != symbol) return false;
        at_ += symbol.size();
        return true;
    }
    /// Whether a number comes next: a digit or a point.
    bool at_number() {
        skip_space();
        return std::isdigit(static_cast<unsigned char>(peek())) != 0 || peek() == '.';
    }
    /// Letters, digits and underscores, and characters of `besides`; may be empty.
    std::string_view word(std::string_view besides = "") {
        const std::size_t start = at_;
        while (!at_end() && (std::isalnum(static_cast<unsigned char>(peek())) != 0 || peek() == '_' ||
                             besides.find(peek()) != std::string_view::npos))
            ++at_;
        return text_.substr(start, at_ - start);
    }
    /// The next operator of the table whose level lies in [least, most], which is read; nullptr: none.
    const InfixOperator* take_operator(std::span<const InfixOperator> table, int least, int most) {
        const std::size_t start = at_;
        for (const InfixOperator& one : table) {
            if (!take(one.symbol)) continue;
            if (one.level >= least && one.level <= most) return &one;
            break;
        }
        at_ = start;
        return nullptr;
    }

  private:
    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace heddle
