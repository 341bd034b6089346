#include "isa/ptx/text/parameter_variables.h"

#include <utility>

#include "isa/ptx/text/instruction_edit.h"

namespace heddle::ptx {
namespace {

class ParameterVariables {
  public:
    ParameterVariables(Kernel& kernel, LocalMemory& local) : kernel_(kernel), local_(local) {}

    // A scalar that is only accessed whole becomes a register.
    void run() {
        const std::vector<bool> whole = accessed_whole();
        std::vector<std::uint32_t> registers(kernel_.variables.size(), 0);
        // The registers of a function are side by side.
        std::vector<Register> old;
        old.swap(kernel_.registers);
        std::vector<std::uint32_t> moved(old.size());
        std::uint32_t next = 0;
        for (std::size_t r = 0; r < local_.regions.size(); ++r) {
            const auto end = static_cast<std::uint32_t>(
                r + 1 < local_.regions.size() ? local_.regions[r + 1].frame_register : old.size());
            const auto first = static_cast<std::uint32_t>(kernel_.registers.size());
            for (; next < end; ++next) {
                moved[next] = static_cast<std::uint32_t>(kernel_.registers.size());
                kernel_.registers.push_back(std::move(old[next]));
            }
            for (std::size_t v = 0; v < kernel_.variables.size(); ++v) {
                Variable& variable = kernel_.variables[v];
                if (variable.space != StateSpace::parameter || local_.region_of[v] != r) continue;
                if (whole[v]) {
                    registers[v] = static_cast<std::uint32_t>(kernel_.registers.size());
                    kernel_.registers.push_back({variable.name, untyped(variable.bytes)});
                } else {
                    local_.place(variable, r, kernel_.line);
                }
            }
            if (r == 0) continue;
            kernel_.functions[r - 1].first_register = first;
            kernel_.functions[r - 1].end_register = static_cast<std::uint32_t>(kernel_.registers.size());
            kernel_.functions[r - 1].frame_register = local_.regions[r].frame_register = first;
        }
        move_registers(moved);
        for (Instruction& n : kernel_.instructions) {
            if (const Operand* address = parameter_address(n)) {
                if (whole[address->index]) {
                    n = as_move(n, registers[address->index]);
                    continue;
                }
                const std::size_t region = local_.region_of[address->index];
                n = as_local_access(n);
                if (region != 0) local_.point_into_frame(n.operands[n.opcode == Opcode::ld ? 1 : 0], region);
            }
            address_parameters(n);
        }
        replace_in_calls(whole, registers);
    }

  private:
    static Operand* parameter_address(Instruction& n) {
        if (n.opcode != Opcode::ld && n.opcode != Opcode::st) return nullptr;
        Operand& address = n.operands[n.opcode == Opcode::ld ? 1 : 0];
        return n.space == StateSpace::parameter && address.base == Operand::Kind::variable ? &address
                                                                                           : nullptr;
    }

    std::vector<bool> accessed_whole() {
        std::vector<bool> whole(kernel_.variables.size());
        for (std::size_t v = 0; v < whole.size(); ++v) {
            const std::uint64_t bytes = kernel_.variables[v].bytes;
            whole[v] = bytes == 2 || bytes == 4 || bytes == 8;
        }
        for (Instruction& n : kernel_.instructions) {
            if (const Operand* address = parameter_address(n)) {
                const Variable& variable = kernel_.variables[address->index];
                const Operand& value = n.operands[n.opcode == Opcode::ld ? 0 : 1];
                const bool same =
                    address->bits == 0 && value.kind != Operand::Kind::vector &&
                    variable.bytes == bytes_of(n.type()) &&
                    (value.kind == Operand::Kind::immediate || bits_of(value.type) == bits_of(n.type()));
                if (!same) whole[address->index] = false;
            }
            for (const Operand& operand : n.operands) {
                if (operand.kind == Operand::Kind::variable) whole[operand.index] = false;  // its address
            }
        }
        return whole;
    }

    void move_registers(const std::vector<std::uint32_t>& moved) {
        const Frame frame{moved, identity(kernel_.variables.size())};
        for (Instruction& n : kernel_.instructions) {
            if (n.guard >= 0) n.guard = static_cast<std::int32_t>(moved[static_cast<std::size_t>(n.guard)]);
            for (Operand& operand : n.operands) rename(operand, frame);
        }
        for (CallSite& site : kernel_.calls) site.pointer = moved.empty() ? 0 : moved[site.pointer];
    }

    static std::vector<std::uint32_t> identity(std::size_t size) {
        std::vector<std::uint32_t> numbers(size);
        for (std::uint32_t i = 0; i < size; ++i) numbers[i] = i;
        return numbers;
    }

    // mov d, parameter: its address in local memory.
    void address_parameters(Instruction& n) {
        for (const Operand& operand : n.operands) {
            if (operand.kind != Operand::Kind::variable) continue;
            const std::size_t region = local_.region_of[operand.index];
            if (region == 0 || !is_local(kernel_.variables[operand.index])) continue;
            if (n.opcode != Opcode::mov)
                local_.fail("the address of a parameter is not possible here", n.line, "use mov first");
            n = local_.frame_address(n, region);
            return;
        }
    }

    void replace_in_calls(const std::vector<bool>& whole, const std::vector<std::uint32_t>& registers) {
        const auto replace = [&](std::vector<Operand>& operands) {
            for (Operand& operand : operands) {
                if (!whole[operand.index]) continue;
                operand.kind = Operand::Kind::reg;
                operand.index = registers[operand.index];
                operand.type = kernel_.registers[operand.index].type;
            }
        };
        for (CallSite& site : kernel_.calls) {
            replace(site.results);
            replace(site.arguments);
        }
        for (CalledFunction& function : kernel_.functions) {
            replace(function.results);
            replace(function.arguments);
        }
    }

    static Type untyped(std::uint64_t bytes) {
        return bytes == 2 ? Type::b16 : bytes == 4 ? Type::b32 : Type::b64;
    }

    Instruction as_move(const Instruction& n, std::uint32_t index) const {
        const Type type = kernel_.registers[index].type;
        Instruction move = instruction_like(n, Opcode::mov, {name_of(type)});
        Operand argument;
        argument.kind = Operand::Kind::reg;
        argument.type = type;
        argument.index = index;
        if (n.opcode == Opcode::ld)
            move.operands = {n.operands[0], argument};
        else
            move.operands = {argument, n.operands[1]};
        return move;
    }

    Kernel& kernel_;
    LocalMemory& local_;
};

}  // namespace

void replace_parameter_variables(Kernel& kernel, LocalMemory& local) {
    ParameterVariables(kernel, local).run();
}

}  // namespace heddle::ptx
