// Variables, parameters and registers: text to the parts of a Kernel or Module. Internal to the parser.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/ptx/text/symbols.h"
#include "isa/ptx/text/token_cursor.h"

namespace heddle::ptx {

/// Reads declarations at the cursor; errors are heddle::Error at the guilty token.
class DeclarationParser {
  public:
    explicit DeclarationParser(TokenCursor& cursor) : cursor_(cursor) {}

    static bool starts_variable(const Token& token);  ///< .global, .const, .shared, .local
    /// One declaration with its semicolon, appended to `variables`. `kernel`: in the body of one, else
    /// nullptr.
    void parse_variables(std::vector<Variable>& variables, Kernel* kernel, bool external);
    /// One .param of a kernel, laid out behind the others.
    void parse_parameter(Kernel& kernel);
    /// One .param of a function: a variable of parameter space.
    void parse_argument(std::vector<Variable>& variables);
    /// .param in a body, with its semicolon: what holds an argument or a result of a call.
    void parse_local_arguments(std::vector<Variable>& variables);
    /// .attribute(...); false when there is none.
    bool accept_attributes();
    void parse_registers(SymbolScopes& symbols);

  private:
    std::uint32_t parse_alignment();
    Type parse_type(const char* what);
    /// Dimensions "[4][8]"; an open first dimension "[]" sets `open`.
    std::vector<std::uint64_t> parse_dimensions(bool& open);
    std::uint64_t total_bytes(const std::vector<std::uint64_t>& dimensions, std::uint64_t element,
                              const Token& token);
    void place(Variable& variable, Kernel* kernel, const Token& name);
    void parse_variable(Variable& variable, Kernel* kernel);
    void add(std::vector<Variable>& variables, Variable variable, const Kernel* kernel, const Token& name);
    static bool is_opaque(const Token& token);
    void parse_opaque(std::vector<Variable>& variables, Variable variable);
    void skip_braces();
    Parameter parse_formal(Token& name);
    static void append_argument(const Parameter& parameter, std::vector<Variable>& variables);

    TokenCursor& cursor_;
    std::uint64_t constant_bytes_ = 0;
};

}  // namespace heddle::ptx
