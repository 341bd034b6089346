// PTX text to tokens. Internal to the parser.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::ptx {

/// What a token is; the comments show the text.
enum class TokenKind : std::uint8_t {
    word,         ///< identifier: add, %r1, $L__BB0_1, _
    suffix,       ///< a dot and what follows it: .s32, .shared::cta, .L1::no_allocate; `text` has no dot
    integer,      ///< 12, 0x1F, 0b11, 07, with or without U
    single,       ///< 0f3F800000
    real,         ///< 0d3FF0000000000000 and decimal fractions
    string,       ///< "..."; `text` has no quotes
    punctuation,  ///< one character
    end,
};

/// One token of a source, which must outlive it.
struct Token {
    TokenKind kind = TokenKind::end;  ///< decides whether `bits` holds a value
    std::string_view text;            ///< into the source
    std::uint64_t bits = 0;           ///< value: integers two's complement, single and real as IEEE bits
    std::uint32_t line = 0;           ///< 1-based

    /// Whether the token is this character.
    bool is(char punctuation) const {
        return kind == TokenKind::punctuation && text.size() == 1 && text[0] == punctuation;
    }
};

/// Splits a text, comments removed. The last token is `end`. Throws heddle::Error at a character that PTX
/// does not know, a number that does not fit 64 bits, or a comment or string that never ends.
std::vector<Token> tokenize(std::string_view text, const std::string& file_name);

}  // namespace heddle::ptx
