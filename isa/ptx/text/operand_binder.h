// Operands as written to the Operands that a row of the instruction table wants. Internal to the parser.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isa/ptx/instruction_table.h"
#include "isa/ptx/text/operand_parser.h"
#include "isa/ptx/text/symbols.h"

namespace heddle::ptx {

/// The variable that holds the CUDA runtime's shared memory: PTX manual, "%reserved_smem_offset_begin" ff.
inline constexpr const char* kReservedShared = "%reserved_smem";
inline constexpr std::uint64_t kReservedSharedBytes = 1024;

/// Matches operands as written with the patterns of one row and resolves their names.
class OperandBinder {
  public:
    OperandBinder(Kernel& kernel, SymbolScopes& symbols) : kernel_(kernel), symbols_(symbols) {}

    /// What is wrong, with the guilty token.
    struct Complaint {
        std::string problem, remedy;  ///< sentence for the user, and advice
        Token token;                  ///< where it stands
    };
    /// Fills instruction.operands, one for each pattern of the row. `end` is the token after the
    /// instruction: the guilty one when an operand is missing.
    bool bind_operands(const InstructionForm& form, const std::vector<RawOperand>& raw, const Token& end,
                       Instruction& instruction, Complaint& complaint);

    std::int64_t find_variable(std::string_view name) const;   ///< index in Kernel::variables, or -1
    std::int64_t find_parameter(std::string_view name) const;  ///< index in Kernel::parameters, or -1
    /// The register, variable or parameter that `name` may have been meant to be, or "".
    std::string nearest_name(const std::string& name) const;

  private:
    bool bind(const OperandPattern& pattern, const RawOperand& raw, Instruction& instruction,
              Operand& operand, Complaint& complaint);
    RawOperand expand(const OperandPattern& pattern, const RawOperand& raw);
    bool bind_vector(const OperandPattern& pattern, Type type, const RawOperand& raw, Operand& operand,
                     Complaint& complaint);
    bool bind_scalar(const OperandPattern& pattern, Type type, const RawOperand& raw, Operand& operand,
                     Complaint& complaint);
    bool bind_name(const OperandPattern& pattern, Type type, const RawOperand& raw, Operand& operand,
                   Complaint& complaint);
    bool bind_reserved(const OperandPattern& pattern, Type type, const RawOperand& raw, Operand& operand);
    bool bind_address(const OperandPattern& pattern, const RawOperand& raw, Instruction& instruction,
                      Operand& operand, Complaint& complaint);
    bool bind_coordinates(const OperandPattern& pattern, const RawOperand& raw,
                          const Instruction& instruction, Operand& operand, Complaint& complaint);
    bool bind_literal(Type type, const RawOperand& raw, Operand& operand, Complaint& complaint);

    Kernel& kernel_;
    SymbolScopes& symbols_;
};

}  // namespace heddle::ptx
