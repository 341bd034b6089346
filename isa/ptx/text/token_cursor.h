// Walks over tokens and says where and what was expected. Internal to the parser.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isa/ptx/text/lexer.h"

namespace heddle::ptx {

/// Owns the tokens of a file and stands before one of them.
class TokenCursor {
  public:
    TokenCursor(std::vector<Token> tokens, std::string file_name);

    /// The token `ahead` places on, without moving; the token `end` behind the last one.
    const Token& peek(std::size_t ahead = 0) const;
    /// Returns the present token and moves behind it.
    const Token& next();
    /// Whether all tokens have been read.
    bool at_end() const { return peek().kind == TokenKind::end; }

    /// Moves behind the present token if it is this character, or the word `text` behind a dot; returns
    /// whether it did.
    bool accept(char punctuation);
    bool accept_suffix(std::string_view text);
    /// `what` completes the sentence "expected ...".
    void expect(char punctuation, std::string_view what);
    Token expect_word(std::string_view what);
    std::uint64_t expect_integer(std::string_view what);  ///< with an optional sign; two's complement

    /// Throws heddle::Error at `token`.
    [[noreturn]] void fail(const std::string& problem, const Token& token,
                           const std::string& remedy = "") const;
    [[noreturn]] void fail_expected(std::string_view what, const Token& token) const;
    const std::string& file_name() const { return file_name_; }

  private:
    std::vector<Token> tokens_;
    std::string file_name_;
    std::size_t position_ = 0;
};

/// The token as written, "end of text" for the last one.
std::string describe(const Token& token);

}  // namespace heddle::ptx
