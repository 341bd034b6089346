// Which kernels of cubins are understood? load_kernels CUBIN... loads every kernel of each file as a launch would, and prints how many
// there are, how many load, how many instructions nvdisasm had to read, and why the others are refused, most frequent first.
// scripts/sass/load_kernels.py calls it with the cubins of libraries and wheels.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "isa/common/error.h"
#include "isa/sass/cubin.h"
#include "isa/sass/load.h"

namespace {

using namespace heddle::sass;

/// The problem with the opcode and its modifiers, so that equal ones are counted together.
std::string kind_of(const heddle::Error& error) {
    const std::string& text = error.problem();
    if (text.starts_with("the instruction 0x")) return "an instruction is in no table";
    const std::size_t place = text.find(" at 0x"), begin = text.find(": ", place), end = text.rfind(": ");
    if (place == std::string::npos || begin >= end) return text;
    std::string instruction = text.substr(begin + 2, end - begin - 2);
    if (instruction.starts_with("@")) instruction.erase(0, instruction.find(' ') + 1);
    return instruction.substr(0, instruction.find(' ')) + text.substr(end);
}

}  // namespace

int main(int count, char** arguments) {
    std::size_t kernels = 0, whole = 0;
    DecodeReport report;
    std::map<std::string, std::pair<std::size_t, std::string>> refused;
    const auto refuse = [&](const heddle::Error& error, const std::string& where) {
        auto& one = refused[kind_of(error)];
        if (one.first++ == 0) one.second = where;
    };
    for (int i = 1; i < count; ++i) {
        std::ifstream file(arguments[i], std::ios::binary);
        const std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
        try {
            const Cubin cubin = read_cubin(std::as_bytes(std::span(content)), arguments[i]);
            for (const MachineFunction& function : cubin.functions) {
                if (!function.is_kernel) continue;
                ++kernels;
                try {
                    load_kernel(cubin, function.name, &report);
                    ++whole;
                } catch (const heddle::Error& error) {
                    refuse(error, error.problem().substr(0, 300));
                }
            }
        } catch (const heddle::Error& error) {
            refuse(error, arguments[i]);
        }
    }
    std::printf("%zu kernels, %zu load; %zu instructions, %zu of them read by nvdisasm\n", kernels, whole, report.instructions, report.by_disassembler);
    std::vector<std::pair<std::string, std::pair<std::size_t, std::string>>> order(refused.begin(), refused.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
    for (const auto& [problem, found] : order) std::printf("%6zu  %s  (%s)\n", found.first, problem.c_str(), found.second.c_str());
    return 0;
}
