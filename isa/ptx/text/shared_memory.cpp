#include "isa/ptx/text/shared_memory.h"

#include <algorithm>
#include <vector>

#include "isa/common/error.h"
#include "isa/ptx/text/local_memory.h"

namespace heddle::ptx {
namespace {

constexpr std::uint64_t kSharedMemoryMaximumBytes = std::uint64_t{1} << 24;

}  // namespace

void lay_out_shared_memory(Kernel& kernel, const std::string& file_name) {
    std::vector<bool> used(kernel.variables.size(), false);
    for (const Instruction& instruction : kernel.instructions) {
        for (const Operand& operand : instruction.operands) {
            if (operand.kind == Operand::Kind::variable || operand.base == Operand::Kind::variable) {
                used[operand.index] = true;
            }
        }
    }
    std::uint64_t bytes = 0;
    for (std::size_t i = 0; i < kernel.variables.size(); ++i) {
        Variable& variable = kernel.variables[i];
        if (variable.space != StateSpace::shared || variable.bytes == 0 || !used[i]) continue;
        variable.offset = align_up(bytes, variable.alignment);
        bytes = variable.offset + variable.bytes;
        if (bytes > kSharedMemoryMaximumBytes) {
            throw Error("more shared memory than any device has", {file_name, kernel.line, kernel.name});
        }
    }
    kernel.shared_bytes = static_cast<std::uint32_t>(bytes);
    for (Variable& variable : kernel.variables) {
        if (variable.space != StateSpace::shared || variable.bytes != 0) continue;
        variable.offset = align_up(bytes, std::max<std::uint32_t>(variable.alignment, 16));
    }
}

}  // namespace heddle::ptx
