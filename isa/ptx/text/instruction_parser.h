// One instruction: text to Instruction, checked against the instruction table. Internal to the parser.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "isa/ptx/instruction_table.h"
#include "isa/ptx/text/symbols.h"
#include "isa/ptx/text/token_cursor.h"

namespace heddle::ptx {

class InstructionParser {
  public:
    InstructionParser(TokenCursor& cursor, Kernel& kernel, SymbolScopes& symbols)
        : cursor_(cursor), kernel_(kernel), symbols_(symbols) {}

    /// Reads one instruction, its guard and the semicolon, and appends it to the kernel. Throws
    /// heddle::Error.
    void parse();
    /// What follows .branchtargets, up to the semicolon: the targets of a brx.idx that names `label`.
    void parse_branch_targets(const Token& label);

  private:
    /// An operand as written, before it is known what the instruction wants.
    struct RawOperand {
        enum class Kind : std::uint8_t { name, integer, single, real, vector, address, sink };
        Kind kind = Kind::name;
        Token token;
        std::string name;        ///< name, address: "%tid.x"; empty for an absolute address
        std::uint64_t bits = 0;  ///< literal, or offset of an address
        bool negated = false, paired = false;
        std::vector<RawOperand> elements;
    };

    void parse_guard(Instruction& instruction);
    void parse_call(Instruction& instruction);
    std::vector<Operand> parse_call_arguments();
    void add_branch_targets(Instruction& instruction, const Token& list);
    RawOperand parse_operand();
    RawOperand parse_address();
    RawOperand parse_literal();
    std::string parse_name();
    std::vector<RawOperand> parse_operands();

    void match(Instruction& instruction, const Token& opcode, const std::vector<std::string_view>& suffixes,
               const std::vector<RawOperand>& raw);
    /// Fills instruction.operands; "" or what is wrong, with the guilty token.
    struct Complaint {
        std::string problem, remedy;
        Token token;
    };
    bool bind_operands(const InstructionForm& form, const std::vector<RawOperand>& raw,
                       Instruction& instruction, Complaint& complaint);
    bool bind(const OperandPattern& pattern, const RawOperand& raw, Instruction& instruction,
              Operand& operand, Complaint& complaint);
    bool bind_scalar(const OperandPattern& pattern, Type type, const RawOperand& raw, Operand& operand,
                     Complaint& complaint);
    bool bind_name(const OperandPattern& pattern, Type type, const RawOperand& raw, Operand& operand,
                   Complaint& complaint);
    bool bind_address(const RawOperand& raw, const Instruction& instruction, Operand& operand,
                      Complaint& complaint);
    bool bind_literal(Type type, const RawOperand& raw, Operand& operand, Complaint& complaint);
    std::int64_t find_variable(std::string_view name) const;
    std::int64_t find_parameter(std::string_view name) const;
    std::string nearest_name(const std::string& name) const;

    [[noreturn]] void fail_unknown_opcode(const Token& opcode) const;
    [[noreturn]] void fail_unknown_suffixes(const Token& opcode, Opcode code,
                                            const std::vector<std::string_view>& suffixes) const;

    TokenCursor& cursor_;
    Kernel& kernel_;
    SymbolScopes& symbols_;
    std::map<std::string, std::vector<Token>, std::less<>> branch_targets_;
};

}  // namespace heddle::ptx
