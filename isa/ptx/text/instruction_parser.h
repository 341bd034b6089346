// One instruction: text to Instruction, checked against the instruction table. Internal to the parser.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "isa/ptx/parser.h"
#include "isa/ptx/text/operand_binder.h"
#include "isa/ptx/text/operand_parser.h"
#include "isa/ptx/text/symbols.h"
#include "isa/ptx/text/token_cursor.h"

namespace heddle::ptx {

/// Reads instructions of one body. An instruction that the table does not have becomes a `trap` and an entry
/// of `unsupported`.
class InstructionParser {
  public:
    InstructionParser(TokenCursor& cursor, Kernel& kernel, SymbolScopes& symbols,
                      std::vector<UnsupportedInstruction>& unsupported, Dialect dialect = Dialect::ptx)
        : cursor_(cursor), kernel_(kernel), symbols_(symbols), unsupported_(unsupported), dialect_(dialect) {}

    /// Reads one instruction, its guard and the semicolon, and appends it to the kernel. Throws
    /// heddle::Error.
    void parse();
    /// What follows .branchtargets, up to the semicolon: the targets of a brx.idx that names `label`.
    void parse_branch_targets(const Token& label);
    /// What follows .callprototype or .calltargets, up to the semicolon: `label` names it.
    void parse_call_prototype(const Token& label);

  private:
    void parse_guard(Instruction& instruction);
    void parse_call(Instruction& instruction);
    std::vector<Operand> parse_call_arguments();
    void add_branch_targets(Instruction& instruction, const Token& list);
    void match(Instruction& instruction, const Token& opcode, const std::vector<std::string_view>& suffixes,
               const std::vector<RawOperand>& raw);

    [[noreturn]] void fail_unknown_opcode(const Token& opcode) const;
    void replace_unsupported(Instruction& instruction, const Token& opcode,
                             const std::vector<std::string_view>& suffixes, const std::string& remedy = "");
    bool names_no_register(const std::vector<RawOperand>& raw) const;

    TokenCursor& cursor_;
    Kernel& kernel_;
    SymbolScopes& symbols_;
    std::vector<UnsupportedInstruction>& unsupported_;
    Dialect dialect_;
    OperandParser operands_{cursor_};
    OperandBinder binder_{kernel_, symbols_};
    std::map<std::string, std::vector<Token>, std::less<>> branch_targets_;
    std::set<std::string, std::less<>> call_prototypes_;
};

}  // namespace heddle::ptx
