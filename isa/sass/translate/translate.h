// Machine code as a program of the PTX machine: each machine instruction of a kernel becomes one or a few instructions on 32-bit
// registers, so that memory, barriers, asynchronous copies, the checker and timing mode are those of isa/ptx.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/ptx/module.h"
#include "isa/sass/cubin.h"
#include "isa/sass/instruction.h"

namespace heddle::sass {

/// What a line of the text that was made belongs to.
struct LineOrigin {
    static constexpr std::uint32_t kNone = 0xFFFFFFFFu;  ///< of `instruction`: a declaration, or part of the entry sequence
    const MachineFunction* function = nullptr;  ///< whose code it is; of the cubin given to translate()
    std::uint32_t instruction = kNone;          ///< index in that function's code
    bool principal = false;  ///< it has the time of the machine instruction; the others are free helpers
};

/// A kernel as PTX.
struct Translation {
    /// A module with one kernel, for parse() with Dialect::machine_code. Global variables of the cubin have their names there; bank
    /// 3 is one .const array called kConstantBank.
    std::string ptx;
    std::vector<LineOrigin> lines;  ///< by 1-based line of `ptx` (InstructionInfo::line); entry 0 is unused
    std::uint32_t shared_base = 0;  ///< bytes of shared memory besides those that the cubin gives the kernel
    std::uint32_t reserved_shared_bytes = 0;  ///< of all of them, what the system takes of each thread block's
};

/// The module's __constant__ variables, whole: a .const array of the translated module.
inline constexpr const char* kConstantBank = "$constant_bank_3";

/// Translates a kernel. `code` are the decoded instructions of `kernel`, in order. Functions that it calls are decoded here. Throws
/// heddle::Error that names the function, the address and the instruction for anything that has no translation.
Translation translate(const Cubin& cubin, const MachineFunction& kernel, std::span<const Instruction> code);

/// The translation as a module of the PTX machine. Each value of a machine register has a register of its own there, so that timing
/// mode sees which values steer. `file_name` is for messages.
ptx::Module module_of(const Translation& translation, const std::string& file_name);

/// Whether a row exists for the mnemonic. Its modifiers and operands may still be refused.
bool has_translation(std::string_view mnemonic);

/// Why the instruction cannot be translated in a kernel of `compute_capability`, by itself; "" when it can. What depends on other
/// instructions (calls, indirect branches) is not looked at.
std::string why_untranslatable(const Instruction& instruction, unsigned compute_capability);

}  // namespace heddle::sass
