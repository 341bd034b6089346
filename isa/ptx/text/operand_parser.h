// Operands as they are written, before it is known what the instruction wants. Internal to the parser.
#pragma once

#include <string>
#include <vector>

#include "isa/ptx/text/constant_expression.h"
#include "isa/ptx/text/token_cursor.h"

namespace heddle::ptx {

/// An operand as it is written.
struct RawOperand {
    /// Syntactic kinds; `name` may turn out to be a register, a variable, a label and more.
    enum class Kind : std::uint8_t { name, integer, single, real, vector, address, sink };
    Kind kind = Kind::name;   ///< syntactic kind
    Token token;              ///< first token, for messages
    std::string name;         ///< name, address: "%tid.x", "v.y"; empty for an absolute address
    std::uint64_t bits = 0;   ///< literal, or what is added to a name or address
    std::uint64_t index = 0;  ///< name[index]: counts elements of the array
    bool indexed = false;     ///< `index` was written
    bool negated = false, minus = false, paired = false;  ///< !p; -r; a|b with the next operand
    /// Of a vector; of an address what follows the first comma: [map, {x, y}].
    std::vector<RawOperand> elements;
};

/// Reads operands at the cursor; errors are heddle::Error at the guilty token.
class OperandParser {
  public:
    explicit OperandParser(TokenCursor& cursor) : cursor_(cursor) {}

    /// All operands of an instruction, with the semicolon.
    std::vector<RawOperand> parse_all();
    RawOperand parse();

  private:
    RawOperand parse_address();
    RawOperand parse_vector();
    RawOperand parse_literal();
    RawOperand parse_named();
    std::string parse_name();
    std::uint64_t parse_offset();

    TokenCursor& cursor_;
};

}  // namespace heddle::ptx
