// What a cubin holds: machine code of kernels and functions, and everything that they need to run.
//
// A cubin is an ELF file for one architecture. Sections: .text.NAME (code), .nv.info.NAME (attributes: parameters, stack,
// limits), .nv.constant0.NAME (launch values and parameters), .nv.constant2/3/4 (compiler's constants, __constant__ variables,
// addresses), .nv.global and .nv.global.init, .nv.shared.NAME, .rel and .rela (relocations), .debug_line.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "isa/sass/instruction.h"

namespace heddle::sass {

/// A kernel parameter, by EIATTR_KPARAM_INFO.
struct KernelParameter {
    std::uint16_t ordinal = 0;  ///< position in the parameter list
    std::uint16_t offset = 0;   ///< bytes from the start of the parameter block
    std::uint16_t bytes = 0;    ///< size
};

/// A place whose value is known when the module is loaded.
struct Relocation {
    std::uint64_t offset = 0;  ///< bytes from the start of its section
    std::uint32_t type = 0;    ///< R_CUDA_...
    std::string symbol;        ///< what the address is taken of
    std::int64_t addend = 0;   ///< added to it
};

/// Where an instruction comes from in a source file.
struct LineEntry {
    std::uint64_t address = 0;  ///< byte offset from the start of the function
    std::uint32_t file = 0;     ///< index in Cubin::source_files
    std::uint32_t line = 0;     ///< 1-based
};

/// A function's code: that of a kernel, with the subroutines that lie in its section, or of a device function.
struct MachineFunction {
    std::string name;                          ///< symbol
    bool is_kernel = false;                    ///< marked as an entry
    std::vector<std::array<std::uint64_t, 2>> code;  ///< words of each instruction, low half first; before relocation
    unsigned registers = 0;                    ///< 32-bit registers per thread
    std::uint32_t shared_bytes = 0;            ///< static, per thread block
    std::uint32_t frame_bytes = 0;             ///< of local memory per thread (EIATTR_FRAME_SIZE, or minimum stack where that is larger)
    unsigned barriers = 0;                     ///< named barriers used
    std::uint32_t parameter_base = 0;          ///< byte of constant bank 0 where parameters start
    std::uint32_t parameter_bytes = 0;         ///< size of the parameter block
    std::vector<KernelParameter> parameters;   ///< in order of declaration
    std::uint32_t maximum_threads = 0;         ///< per thread block (EIATTR_MAX_THREADS, product); 0: not given
    std::array<std::uint32_t, 3> required_threads{};  ///< EIATTR_REQNTID; zeros: not given
    std::array<std::uint32_t, 3> cluster{};    ///< required cluster (EIATTR_CTA_PER_CLUSTER, explicit cluster); zeros: none
    std::vector<std::byte> constant2;          ///< .nv.constant2.NAME: the compiler's own constants (jump tables); may be empty
    std::vector<Relocation> relocations;       ///< of the code
    std::vector<Relocation> constant2_relocations;     ///< of constant2
    std::vector<std::pair<std::uint64_t, std::string>> labels;  ///< symbols inside the code: byte offset, name (subroutines)
    std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>> branch_targets;  ///< of indirect branches: their byte offset, byte offsets of where they may go
    std::vector<LineEntry> lines;              ///< sorted by address; empty without -lineinfo
};

/// A variable of the module.
struct MachineVariable {
    std::string name;             ///< symbol
    bool constant = false;        ///< lies in constant bank 3; else in global memory
    std::uint64_t offset = 0;     ///< constant: byte of bank 3
    std::uint64_t bytes = 0;      ///< size
    std::uint64_t alignment = 1;  ///< bytes
    std::vector<std::byte> initial;        ///< at most `bytes`; what follows is zero
    std::vector<Relocation> relocations;   ///< offsets from the variable's start
};

/// A cubin, read whole.
struct Cubin {
    std::string file_name;           ///< for messages
    unsigned compute_capability = 0;  ///< 86
    std::vector<MachineFunction> functions;  ///< kernels and device functions
    std::vector<MachineVariable> variables;
    std::vector<std::byte> constant3;        ///< initial values of bank 3, whole
    std::vector<std::byte> constant4;        ///< bank 4, before relocation: addresses of variables and functions
    std::vector<Relocation> constant4_relocations;
    std::vector<std::string> external;       ///< symbols that it needs and does not define (vprintf, functions of other files)
    std::vector<std::string> source_files;   ///< of LineEntry::file

    /// nullptr when there is none of this name.
    const MachineFunction* find(std::string_view name) const {
        for (const MachineFunction& one : functions)
            if (one.name == name) return &one;
        return nullptr;
    }
};

/// Whether the bytes begin like a cubin: an ELF file for a CUDA machine.
bool is_cubin(std::span<const std::byte> bytes);

/// Reads a cubin. Throws heddle::Error that names `file_name`, the section and the byte for damaged files, and for architectures
/// before Volta, whose instructions have another size.
Cubin read_cubin(std::span<const std::byte> bytes, const std::string& file_name);

/// How the code of a kernel was read.
struct DecodeReport {
    std::size_t instructions = 0;      ///< all
    std::size_t by_disassembler = 0;   ///< of these, those that no row of the decoder's table has and nvdisasm has read
    std::string first_by_disassembler;  ///< text of the first one; "" when there is none
};

/// Decodes all instructions of a function: by the table of isa/sass/decode_table.h, and by nvdisasm those that the table lacks.
/// Targets of branches and calls become OperandKind::target. `report`, when there is one, is added to. Throws heddle::Error that
/// names the function, the byte and the code of the first instruction that no table has, when nvdisasm is not there or refuses it.
std::vector<Instruction> decode(const Cubin& cubin, const MachineFunction& function, DecodeReport* report = nullptr);

/// Decodes one instruction of `compute_capability` (75, 80, 86, 89, 90, 100, 120) from its 128 bits, at byte `address` of its
/// function. Throws heddle::Error with the code for what no table has.
Instruction decode(std::array<std::uint64_t, 2> code, unsigned compute_capability, std::uint64_t address);

}  // namespace heddle::sass
