// Names inside a kernel: registers by range (%r<100>), variables and labels, scoped by braces. Internal to
// the parser.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "isa/ptx/module.h"
#include "isa/ptx/text/lexer.h"

namespace heddle::ptx {

/// Names of one kernel while it is parsed. An inner scope hides names of outer ones.
class SymbolScopes {
  public:
    /// The variables that the kernel has already are in the outermost scope.
    explicit SymbolScopes(Kernel& kernel);

    /// Begins a scope within the present one.
    void open() { scopes_.emplace_back(); }
    /// Ends the innermost scope. Labels used and not found in it are looked for in the enclosing one;
    /// `pending()` of the outermost scope holds those that do not exist.
    void close();
    std::size_t depth() const { return scopes_.size(); }

    /// Declares `name`, or name0 ... name(count-1) when `count` is not 0. False when the scope has it
    /// already. `lanes`: elements of a vector register, 0 for scalars. A .b128 register is kept as a vector
    /// of two .b64.
    bool declare_registers(const std::string& name, Type type, std::uint64_t count, unsigned lanes = 0);
    /// Index in Kernel::registers, or -1. A register gets its entry when it is first used. Components of
    /// vector registers are named v.x, v.y, v.z, v.w or v.r, v.g, v.b, v.a.
    std::int64_t find_register(std::string_view name);
    /// The names of the components of a vector register; none when `name` is no vector register.
    std::vector<std::string> find_vector(std::string_view name);

    /// Kernel::variables[index]. False when the scope has this name already.
    bool declare_variable(std::uint32_t index);
    std::int64_t find_variable(std::string_view name) const;  ///< index in Kernel::variables, or -1
    /// All names a user may have meant, for error messages (ranges by their first register).
    std::vector<std::string> register_names() const;

    /// False when the scope has this label already.
    bool declare_label(std::string_view name, std::uint32_t instruction);
    /// Operand `operand` of instruction `instruction` is this label: filled in by close().
    void refer_to_label(const Token& token, std::uint32_t instruction, std::uint32_t operand);

    /// A use of a label that no scope has declared yet.
    struct Reference {
        Token token;                         ///< the label as written
        std::uint32_t instruction, operand;  ///< which operand of which instruction is to be filled in
    };
    /// After close() of the outermost scope: labels that do not exist.
    const std::vector<Reference>& unresolved() const { return unresolved_; }
    std::vector<std::string> label_names() const;  ///< of the scopes closed so far

  private:
    struct Range {
        Type type = Type::none;
        std::uint64_t count = 0;  ///< 0: a single register
        unsigned lanes = 0;       ///< of a vector register
        std::map<std::uint64_t, std::uint32_t>
            used;  ///< number (times lanes, plus lane) -> Kernel::registers
    };
    struct Scope {
        std::map<std::string, Range, std::less<>> registers;
        std::map<std::string, std::uint32_t, std::less<>> variables;
        std::map<std::string, std::uint32_t, std::less<>> labels;
        std::vector<Reference> references;
    };

    /// The range that a register belongs to, and its number there; nullptr when there is none.
    Range* find_range(std::string_view name, std::uint64_t& number);

    Kernel& kernel_;
    std::vector<Scope> scopes_;
    std::vector<Reference> unresolved_;
    std::vector<std::string> closed_labels_;
};

}  // namespace heddle::ptx
