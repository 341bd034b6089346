#include "isa/ptx/text/lexer.h"

#include <bit>
#include <charconv>

#include "isa/common/error.h"

namespace heddle::ptx {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_word(char c) {
    return is_letter(c) || is_digit(c) || c == '_' || c == '$';
}
int hex_value(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 99;
}

class Lexer {
  public:
    Lexer(std::string_view text, const std::string& file_name) : text_(text), file_(file_name) {}

    std::vector<Token> run() {
        std::vector<Token> tokens;
        tokens.reserve(text_.size() / 4 + 1);
        for (;;) {
            skip_space_and_comments();
            if (position_ >= text_.size()) break;
            tokens.push_back(next());
        }
        tokens.push_back({TokenKind::end, {}, 0, line_});
        return tokens;
    }

  private:
    char peek(std::size_t ahead = 0) const {
        return position_ + ahead < text_.size() ? text_[position_ + ahead] : '\0';
    }

    [[noreturn]] void fail(const std::string& problem, std::string_view token,
                           const std::string& remedy = "") const {
        throw Error(problem, {file_, line_, std::string(token)}, remedy);
    }

    void skip_space_and_comments() {
        while (position_ < text_.size()) {
            const char c = text_[position_];
            if (c == '\n') {
                ++line_;
                ++position_;
            } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
                ++position_;
            } else if (c == '/' && peek(1) == '/') {
                while (position_ < text_.size() && text_[position_] != '\n') ++position_;
            } else if (c == '/' && peek(1) == '*') {
                skip_block_comment();
            } else if (c == '#' && at_line_marker()) {
                while (position_ < text_.size() && text_[position_] != '\n') ++position_;
            } else {
                return;
            }
        }
    }

    // What the C preprocessor leaves: #line 5 "a.cu" or # 5 "a.cu".
    bool at_line_marker() const {
        std::size_t before = position_;
        while (before > 0 && (text_[before - 1] == ' ' || text_[before - 1] == '\t')) --before;
        if (before > 0 && text_[before - 1] != '\n') return false;
        std::size_t ahead = text_.substr(position_ + 1).starts_with("line") ? 5 : 1;
        while (peek(ahead) == ' ' || peek(ahead) == '\t') ++ahead;
        return is_digit(peek(ahead));
    }

    void skip_block_comment() {
        const std::uint32_t first_line = line_;
        position_ += 2;
        while (!(peek() == '*' && peek(1) == '/')) {
            if (position_ >= text_.size()) {
                line_ = first_line;
                fail("comment without an end", "/*", "close it with */");
            }
            if (text_[position_] == '\n') ++line_;
            ++position_;
        }
        position_ += 2;
    }

    Token next() {
        const std::size_t start = position_;
        const char c = peek();
        if (c == '.' && (is_word(peek(1)))) {
            ++position_;
            while (is_word(peek()) || (peek() == ':' && peek(1) == ':' && is_word(peek(2)))) {
                position_ += peek() == ':' ? 2 : 1;
            }
            return {TokenKind::suffix, text_.substr(start + 1, position_ - start - 1), 0, line_};
        }
        if (is_letter(c) || c == '_' || c == '$' || c == '%') {
            ++position_;
            while (is_word(peek())) ++position_;
            return {TokenKind::word, text_.substr(start, position_ - start), 0, line_};
        }
        if (is_digit(c)) return number();
        if (c == '"') return quoted();
        if (std::string_view("{}[]()<>,;:@!|+-*/=~&^?%.").find(c) != std::string_view::npos) {
            ++position_;
            return {TokenKind::punctuation, text_.substr(start, 1), 0, line_};
        }
        fail("a character that PTX does not know", text_.substr(start, 1));
    }

    Token quoted() {
        const std::size_t start = ++position_;
        while (peek() != '"') {
            if (position_ >= text_.size() || peek() == '\n')
                fail("string without an end", "\"", "close it with \"");
            ++position_;
        }
        return {TokenKind::string, text_.substr(start, position_++ - start), 0, line_};
    }

    Token number() {
        const std::size_t start = position_;
        if (peek() == '0' && (peek(1) == 'f' || peek(1) == 'F'))
            return exact_float(start, 8, TokenKind::single);
        if (peek() == '0' && (peek(1) == 'd' || peek(1) == 'D'))
            return exact_float(start, 16, TokenKind::real);
        if (looks_like_fraction()) return decimal_fraction(start);
        std::uint64_t base = 10;
        if (peek() == '0' && (peek(1) == 'x' || peek(1) == 'X')) {
            base = 16;
            position_ += 2;
        } else if (peek() == '0' && (peek(1) == 'b' || peek(1) == 'B')) {
            base = 2;
            position_ += 2;
        } else if (peek() == '0') {
            base = 8;
        }
        std::uint64_t value = 0;
        const std::size_t first_digit = position_;
        while (static_cast<std::uint64_t>(hex_value(peek())) < base) {
            const auto digit = static_cast<std::uint64_t>(hex_value(peek()));
            if (value > (~std::uint64_t{0} - digit) / base) {
                fail("integer does not fit 64 bits", text_.substr(start, position_ + 1 - start));
            }
            value = value * base + digit;
            ++position_;
        }
        const bool empty = position_ == first_digit;
        if (peek() == 'U') ++position_;
        const std::string_view token = text_.substr(start, position_ - start);
        if (empty || is_word(peek())) {
            fail("malformed number", text_.substr(start, position_ + 1 - start));
        }
        return {TokenKind::integer, token, value, line_};
    }

    // Digits, then a fraction or an exponent; "1.s32" is not a fraction.
    bool looks_like_fraction() const {
        std::size_t ahead = 0;
        while (is_digit(peek(ahead))) ++ahead;
        if (peek(ahead) == '.') return !is_letter(peek(ahead + 1)) || exponent_at(ahead + 1);
        return exponent_at(ahead);
    }
    bool exponent_at(std::size_t ahead) const {
        if (peek(ahead) != 'e' && peek(ahead) != 'E') return false;
        const char sign = peek(ahead + 1);
        return is_digit(sign) || ((sign == '+' || sign == '-') && is_digit(peek(ahead + 2)));
    }

    Token decimal_fraction(std::size_t start) {
        while (is_digit(peek())) ++position_;
        if (peek() == '.') {
            ++position_;
            while (is_digit(peek())) ++position_;
        }
        if (exponent_at(0)) {
            position_ += 2;
            while (is_digit(peek())) ++position_;
        }
        const std::string_view token = text_.substr(start, position_ - start);
        if (is_word(peek())) fail("malformed number", token);
        double value = 0;
        const auto [end, problem] = std::from_chars(token.data(), token.data() + token.size(), value);
        if (problem != std::errc() || end != token.data() + token.size()) fail("number out of range", token);
        return {TokenKind::real, token, std::bit_cast<std::uint64_t>(value), line_};
    }

    Token exact_float(std::size_t start, unsigned digits, TokenKind kind) {
        position_ += 2;
        std::uint64_t bits = 0;
        unsigned count = 0;
        while (hex_value(peek()) < 16 && count < digits) {
            bits = bits * 16 + static_cast<std::uint64_t>(hex_value(peek()));
            ++position_;
            ++count;
        }
        const std::string_view token = text_.substr(start, position_ - start);
        if (count != digits || is_word(peek())) {
            fail("malformed floating-point constant", token,
                 "write " + std::to_string(digits) + " hexadecimal digits after " +
                     std::string(token.substr(0, 2)));
        }
        return {kind, token, bits, line_};
    }

    std::string_view text_;
    const std::string& file_;
    std::size_t position_ = 0;
    std::uint32_t line_ = 1;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text, const std::string& file_name) {
    return Lexer(text, file_name).run();
}

}  // namespace heddle::ptx
