#include "isa/ptx/text/function_inliner.h"

#include <algorithm>
#include <vector>

#include "isa/ptx/text/instruction_edit.h"
#include "isa/ptx/text/local_memory.h"
#include "isa/ptx/text/parameter_variables.h"

namespace heddle::ptx {
namespace {

constexpr std::size_t kMaximumInstructions = 4'000'000;

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

class Inliner {
  public:
    Inliner(Kernel& kernel, const Functions& functions, const std::string& file_name)
        : root_(kernel), functions_(functions), local_(kernel, file_name) {}

    void run() {
        const bool calls = std::any_of(root_.instructions.begin(), root_.instructions.end(),
                                       [](const Instruction& n) { return n.opcode == Opcode::call; });
        if (!calls) return;
        const Kernel original = root_;
        root_.instructions.clear();
        Frame frame;
        for (std::uint32_t r = 0; r < original.registers.size(); ++r) frame.registers.push_back(r);
        for (std::uint32_t v = 0; v < original.variables.size(); ++v) frame.variables.push_back(v);
        local_.regions.push_back({root_.local_bytes, 0});
        local_.region_of.assign(root_.variables.size(), 0);
        copy_body(original, frame, Ret::exits);
        for (std::size_t f = 0; f < root_.functions.size(); ++f) {  // grows
            if (f == 0) append_return_if_needed(0, root_.line, false);
            copy_called_function(f);
        }
        root_.callees.clear();
        replace_parameter_variables(root_, local_);
        root_.local_bytes = static_cast<std::uint32_t>(local_.regions[0].bytes);
        for (std::size_t f = 0; f < root_.functions.size(); ++f)
            root_.functions[f].frame_bytes = static_cast<std::uint32_t>(local_.regions[f + 1].bytes);
    }

  private:
    enum class Ret { exits, jumps, returns };  // what `ret` in a body becomes

    std::size_t region() const { return local_.regions.size() - 1; }
    std::uint32_t position() const { return static_cast<std::uint32_t>(root_.instructions.size()); }

    // Appends a body.
    void copy_body(const Kernel& body, const Frame& frame, Ret ret) {
        std::vector<std::uint32_t> moved(body.instructions.size() + 1);
        std::vector<std::size_t> jumps;  // instructions of this body whose labels are still positions in it
        std::vector<std::size_t> returns;
        for (std::size_t i = 0; i < body.instructions.size(); ++i) {
            moved[i] = position();
            if (position() > kMaximumInstructions)
                local_.fail("the functions make the kernel too large", body.line);
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
        Instruction jump = instruction_like(n, Opcode::bra, {});
        jump.guard_negated = n.guard_negated != opposite;
        Operand label;
        label.kind = Operand::Kind::label;
        jump.operands.push_back(label);
        return jump;
    }

    // --- calls

    void copy_call(const Kernel& body, const Instruction& call) {
        if (call.operands[2].kind == Operand::Kind::reg) return call_through_pointer(call);
        const std::string& name = body.callees[call.operands[2].bits];
        const auto found = functions_.find(name);
        if (found == functions_.end() || !found->second.defined) {
            const RuntimeDeclaration* runtime = find_runtime_function(name);
            if (runtime == nullptr) {
                local_.fail("function " + name + " has no body in this module", call.line,
                            "only its own functions can be called, and vprintf, __assertfail, malloc, free");
            }
            return call_runtime(*runtime, call);
        }
        const Function& function = found->second;
        if (call.operands[0].elements.size() != function.results ||
            call.operands[1].elements.size() != function.arguments) {
            local_.fail("function " + name + " takes " + std::to_string(function.arguments) +
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
            root_.instructions.push_back(instruction_like(call, Opcode::trap, {}));
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
            local_.fail("the arguments or results of this call have other sizes than those of " + name, line);
    }

    // Lanes that the guard leaves out go around the call.
    void append_call(CallSite site, const Instruction& call) {
        const std::uint32_t guard_jump = position();
        const bool around = call.guard >= 0 && site.kind != CallSite::Kind::runtime;
        if (around) root_.instructions.push_back(jump_like(call, true));
        Instruction copy = instruction_like(call, Opcode::call, {});
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
        local_.regions.push_back({0, first_register});
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
        Instruction ret = make_instruction(Opcode::ret, {});
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
        local_.region_of.push_back(0);
        return static_cast<std::uint32_t>(root_.variables.size() - 1);
    }

    // Each copy of a function has its own local variables.
    std::uint32_t add_variable(Variable variable, std::uint32_t line) {
        if (is_local(variable)) local_.place(variable, region(), line);
        root_.variables.push_back(std::move(variable));
        local_.region_of.push_back(region());
        return static_cast<std::uint32_t>(root_.variables.size() - 1);
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
                local_.point_into_frame(operand, region());
            } else if (operand.kind == Operand::Kind::variable && is_local(root_.variables[operand.index])) {
                if (n.opcode == Opcode::mov) {
                    n = local_.frame_address(n, region());
                    return;
                }
                // Anything else, such as cvta, gets the address from a register of its own.
                Operand address;
                address.kind = Operand::Kind::reg;
                address.type = Type::b64;
                address.index = static_cast<std::uint32_t>(root_.registers.size());
                root_.registers.push_back({root_.variables[operand.index].name, Type::b64});
                Instruction move = instruction_like(n, Opcode::mov, {"u64"});
                move.operands = {address, operand};
                root_.instructions.push_back(local_.frame_address(move, region()));
                operand = address;
            }
        }
    }

    Kernel& root_;
    const Functions& functions_;
    LocalMemory local_;
};

}  // namespace

void inline_calls(Kernel& kernel, const Functions& functions, const std::string& file_name) {
    Inliner(kernel, functions, file_name).run();
}

}  // namespace heddle::ptx
