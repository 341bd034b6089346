#include "sim/kernel/ptxas_registers.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

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
    const ScratchFolder folder;
    const std::string input = (folder.path() / "module.ptx").string();
    const std::string log = (folder.path() / "log").string();
    std::ofstream(input, std::ios::binary) << text;
    run_ptxas({"-v", "-arch=" + ptxas_target(compute_capability), input, "-o", (folder.path() / "module.cubin").string()}, log, module,
              "leave out --registers ptxas");
    return parse_register_counts(text_of_file(log));
}

}  // namespace heddle::kernel
