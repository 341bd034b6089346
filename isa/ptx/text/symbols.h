// Names inside a kernel: registers by range (%r<100>), labels, both scoped by braces. Internal to the parser.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "isa/ptx/module.h"
#include "isa/ptx/text/lexer.h"

namespace heddle::ptx {

class SymbolScopes {
  public:
    explicit SymbolScopes(Kernel& kernel) : kernel_(kernel), scopes_(1) {}

    void open() { scopes_.emplace_back(); }
    /// Ends the innermost scope. Labels used and not found in it are looked for in the enclosing one;
    /// `pending()` of the outermost scope holds those that do not exist.
    void close();
    std::size_t depth() const { return scopes_.size(); }

    /// Declares `name`, or name0 ... name(count-1) when `count` is not 0. False when the scope has it
    /// already.
    bool declare_registers(const std::string& name, Type type, std::uint64_t count);
    /// Index in Kernel::registers, or -1. A register gets its entry when it is first used.
    std::int64_t find_register(std::string_view name);
    /// All names a user may have meant, for error messages (ranges by their first register).
    std::vector<std::string> register_names() const;

    /// False when the scope has this label already.
    bool declare_label(std::string_view name, std::uint32_t instruction);
    /// Operand `operand` of instruction `instruction` is this label: filled in by close().
    void refer_to_label(const Token& token, std::uint32_t instruction, std::uint32_t operand);

    struct Reference {
        Token token;
        std::uint32_t instruction, operand;
    };
    const std::vector<Reference>& unresolved() const { return unresolved_; }
    std::vector<std::string> label_names() const;  ///< of the scopes closed so far

  private:
    struct Range {
        Type type = Type::none;
        std::uint64_t count = 0;                      ///< 0: a single register
        std::map<std::uint64_t, std::uint32_t> used;  ///< number -> index in Kernel::registers
    };
    struct Scope {
        std::map<std::string, Range, std::less<>> registers;
        std::map<std::string, std::uint32_t, std::less<>> labels;
        std::vector<Reference> references;
    };

    Kernel& kernel_;
    std::vector<Scope> scopes_;
    std::vector<Reference> unresolved_;
    std::vector<std::string> closed_labels_;
};

}  // namespace heddle::ptx
