// Reading text token by token, with errors that name the line.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "isa/common/error.h"
#include "workloads/hlo/module.h"

namespace heddle::hlo {

/// A position in a text. The text must outlive it.
class Cursor {
  public:
    Cursor(const std::string& text, const std::string& file, unsigned line)
        : text_(text), file_(file), line_(line) {}

    [[noreturn]] void fail(const std::string& expected) const {
        const std::string found = text_.substr(std::min(position_, text_.size()), 24);
        const bool ends = found.find_first_not_of(" \t\r\n") == std::string::npos;
        throw Error("expected " + expected + (ends ? ", but the text ends here" : " at `" + found + "`"),
                    {file_, line_, ""}, "give text as XLA or JAX prints it");
    }
    void skip_blanks() {
        while (position_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[position_])) != 0)
            ++position_;
    }
    bool at_end() {
        skip_blanks();
        return position_ >= text_.size();
    }
    char peek() {
        skip_blanks();
        return position_ < text_.size() ? text_[position_] : '\0';
    }
    bool accept(const std::string& token) {
        skip_blanks();
        if (text_.compare(position_, token.size(), token) != 0) return false;
        position_ += token.size();
        return true;
    }
    void expect(const std::string& token) {
        if (!accept(token)) fail("`" + token + "`");
    }
    /// Letters, digits and `_ . - #`.
    std::string word(const std::string& what) {
        skip_blanks();
        const std::size_t begin = position_;
        while (position_ < text_.size() &&
               (std::isalnum(static_cast<unsigned char>(text_[position_])) != 0 ||
                std::string("_.-#").find(text_[position_]) != std::string::npos)) {
            if (text_[position_] == '-' && position_ + 1 < text_.size() && text_[position_ + 1] == '>') break;
            ++position_;
        }
        if (begin == position_) fail(what);
        return text_.substr(begin, position_ - begin);
    }
    std::int64_t integer() {
        const std::string digits = word("a number");
        try {
            return std::stoll(digits);
        } catch (const std::logic_error&) {
            fail("a number instead of `" + digits + "`");
        }
    }
    /// Returns the text between the bracket here and the matching one; brackets of all kinds and strings are
    /// balanced.
    std::string balanced() {
        skip_blanks();
        const std::size_t begin = position_;
        int depth = 0;
        bool quoted = false;
        for (; position_ < text_.size(); ++position_) {
            const char c = text_[position_];
            if (c == '"' && (position_ == 0 || text_[position_ - 1] != '\\')) quoted = !quoted;
            if (quoted) continue;
            if (c == '(' || c == '[' || c == '{' || c == '<') ++depth;
            const bool arrow = c == '>' && position_ > 0 && text_[position_ - 1] == '-';
            if ((c == ')' || c == ']' || c == '}' || (c == '>' && !arrow)) && --depth == 0) {
                ++position_;
                return text_.substr(begin + 1, position_ - begin - 2);
            }
        }
        fail("a closing bracket");
    }
    /// Up to a comma outside brackets, or the end.
    std::string value() {
        skip_blanks();
        const std::size_t begin = position_;
        int depth = 0;
        bool quoted = false;
        for (; position_ < text_.size(); ++position_) {
            const char c = text_[position_];
            if (c == '"') quoted = !quoted;
            if (quoted) continue;
            if (c == '(' || c == '[' || c == '{') ++depth;
            if (c == ')' || c == ']' || c == '}') --depth;
            if (depth < 0 || (c == ',' && depth == 0)) break;
        }
        std::string found = text_.substr(begin, position_ - begin);
        while (!found.empty() && std::isspace(static_cast<unsigned char>(found.back())) != 0)
            found.pop_back();
        return found;
    }
    std::string rest() const { return text_.substr(position_); }

  private:
    const std::string& text_;
    const std::string& file_;
    unsigned line_;
    std::size_t position_ = 0;
};

/// "f32", "s64", "pred", "i1", "ui8", ...: throws heddle::Error at the cursor for types that nobody knows.
trace::ElementType element_type(const std::string& name, const Cursor& at);
/// Dimensions of a tensor, "128,784": throws heddle::Error at the cursor for what is no size, and for more
/// elements than an address can count.
std::vector<std::int64_t> dimensions_of(const std::string& list, const Cursor& at);
/// "0,2" -> {0, 2}; blanks do not matter. Throws std::out_of_range for a number beyond 64 bits.
std::vector<std::int64_t> numbers_of(const std::string& list);

}  // namespace heddle::hlo
