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

// A function of the device runtime, with the sizes of its result and arguments.
struct RuntimeDeclaration {
    std::string_view name;
    RuntimeFunction function;
    std::vector<std::uint32_t> result_bytes, argument_bytes;
};

const RuntimeDeclaration* find_runtime_function(std::string_view name) {
    static const std::vector<RuntimeDeclaration> declarations = {
        {"vprintf", RuntimeFunction::vprintf, {4}, {8, 8}},
        {"__assertfail", RuntimeFunction::assertfail, {}, {8, 8, 4, 8, 8}},
        {"malloc", RuntimeFunction::allocate, {8}, {8}},
        {"__cuda_syscall_aligned_malloc", RuntimeFunction::allocate_aligned, {8}, {8, 8}},
        {"free", RuntimeFunction::release, {}, {8}},
    };
    for (const RuntimeDeclaration& declaration : declarations) {
        if (declaration.name == name) return &declaration;
    }
    return nullptr;
}

bool is_local(const Variable& variable) {
    return variable.space == StateSpace::local;
}

class Inliner {
  public:
    Inliner(Kernel& kernel, const Functions& functions, const std::string& file_name)
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
        regions_.push_back({root_.local_bytes, 0});
        region_of_.assign(root_.variables.size(), 0);
        copy_body(original, frame, Ret::exits);
        for (std::size_t f = 0; f < root_.functions.size(); ++f) {  // grows
            if (f == 0) append_return_if_needed(0, root_.line, false);
            copy_called_function(f);
        }
        root_.callees.clear();
        replace_parameter_variables();
        root_.local_bytes = static_cast<std::uint32_t>(regions_[0].local_bytes);
        for (std::size_t f = 0; f < root_.functions.size(); ++f)
            root_.functions[f].frame_bytes = static_cast<std::uint32_t>(regions_[f + 1].local_bytes);
    }

  private:
    // Where the registers and variables of a body are in the kernel.
    struct Frame {
        std::vector<std::uint32_t> registers, variables;
    };
    // The kernel itself (number 0) or a called function: each has local memory of its own, in functions
    // addressed through a register.
    struct Region {
        std::uint64_t local_bytes = 0;
        std::uint32_t frame_register = 0;
    };
    enum class Ret { exits, jumps, returns };  // what `ret` in a body becomes

    [[noreturn]] void fail(const std::string& problem, std::uint32_t line,
                           const std::string& remedy = "") const {
        throw Error(problem, {file_name_, line, root_.name}, remedy);
    }

    std::size_t region() const { return regions_.size() - 1; }
    std::uint32_t position() const { return static_cast<std::uint32_t>(root_.instructions.size()); }

    // Appends a body.
    void copy_body(const Kernel& body, const Frame& frame, Ret ret) {
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
            if (copy.opcode == Opcode::ret && ret == Ret::returns) {
                copy.operands = {function_operand(region() - 1)};
            } else if (copy.opcode == Opcode::ret && ret == Ret::jumps) {
                copy = jump_like(copy, false);
                returns.push_back(position());
            } else if (copy.opcode == Opcode::bra || copy.opcode == Opcode::brx) {
                jumps.push_back(position());
            }
            if (ret != Ret::exits) access_formals_by_address(copy);
            if (region() != 0) address_frame(copy);
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

    static Operand function_operand(std::size_t index) {
        Operand operand;
        operand.kind = Operand::Kind::immediate;
        operand.type = Type::u32;
        operand.bits = index;
        return operand;
    }

    // A branch under the guard of `n`, or under its opposite.
    static Instruction jump_like(const Instruction& n, bool opposite) {
        Instruction jump = like(n, Opcode::bra, {});
        jump.guard_negated = n.guard_negated != opposite;
        Operand label;
        label.kind = Operand::Kind::label;
        jump.operands.push_back(label);
        return jump;
    }

    // Another instruction in the place of `n`, under its guard.
    static Instruction like(const Instruction& n, Opcode opcode,
                            const std::vector<std::string_view>& suffixes) {
        Instruction other = n;
        other.operands.clear();
        other.modifiers.reset();
        other.types.clear();
        other.space = other.second_space = StateSpace::none;
        const Instruction made = make(opcode, suffixes);
        other.opcode = opcode;
        other.form = made.form;
        other.modifiers = made.modifiers;
        other.types = made.types;
        other.space = made.space;
        other.second_space = made.second_space;
        return other;
    }

    static void rename(Operand& operand, const Frame& frame) {
        for (Operand& element : operand.elements) rename(element, frame);
        const Operand::Kind kind = operand.kind == Operand::Kind::address ? operand.base : operand.kind;
        if (kind == Operand::Kind::reg) operand.index = frame.registers[operand.index];
        if (kind == Operand::Kind::variable) operand.index = frame.variables[operand.index];
    }

    // --- calls

    void copy_call(const Kernel& body, const Instruction& call) {
        if (call.operands[2].kind == Operand::Kind::reg) return call_through_pointer(call);
        const std::string& name = body.callees[call.operands[2].bits];
        const auto found = functions_.find(name);
        if (found == functions_.end() || !found->second.defined) {
            const RuntimeDeclaration* runtime = find_runtime_function(name);
            if (runtime == nullptr) {
                fail("function " + name + " has no body in this module", call.line,
                     "only its own functions can be called, and vprintf, __assertfail, malloc, free");
            }
            return call_runtime(*runtime, call);
        }
        const Function& function = found->second;
        if (call.operands[0].elements.size() != function.results ||
            call.operands[1].elements.size() != function.arguments) {
            fail("function " + name + " takes " + std::to_string(function.arguments) +
                     " arguments and returns " + std::to_string(function.results),
                 call.line);
        }
        if (function.recursive) {
            CallSite site = call_site(call, CallSite::Kind::function);
            require_sizes(site, formal_bytes(function, true), formal_bytes(function, false), name, call.line);
            site.function = called_function(name, function);
            return append_call(std::move(site), call);
        }
        const std::uint32_t guard_jump = position();
        if (call.guard >= 0) root_.instructions.push_back(jump_like(call, true));
        copy_body(function.body, make_frame(function, &call), Ret::jumps);
        if (call.guard >= 0) root_.instructions[guard_jump].operands[0].index = position();
    }

    // Every function with such parameters may be what the pointer points to.
    void call_through_pointer(const Instruction& call) {
        CallSite site = call_site(call, CallSite::Kind::pointer);
        site.pointer = call.operands[2].index;
        for (const auto& [name, function] : functions_) {
            if (function.defined && function.address_taken &&
                formal_bytes(function, true) == site.result_bytes &&
                formal_bytes(function, false) == site.argument_bytes) {
                called_function(name, function);
            }
        }
        append_call(std::move(site), call);
    }

    void call_runtime(const RuntimeDeclaration& runtime, const Instruction& call) {
        CallSite site = call_site(call, CallSite::Kind::runtime);
        site.runtime = runtime.function;
        require_sizes(site, runtime.result_bytes, runtime.argument_bytes, std::string(runtime.name),
                      call.line);
        append_call(std::move(site), call);
        // It does not come back: control flow ends here.
        if (runtime.function == RuntimeFunction::assertfail)
            root_.instructions.push_back(like(call, Opcode::trap, {}));
    }

    CallSite call_site(const Instruction& call, CallSite::Kind kind) const {
        CallSite site;
        site.kind = kind;
        site.results = call.operands[0].elements;
        site.arguments = call.operands[1].elements;
        for (const Operand& operand : site.results) site.result_bytes.push_back(bytes_of_variable(operand));
        for (const Operand& operand : site.arguments)
            site.argument_bytes.push_back(bytes_of_variable(operand));
        site.caller = static_cast<std::int32_t>(region()) - 1;
        return site;
    }

    std::uint32_t bytes_of_variable(const Operand& operand) const {
        return static_cast<std::uint32_t>(root_.variables[operand.index].bytes);
    }

    void require_sizes(const CallSite& site, const std::vector<std::uint32_t>& results,
                       const std::vector<std::uint32_t>& arguments, const std::string& name,
                       std::uint32_t line) const {
        if (site.result_bytes != results || site.argument_bytes != arguments)
            fail("the arguments or results of this call have other sizes than those of " + name, line);
    }

    // Lanes that the guard leaves out go around the call.
    void append_call(CallSite site, const Instruction& call) {
        const std::uint32_t guard_jump = position();
        const bool around = call.guard >= 0 && site.kind != CallSite::Kind::runtime;
        if (around) root_.instructions.push_back(jump_like(call, true));
        Instruction copy = like(call, Opcode::call, {});
        if (around) copy.guard = -1;
        copy.operands = {function_operand(root_.calls.size())};
        root_.calls.push_back(std::move(site));
        root_.instructions.push_back(std::move(copy));
        if (around) root_.instructions[guard_jump].operands[0].index = position();
    }

    // Index in Kernel::functions; its body is copied later.
    std::uint32_t called_function(const std::string& name, const Function& function) {
        for (std::uint32_t f = 0; f < root_.functions.size(); ++f) {
            if (root_.functions[f].name == name) return f;
        }
        CalledFunction& called = root_.functions.emplace_back();
        called.name = name;
        called.address = function.address;
        called.recursive = function.recursive;
        called.result_bytes = formal_bytes(function, true);
        called.argument_bytes = formal_bytes(function, false);
        called.line = function.body.line;
        return static_cast<std::uint32_t>(root_.functions.size() - 1);
    }

    void copy_called_function(std::size_t index) {
        const Function& function = functions_.at(root_.functions[index].name);
        const auto first_register = static_cast<std::uint32_t>(root_.registers.size());
        regions_.push_back({0, first_register});
        root_.registers.push_back({function.body.name + ":frame", Type::b64});
        const Frame frame = make_frame(function, nullptr);
        const std::uint32_t first = position();
        copy_body(function.body, frame, Ret::returns);
        append_return_if_needed(first, function.body.line, true);
        CalledFunction& called = root_.functions[index];  // the list may have grown
        called.first_instruction = first;
        called.last_instruction = position() - 1;
        called.frame_register = first_register;
        for (std::size_t i = 0; i < function.results + function.arguments; ++i) {
            Operand formal;
            formal.kind = Operand::Kind::variable;
            formal.index = frame.variables[function.first_formal + i];
            (i < function.results ? called.results : called.arguments).push_back(formal);
        }
    }

    // Running off the end of a body is a return, and what follows a kernel's own body is not a part of it.
    void append_return_if_needed(std::uint32_t first, std::uint32_t line, bool is_function) {
        bool needed = position() == first;
        if (!needed) {
            const Instruction& last = root_.instructions.back();
            const bool leaves = last.opcode == Opcode::ret || last.opcode == Opcode::exit ||
                                last.opcode == Opcode::trap || last.opcode == Opcode::bra ||
                                last.opcode == Opcode::brx;
            needed = !leaves || last.guard >= 0;
            line = last.line;
        }
        for (std::uint32_t i = first; i < position() && !needed; ++i) {
            for (const Operand& operand : root_.instructions[i].operands)
                needed = needed || (operand.kind == Operand::Kind::label && operand.index == position());
        }
        if (!needed) return;
        Instruction ret = make(Opcode::ret, {});
        ret.line = line;
        if (is_function) ret.operands = {function_operand(region() - 1)};
        root_.instructions.push_back(std::move(ret));
    }

    // --- registers and variables

    // For the body of a called function (`call` is nullptr) or for a copy in the place of `call`.
    Frame make_frame(const Function& function, const Instruction* call) {
        Frame frame;
        for (const Register& r : function.body.registers) {
            frame.registers.push_back(static_cast<std::uint32_t>(root_.registers.size()));
            root_.registers.push_back({function.body.name + ":" + r.name, r.type});
        }
        const std::vector<Variable>& variables = function.body.variables;
        for (std::size_t v = 0; v < variables.size(); ++v) {
            const std::size_t formal = v - function.first_formal;
            const bool is_formal =
                v >= function.first_formal && formal < function.results + function.arguments;
            if (v < function.first_formal) {
                frame.variables.push_back(module_variable(variables[v]));
            } else if (is_formal && call != nullptr) {
                frame.variables.push_back(formal < function.results
                                              ? call->operands[0].elements[formal].index
                                              : call->operands[1].elements[formal - function.results].index);
            } else {
                frame.variables.push_back(add_variable(variables[v], function.body.line));
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
        region_of_.push_back(0);
        return static_cast<std::uint32_t>(root_.variables.size() - 1);
    }

    // Each copy of a function has its own local variables.
    std::uint32_t add_variable(Variable variable, std::uint32_t line) {
        if (is_local(variable)) place_in_local_memory(variable, region(), line);
        root_.variables.push_back(std::move(variable));
        region_of_.push_back(region());
        return static_cast<std::uint32_t>(root_.variables.size() - 1);
    }

    void place_in_local_memory(Variable& variable, std::size_t region, std::uint32_t line) {
        std::uint64_t& bytes = regions_[region].local_bytes;
        variable.space = StateSpace::local;
        variable.offset = align_up(bytes, variable.alignment);
        if (variable.offset + variable.bytes > kMaximumLocalBytes)
            fail("more than 512 KiB of local memory per thread", line);
        bytes = variable.offset + variable.bytes;
    }

    // --- local memory of called functions

    // The address of a parameter of a function lies in local memory.
    static void access_formals_by_address(Instruction& n) {
        if ((n.opcode != Opcode::ld && n.opcode != Opcode::st) || n.space != StateSpace::parameter) return;
        if (n.operands[n.opcode == Opcode::ld ? 1 : 0].base == Operand::Kind::reg) n = as_local_access(n);
    }

    // Local variables of the present region are addressed through its frame register.
    void address_frame(Instruction& n) {
        for (Operand& operand : n.operands) {
            if (operand.base == Operand::Kind::variable && is_local(root_.variables[operand.index])) {
                point_into_frame(operand, region());
            } else if (operand.kind == Operand::Kind::variable && is_local(root_.variables[operand.index])) {
                if (n.opcode == Opcode::mov) {
                    n = as_frame_address(n, region());
                    return;
                }
                // Anything else, such as cvta, gets the address from a register of its own.
                Operand address;
                address.kind = Operand::Kind::reg;
                address.type = Type::b64;
                address.index = static_cast<std::uint32_t>(root_.registers.size());
                root_.registers.push_back({root_.variables[operand.index].name, Type::b64});
                Instruction move = like(n, Opcode::mov, {"u64"});
                move.operands = {address, operand};
                root_.instructions.push_back(as_frame_address(move, region()));
                operand = address;
            }
        }
    }

    void point_into_frame(Operand& operand, std::size_t region) const {
        const Variable& variable = root_.variables[operand.index];
        operand.base = Operand::Kind::reg;
        operand.type = Type::b64;
        operand.bits += variable.offset;
        operand.index = regions_[region].frame_register;
    }

    // mov d, variable
    Instruction as_frame_address(const Instruction& n, std::size_t region) const {
        if (bits_of(n.type()) != 64) fail("addresses have 64 bits", n.line, "use mov.u64");
        Instruction sum = like(n, Opcode::add, {"u64"});
        Operand base, offset;
        base.kind = Operand::Kind::reg;
        base.type = Type::b64;
        base.index = regions_[region].frame_register;
        offset.kind = Operand::Kind::immediate;
        offset.type = Type::u64;
        offset.bits = root_.variables[n.operands[1].index].offset + n.operands[1].bits;
        sum.operands = {n.operands[0], base, offset};
        return sum;
    }

    // --- variables of parameter space

    static Operand* parameter_address(Instruction& n) {
        if (n.opcode != Opcode::ld && n.opcode != Opcode::st) return nullptr;
        Operand& address = n.operands[n.opcode == Opcode::ld ? 1 : 0];
        return n.space == StateSpace::parameter && address.base == Operand::Kind::variable ? &address
                                                                                           : nullptr;
    }

    // A scalar that is only accessed whole becomes a register.
    void replace_parameter_variables() {
        const std::vector<bool> whole = accessed_whole();
        std::vector<std::uint32_t> registers(root_.variables.size(), 0);
        // The registers of a function are side by side.
        std::vector<Register> old;
        old.swap(root_.registers);
        std::vector<std::uint32_t> moved(old.size());
        std::uint32_t next = 0;
        for (std::size_t r = 0; r < regions_.size(); ++r) {
            const auto end = static_cast<std::uint32_t>(
                r + 1 < regions_.size() ? regions_[r + 1].frame_register : old.size());
            const auto first = static_cast<std::uint32_t>(root_.registers.size());
            for (; next < end; ++next) {
                moved[next] = static_cast<std::uint32_t>(root_.registers.size());
                root_.registers.push_back(std::move(old[next]));
            }
            for (std::size_t v = 0; v < root_.variables.size(); ++v) {
                Variable& variable = root_.variables[v];
                if (variable.space != StateSpace::parameter || region_of_[v] != r) continue;
                if (whole[v]) {
                    registers[v] = static_cast<std::uint32_t>(root_.registers.size());
                    root_.registers.push_back({variable.name, untyped(variable.bytes)});
                } else {
                    place_in_local_memory(variable, r, root_.line);
                }
            }
            if (r == 0) continue;
            root_.functions[r - 1].first_register = first;
            root_.functions[r - 1].end_register = static_cast<std::uint32_t>(root_.registers.size());
            root_.functions[r - 1].frame_register = regions_[r].frame_register = first;
        }
        move_registers(moved);
        for (Instruction& n : root_.instructions) {
            if (const Operand* address = parameter_address(n)) {
                if (whole[address->index]) {
                    n = as_move(n, registers[address->index]);
                    continue;
                }
                const std::size_t region = region_of_[address->index];
                n = as_local_access(n);
                if (region != 0) point_into_frame(n.operands[n.opcode == Opcode::ld ? 1 : 0], region);
            }
            address_parameters(n);
        }
        replace_in_calls(whole, registers);
    }

    std::vector<bool> accessed_whole() {
        std::vector<bool> whole(root_.variables.size());
        for (std::size_t v = 0; v < whole.size(); ++v) {
            const std::uint64_t bytes = root_.variables[v].bytes;
            whole[v] = bytes == 2 || bytes == 4 || bytes == 8;
        }
        for (Instruction& n : root_.instructions) {
            if (const Operand* address = parameter_address(n)) {
                const Variable& variable = root_.variables[address->index];
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
        const Frame frame{moved, identity(root_.variables.size())};
        for (Instruction& n : root_.instructions) {
            if (n.guard >= 0) n.guard = static_cast<std::int32_t>(moved[static_cast<std::size_t>(n.guard)]);
            for (Operand& operand : n.operands) rename(operand, frame);
        }
        for (CallSite& site : root_.calls) site.pointer = moved.empty() ? 0 : moved[site.pointer];
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
            const std::size_t region = region_of_[operand.index];
            if (region == 0 || !is_local(root_.variables[operand.index])) continue;
            if (n.opcode != Opcode::mov)
                fail("the address of a parameter is not possible here", n.line, "use mov first");
            n = as_frame_address(n, region);
            return;
        }
    }

    void replace_in_calls(const std::vector<bool>& whole, const std::vector<std::uint32_t>& registers) {
        const auto replace = [&](std::vector<Operand>& operands) {
            for (Operand& operand : operands) {
                if (!whole[operand.index]) continue;
                operand.kind = Operand::Kind::reg;
                operand.index = registers[operand.index];
                operand.type = root_.registers[operand.index].type;
            }
        };
        for (CallSite& site : root_.calls) {
            replace(site.results);
            replace(site.arguments);
        }
        for (CalledFunction& function : root_.functions) {
            replace(function.results);
            replace(function.arguments);
        }
    }

    static Type untyped(std::uint64_t bytes) {
        return bytes == 2 ? Type::b16 : bytes == 4 ? Type::b32 : Type::b64;
    }

    Instruction as_move(const Instruction& n, std::uint32_t index) const {
        const Type type = root_.registers[index].type;
        Instruction move = like(n, Opcode::mov, {name_of(type)});
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

    static Instruction as_local_access(const Instruction& n) {
        std::vector<std::string_view> suffixes = {"local"};
        if (n.has(Modifier::v2)) suffixes.push_back("v2");
        if (n.has(Modifier::v4)) suffixes.push_back("v4");
        suffixes.push_back(name_of(n.type()));
        Instruction access = like(n, n.opcode, suffixes);
        access.operands = n.operands;
        return access;
    }

    Kernel& root_;
    const Functions& functions_;
    const std::string& file_name_;
    std::vector<Region> regions_;
    std::vector<std::size_t> region_of_;  // of each variable of the kernel
};

}  // namespace

void inline_calls(Kernel& kernel, const Functions& functions, const std::string& file_name) {
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
