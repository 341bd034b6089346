// Initial values of variables: text to bytes and addresses. Internal to the parser.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/ptx/module.h"
#include "isa/ptx/text/token_cursor.h"

namespace heddle::ptx {

/// Reads the initial value of one variable; errors are heddle::Error at the guilty token.
class InitializerParser {
  public:
    /// `dimensions` of the array, outermost first, the lanes of a vector type last; none for a scalar. An
    /// open first dimension is 0 and gets its value here.
    InitializerParser(TokenCursor& cursor, Variable& variable, std::vector<std::uint64_t>& dimensions)
        : cursor_(cursor), variable_(variable), dimensions_(dimensions) {}

    /// What follows '='. Fills `initial` and `addresses` of the variable.
    void parse();

  private:
    std::uint64_t bytes_below(std::size_t level) const;  ///< of one element of this dimension
    void parse_level(std::size_t level);
    void append_value();
    void append_number();
    bool at_address() const;
    void append_address(std::uint64_t mask);
    void append_bits(std::uint64_t bits, bool negative);

    TokenCursor& cursor_;
    Variable& variable_;
    std::vector<std::uint64_t>& dimensions_;
};

}  // namespace heddle::ptx
