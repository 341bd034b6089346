#include "isa/ptx/text/token_cursor.h"

#include <algorithm>

#include "isa/common/error.h"

namespace heddle::ptx {

TokenCursor::TokenCursor(std::vector<Token> tokens, std::string file_name)
    : tokens_(std::move(tokens)), file_name_(std::move(file_name)) {}

const Token& TokenCursor::peek(std::size_t ahead) const {
    return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
}

const Token& TokenCursor::next() {
    const Token& token = peek();
    if (position_ + 1 < tokens_.size()) ++position_;
    return token;
}

bool TokenCursor::accept(char punctuation) {
    if (!peek().is(punctuation)) return false;
    next();
    return true;
}

bool TokenCursor::accept_suffix(std::string_view text) {
    if (peek().kind != TokenKind::suffix || peek().text != text) return false;
    next();
    return true;
}

void TokenCursor::expect(char punctuation, std::string_view what) {
    if (!accept(punctuation))
        fail_expected("'" + std::string(1, punctuation) + "' " + std::string(what), peek());
}

Token TokenCursor::expect_word(std::string_view what) {
    if (peek().kind != TokenKind::word) fail_expected(what, peek());
    return next();
}

std::uint64_t TokenCursor::expect_integer(std::string_view what) {
    const bool minus = accept('-');
    if (peek().kind != TokenKind::integer) fail_expected(what, peek());
    const std::uint64_t value = next().bits;
    return minus ? ~value + 1 : value;
}

void TokenCursor::fail(const std::string& problem, const Token& token, const std::string& remedy) const {
    throw Error(problem, {file_name_, token.line, describe(token)}, remedy);
}

void TokenCursor::fail_expected(std::string_view what, const Token& token) const {
    fail(token.kind == TokenKind::end ? "the text ends too early" : "syntax error", token,
         "expected " + std::string(what));
}

std::string describe(const Token& token) {
    switch (token.kind) {
        case TokenKind::end:
            return "end of text";
        case TokenKind::suffix:
            return "." + std::string(token.text);
        case TokenKind::string:
            return "\"" + std::string(token.text) + "\"";
        default:
            return std::string(token.text);
    }
}

}  // namespace heddle::ptx
