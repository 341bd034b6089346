#include "isa/ptx/text/function_inliner.h"

#include <algorithm>
#include <vector>

#include "isa/common/error.h"
#include "isa/ptx/instruction_table.h"

namespace heddle::ptx {
namespace {

constexpr std::size_t kMaximumInstructions = 4'000'000;
constexpr std::uint64_t kMaximumSharedBytes = std::uint64_t{1} << 24;
constexpr std::uint64_t kMaximumLocalBytes =
    512 * 1024;  // per thread: CUDA programming guide, table of limits

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
    return (value + alignment - 1) / alignment * alignment;
}

// An instruction with these suffixes, of the first row that they match.
Instruction make(Opcode opcode, const std::vector<std::string_view>& suffixes) {
    Instruction instruction;
    for (const InstructionForm& form : forms_of(opcode)) {
        if (!match_suffixes(form, suffixes, instruction)) continue;
        instruction.opcode = opcode;
        instruction.form = &form;
        break;
    }
    return instruction;
}

class Inliner {
  public:
    Inliner(Kernel& kernel, const std::map<std::string, Function>& functions, const std::string& file_name)
        : root_(kernel), functions_(functions), file_name_(file_name) {}

    void run() {
        const bool calls = std::any_of(root_.instructions.begin(), root_.instructions.end(),
                                       [](const Instruction& n) { return n.opcode == Opcode::call; });
        if (!calls) return;
        const Kernel original = root_;
        root_.instructions.clear();
        Frame frame;
        for (std::uint32_t r = 0; r < original.registers.size(); ++r) frame.registers.push_back(r);
        for (std::uint32_t v = 0; v < original.variables.size(); ++v) frame.variables.push_back(v);
        copy_body(original, frame, false);
        root_.callees.clear();
        replace_parameter_variables();
    }

  private:
    // Where the registers and variables of a body are in the kernel.
    struct Frame {
        std::vector<std::uint32_t> registers, variables;
    };

    [[noreturn]] void fail(const std::string& problem, std::uint32_t line,
                           const std::string& remedy = "") const {
        throw Error(problem, {file_name_, line, root_.name}, remedy);
    }

    // Appends a body. In a function, `ret` jumps behind it.
    void copy_body(const Kernel& body, const Frame& frame, bool is_function) {
        std::vector<std::uint32_t> moved(body.instructions.size() + 1);
        std::vector<std::size_t> jumps;  // instructions of this body whose labels are still positions in it
        std::vector<std::size_t> returns;
        for (std::size_t i = 0; i < body.instructions.size(); ++i) {
            moved[i] = position();
            if (position() > kMaximumInstructions) fail("the functions make the kernel too large", body.line);
            Instruction copy = body.instructions[i];
            if (copy.guard >= 0)
                copy.guard = static_cast<std::int32_t>(frame.registers[static_cast<std::size_t>(copy.guard)]);
            for (Operand& operand : copy.operands) rename(operand, frame);
            if (copy.opcode == Opcode::call) {
                copy_call(body, copy);
                continue;
            }
            if (is_function && copy.opcode == Opcode::ret) {
                copy = jump_like(copy, false);
                returns.push_back(position());
            } else if (copy.opcode == Opcode::bra || copy.opcode == Opcode::brx) {
                jumps.push_back(position());
            }
            root_.instructions.push_back(std::move(copy));
        }
        moved.back() = position();
        for (const std::size_t at : jumps) {
            for (Operand& operand : root_.instructions[at].operands) {
                if (operand.kind == Operand::Kind::label) operand.index = moved[operand.index];
            }
        }
        for (const std::size_t at : returns) root_.instructions[at].operands[0].index = position();
    }

    std::uint32_t position() const { return static_cast<std::uint32_t>(root_.instructions.size()); }

    // A branch under the guard of `n`, or under its opposite.
    static Instruction jump_like(const Instruction& n, bool opposite) {
        Instruction jump = make(Opcode::bra, {});
        jump.guard = n.guard;
        jump.guard_negated = n.guard_negated != opposite;
        jump.line = n.line;
        Operand label;
        label.kind = Operand::Kind::label;
        jump.operands.push_back(label);
        return jump;
    }

    static void rename(Operand& operand, const Frame& frame) {
        for (Operand& element : operand.elements) rename(element, frame);
        const Operand::Kind kind = operand.kind == Operand::Kind::address ? operand.base : operand.kind;
        if (kind == Operand::Kind::reg) operand.index = frame.registers[operand.index];
        if (kind == Operand::Kind::variable) operand.index = frame.variables[operand.index];
    }

    void copy_call(const Kernel& body, const Instruction& call) {
        const std::string& name = body.callees[call.operands[2].bits];
        const auto found = functions_.find(name);
        if (found == functions_.end() || !found->second.defined) {
            if (name != "__assertfail")
                fail("function " + name + " has no body in this module", call.line,
                     "only its own functions can be called");
            Instruction trap = make(Opcode::trap, {});
            trap.guard = call.guard;
            trap.guard_negated = call.guard_negated;
            trap.line = call.line;
            root_.instructions.push_back(std::move(trap));
            return;
        }
        const Function& function = found->second;
        if (std::find(stack_.begin(), stack_.end(), name) != stack_.end()) {
            fail("function " + name + " calls itself: recursion is not supported", call.line);
        }
        if (call.operands[0].elements.size() != function.results ||
            call.operands[1].elements.size() != function.arguments) {
            fail("function " + name + " takes " + std::to_string(function.arguments) +
                     " arguments and returns " + std::to_string(function.results),
                 call.line);
        }
        stack_.push_back(name);
        const std::uint32_t guard_jump = position();
        if (call.guard >= 0) root_.instructions.push_back(jump_like(call, true));
        copy_body(function.body, make_frame(function, call), true);
        if (call.guard >= 0) root_.instructions[guard_jump].operands[0].index = position();
        stack_.pop_back();
    }

    Frame make_frame(const Function& function, const Instruction& call) {
        Frame frame;
        for (const Register& r : function.body.registers) {
            frame.registers.push_back(static_cast<std::uint32_t>(root_.registers.size()));
            root_.registers.push_back({function.body.name + ":" + r.name, r.type});
        }
        const std::vector<Variable>& variables = function.body.variables;
        for (std::size_t v = 0; v < variables.size(); ++v) {
            const std::size_t formal = v - function.first_formal;
            if (v < function.first_formal) {
                frame.variables.push_back(module_variable(variables[v]));
            } else if (formal < function.results) {
                frame.variables.push_back(call.operands[0].elements[formal].index);
            } else if (formal < function.results + function.arguments) {
                frame.variables.push_back(call.operands[1].elements[formal - function.results].index);
            } else {
                frame.variables.push_back(add_variable(variables[v], call.line));
            }
        }
        return frame;
    }

    // A variable of the module: the kernel has it, unless it was declared later.
    std::uint32_t module_variable(const Variable& variable) {
        for (std::size_t v = 0; v < root_.variables.size(); ++v) {
            if (root_.variables[v].name == variable.name && root_.variables[v].space == variable.space) {
                return static_cast<std::uint32_t>(v);
            }
        }
        root_.variables.push_back(variable);
        return static_cast<std::uint32_t>(root_.variables.size() - 1);
    }

    // Each copy of a function has its own local variables.
    std::uint32_t add_variable(Variable variable, std::uint32_t line) {
        if (variable.space == StateSpace::local) place_in_local_memory(variable, line);
        root_.variables.push_back(std::move(variable));
        return static_cast<std::uint32_t>(root_.variables.size() - 1);
    }

    void place_in_local_memory(Variable& variable, std::uint32_t line) {
        variable.space = StateSpace::local;
        variable.offset = align_up(root_.local_bytes, variable.alignment);
        if (variable.offset + variable.bytes > kMaximumLocalBytes)
            fail("more than 512 KiB of local memory per thread", line);
        root_.local_bytes = static_cast<std::uint32_t>(variable.offset + variable.bytes);
    }

    static Operand* parameter_address(Instruction& n) {
        if (n.opcode != Opcode::ld && n.opcode != Opcode::st) return nullptr;
        Operand& address = n.operands[n.opcode == Opcode::ld ? 1 : 0];
        return n.space == StateSpace::parameter && address.base == Operand::Kind::variable ? &address
                                                                                           : nullptr;
    }

    // A scalar that is only accessed whole becomes a register.
    void replace_parameter_variables() {
        std::vector<bool> whole(root_.variables.size(), true);
        for (Instruction& n : root_.instructions) {
            const Operand* address = parameter_address(n);
            if (address == nullptr) continue;
            const Variable& variable = root_.variables[address->index];
            const Operand& value = n.operands[n.opcode == Opcode::ld ? 0 : 1];
            const bool same =
                address->bits == 0 && value.kind != Operand::Kind::vector &&
                variable.bytes == bytes_of(n.type()) && variable.bytes >= 2 &&
                (value.kind == Operand::Kind::immediate || bits_of(value.type) == bits_of(n.type()));
            if (!same) whole[address->index] = false;
        }
        std::vector<std::uint32_t> registers(root_.variables.size(), 0);
        for (std::size_t v = 0; v < root_.variables.size(); ++v) {
            Variable& variable = root_.variables[v];
            if (variable.space != StateSpace::parameter) continue;
            if (whole[v]) {
                registers[v] = static_cast<std::uint32_t>(root_.registers.size());
                root_.registers.push_back({variable.name, untyped(variable.bytes)});
            } else {
                place_in_local_memory(variable, root_.line);
            }
        }
        for (Instruction& n : root_.instructions) {
            const Operand* address = parameter_address(n);
            if (address == nullptr) continue;
            n = whole[address->index] ? as_move(n, registers[address->index]) : as_local_access(n);
        }
    }

    static Type untyped(std::uint64_t bytes) {
        return bytes == 2 ? Type::b16 : bytes == 4 ? Type::b32 : Type::b64;
    }

    Instruction as_move(const Instruction& n, std::uint32_t index) const {
        const Type type = root_.registers[index].type;
        Instruction move = make(Opcode::mov, {name_of(type)});
        move.guard = n.guard;
        move.guard_negated = n.guard_negated;
        move.line = n.line;
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

    Instruction as_local_access(const Instruction& n) const {
        std::vector<std::string_view> suffixes = {"local"};
        if (n.has(Modifier::v2)) suffixes.push_back("v2");
        if (n.has(Modifier::v4)) suffixes.push_back("v4");
        suffixes.push_back(name_of(n.type()));
        Instruction access = make(n.opcode, suffixes);
        access.guard = n.guard;
        access.guard_negated = n.guard_negated;
        access.line = n.line;
        access.operands = n.operands;
        return access;
    }

    Kernel& root_;
    const std::map<std::string, Function>& functions_;
    const std::string& file_name_;
    std::vector<std::string> stack_;  // functions being copied
};

}  // namespace

void inline_calls(Kernel& kernel, const std::map<std::string, Function>& functions,
                  const std::string& file_name) {
    Inliner(kernel, functions, file_name).run();
}

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
        if (bytes > kMaximumSharedBytes) {
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
