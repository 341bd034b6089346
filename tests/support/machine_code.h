// The machine code that NVIDIA's tools make of PTX, for tests that compare with it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "support/ptx_assembler.h"

namespace heddle::test {

/// nvdisasm: HEDDLE_NVDISASM in the environment, the one beside ptxas, or the one on the path; "" for none.
inline std::string find_disassembler(const std::string& ptxas) {
    std::string output;
    std::vector<std::string> candidates;
    if (const char* named = std::getenv("HEDDLE_NVDISASM")) candidates.emplace_back(named);
    candidates.push_back((std::filesystem::path(ptxas).parent_path() / "nvdisasm").string());
    candidates.emplace_back("nvdisasm");
    for (const std::string& candidate : candidates)
        if (run_command("'" + candidate + "' --version", output) == 0) return candidate;
    return "";
}

/// What instructions do, by which code can be compared without naming each.
enum class MachineClass {
    fp32,
    fp64,
    half,
    tensor,
    special,
    integer,
    shared,
    global,
    barrier,
    branch,
    other,
    count_
};
inline constexpr std::size_t kMachineClasses = static_cast<std::size_t>(MachineClass::count_);
inline constexpr std::array<const char*, kMachineClasses> kMachineClassNames = {
    "fp32", "fp64", "half", "tensor", "special", "integer", "shared", "global", "barrier", "branch", "other"};

using MachineCounts = std::array<double, kMachineClasses>;
inline double total(const MachineCounts& counts) {
    double sum = 0;
    for (const double count : counts) sum += count;
    return sum;
}

struct MachineInstruction {
    std::string opcode;  ///< up to the first dot: "IMAD"
    std::string text;
    std::string label;   ///< in front of it
    std::string target;  ///< of a branch
};

struct MachineCode {
    std::vector<MachineInstruction> instructions;                   ///< without padding behind the last exit
    unsigned registers = 0, spill_bytes = 0, spill_load_bytes = 0;  ///< spill_bytes: of stores
};

inline bool starts_with_any(const std::string& text, std::initializer_list<const char*> starts) {
    return std::any_of(starts.begin(), starts.end(), [&](const char* s) { return text.rfind(s, 0) == 0; });
}

inline MachineClass class_of(const std::string& opcode) {
    const auto is = [&](std::initializer_list<const char*> starts) {
        return starts_with_any(opcode, starts);
    };
    if (is({"FFMA", "FADD", "FMUL", "FSETP", "FMNMX", "FSEL", "FSET", "FCHK"})) return MachineClass::fp32;
    if (is({"DFMA", "DADD", "DMUL", "DSETP"})) return MachineClass::fp64;
    if (is({"HMMA", "IMMA", "DMMA", "HGMMA", "QGMMA", "IGMMA", "BMMA"})) return MachineClass::tensor;
    if (is({"HADD", "HMUL", "HFMA", "HSET", "HMNMX", "F2FP"})) return MachineClass::half;
    if (is({"MUFU", "F2F", "F2I", "I2F", "POPC", "FLO", "BREV", "FRND", "I2FP"}))
        return MachineClass::special;
    if (is({"LDS", "STS", "LDSM", "STSM", "ATOMS", "SHFL"})) return MachineClass::shared;
    if (is({"LDG", "STG", "LD", "ST", "ATOM", "RED", "LDGSTS", "LDL", "STL"})) return MachineClass::global;
    if (is({"BAR", "DEPBAR", "LDGDEPBAR", "MEMBAR", "ERRBAR", "CCTL", "SYNCS", "FENCE", "WARPSYNC"}))
        return MachineClass::barrier;
    if (is({"BRA", "EXIT", "BSSY", "BSYNC", "CALL", "RET", "BRX", "JMP", "BREAK"}))
        return MachineClass::branch;
    if (is({"NOP"})) return MachineClass::other;
    return MachineClass::integer;  // IADD3, IMAD, LEA, LOP3, SHF, MOV, SEL, PRMT, S2R, their uniform twins,
                                   // ...
}

/// Registers and spills, as `ptxas -v` tells them.
inline void read_notes(const std::string& log, std::map<std::string, MachineCode>& kernels) {
    std::string line, name;
    std::istringstream notes(log);
    while (std::getline(notes, line)) {
        if (const std::size_t at = line.find("Compiling entry function '"); at != std::string::npos)
            name = line.substr(at + 26, line.find('\'', at + 26) - at - 26);
        if (const std::size_t at = line.find("Used "); at != std::string::npos)
            kernels[name].registers = static_cast<unsigned>(std::atoi(line.c_str() + at + 5));
        if (const std::size_t at = line.find(" bytes spill stores"); at != std::string::npos) {
            const std::size_t start = line.rfind(", ", at) + 2;
            kernels[name].spill_bytes = static_cast<unsigned>(std::atoi(line.c_str() + start));
            kernels[name].spill_load_bytes =
                static_cast<unsigned>(std::atoi(line.c_str() + line.find(", ", at) + 2));
        }
    }
}

/// Registers and spills of the module's kernels; needs no nvdisasm.
inline std::map<std::string, MachineCode> count_registers(const std::string& ptxas, const std::string& text,
                                                          const std::string& architecture,
                                                          const std::filesystem::path& folder) {
    const auto file = folder / "module.ptx", cubin = folder / "module.cubin";
    std::ofstream(file) << text;
    std::string log;
    std::map<std::string, MachineCode> kernels;
    if (run_command("'" + ptxas + "' -v -arch=" + architecture + " -o '" + cubin.string() + "' '" +
                        file.string() + "'",
                    log) == 0)
        read_notes(log, kernels);
    return kernels;
}

/// Kernels by name. `text`: a whole module; `architecture`: "sm_90a".
inline std::map<std::string, MachineCode> assemble_text(const std::string& ptxas, const std::string& nvdisasm,
                                                        const std::string& text,
                                                        const std::string& architecture,
                                                        const std::filesystem::path& folder) {
    const auto file = folder / "module.ptx", cubin = folder / "module.cubin";
    std::ofstream(file) << text;
    std::string log, listing;
    std::map<std::string, MachineCode> kernels;
    if (run_command("'" + ptxas + "' -v -arch=" + architecture + " -o '" + cubin.string() + "' '" +
                        file.string() + "'",
                    log) != 0)
        return kernels;
    if (run_command("'" + nvdisasm + "' -c '" + cubin.string() + "'", listing) != 0) return kernels;
    std::istringstream lines(listing);
    std::string line, name, label;
    bool subroutine = false;
    while (std::getline(lines, line)) {
        if (const std::size_t at = line.find(".section\t.text."); at != std::string::npos) {
            const std::size_t start = at + 15;
            name = line.substr(start, line.find_first_of(",\t ", start) - start);
            subroutine = false;
            continue;
        }
        if (name.empty()) continue;
        if (line.rfind("$", 0) == 0) subroutine = true;  // slow paths of division and the like
        if (line.rfind(".L_x_", 0) == 0) label = line.substr(0, line.find(':'));
        const std::size_t place = line.find("*/");
        if (line.find("/*") == std::string::npos || place == std::string::npos || subroutine) continue;
        std::istringstream words(line.substr(place + 2));
        MachineInstruction one;
        std::string word;
        while (words >> word && (word[0] == '@' || word == "{")) {
        }
        if (word.empty()) continue;
        one.opcode = word.substr(0, word.find_first_of(".;"));
        one.text = line.substr(place + 2);
        one.label = label;
        label.clear();
        if (one.opcode == "BRA") {
            const std::size_t at = one.text.find(".L_x_");
            if (at != std::string::npos) one.target = one.text.substr(at, one.text.find(')', at) - at);
        }
        kernels[name].instructions.push_back(one);
    }
    read_notes(log, kernels);
    for (auto& [kernel, code] : kernels) {  // padding, and the endless loop behind the last exit
        while (!code.instructions.empty() &&
               (code.instructions.back().opcode == "NOP" || !code.instructions.back().target.empty()))
            code.instructions.pop_back();
    }
    return kernels;
}

}  // namespace heddle::test
