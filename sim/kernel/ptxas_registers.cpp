#include "sim/kernel/ptxas_registers.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "isa/common/error.h"
#include "isa/target/generation.h"
#include "sim/kernel/external_program.h"

namespace heddle::kernel {

// "Compiling entry function 'NAME' for 'sm_90a'", then, a few lines on, "Used 24 registers, ...". Functions
// that are called have a "Function properties" line and no "Used" of their own.
RegisterCounts parse_register_counts(const std::string& output) {
    constexpr std::string_view kEntry = "Compiling entry function '", kUsed = "Used ";
    RegisterCounts counts;
    std::string entry;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
        if (const std::size_t at = line.find(kEntry); at != std::string::npos) {
            const std::size_t first = at + kEntry.size();
            entry = line.substr(first, line.find('\'', first) - first);
        }
        const std::size_t used = line.find(kUsed);
        if (used == std::string::npos || entry.empty() || line.find(" registers", used) == std::string::npos)
            continue;
        counts[entry] = static_cast<unsigned>(std::strtoul(line.c_str() + used + kUsed.size(), nullptr, 10));
        entry.clear();
    }
    return counts;
}

RegisterCounts ptxas_registers(const std::string& text, unsigned compute_capability,
                               const std::string& module) {
    const SourceLocation where{module, 0, ""};
    const ScratchFolder folder;
    const std::string input = (folder.path() / "module.ptx").string();
    const std::string log = (folder.path() / "log").string();
    std::ofstream(input, std::ios::binary) << text;
    const char* named = std::getenv("HEDDLE_PTXAS");
    const std::string architecture = target::nearest_generation(compute_capability).has_specific_target
                                         ? target::specific_target(compute_capability)
                                         : "sm_" + std::to_string(compute_capability);
    const int code = run_program({named != nullptr ? named : "ptxas", "-v", "-arch=" + architecture, input,
                                  "-o", (folder.path() / "module.cubin").string()},
                                 log);
    if (code == 127) {
        throw Error("ptxas is not there to count registers", where,
                    "install the CUDA toolkit, name ptxas in HEDDLE_PTXAS, or leave out --registers ptxas");
    }
    if (code != 0) {
        throw Error(
            "ptxas refuses the module for " + architecture + ": " + first_complaint(text_of_file(log)), where,
            "leave out --registers ptxas");
    }
    return parse_register_counts(text_of_file(log));
}

}  // namespace heddle::kernel
