#include "isa/ptx/handlers/handlers.h"

#include "isa/common/error.h"
#include "isa/ptx/machine/asynchronous.h"
#include "isa/ptx/machine/calls.h"
#include "isa/ptx/machine/control.h"
#include "isa/ptx/machine/stack.h"
#include "isa/ptx/machine/texture_instructions.h"

namespace heddle::ptx {

#ifdef HEDDLE_PTX_BASELINE
namespace baseline {
Handler select(const Instruction& instruction, const HandlerRequest& request);
}
#endif
#ifdef HEDDLE_PTX_AVX2
namespace avx2 {
Handler select(const Instruction& instruction, const HandlerRequest& request);
}
#endif

namespace {

/// One of the variants that this program has (isa/ptx/CMakeLists.txt): the same code compiled for another instruction set, the results
/// are the same bits.
Handler select_variant(const Instruction& instruction, const HandlerRequest& request) {
#if defined(HEDDLE_PTX_AVX2) && defined(HEDDLE_PTX_BASELINE)
    // Processors with AVX2 have F16C, which older compilers cannot ask for.
    const bool host_has_avx2 =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
    return host_has_avx2 ? avx2::select(instruction, request) : baseline::select(instruction, request);
#elif defined(HEDDLE_PTX_AVX2)
    return avx2::select(instruction, request);
#else
    return baseline::select(instruction, request);
#endif
}

// Fences order accesses that this model performs in order; a copy is finished when it is issued.
bool does_nothing(const Instruction& n) {
    switch (n.opcode) {
        case Opcode::membar:
        case Opcode::fence:
        case Opcode::nanosleep:
        case Opcode::machine_nop:
        case Opcode::pmevent:
        case Opcode::griddepcontrol:  // grids run one after another
        case Opcode::setmaxnreg:
        case Opcode::applypriority:
        case Opcode::discard:  // what is read afterwards is undefined: here the old bytes
            return true;
        case Opcode::wgmma:
            return n.has(Modifier::fence) || n.has(Modifier::commit_group);
        case Opcode::prefetch:
            return n.has(Modifier::tensormap);
        case Opcode::cp:
            return n.operands.empty() || n.operands[0].kind != Operand::Kind::address;
        default:
            return false;
    }
}

}  // namespace

Handler select_handler(const Instruction& instruction, const HandlerRequest& request) {
    if (does_nothing(instruction)) return nullptr;
    if (const Handler call = select_call(instruction)) return call;
    if (const Handler control = select_control(instruction)) return control;
    if (const Handler stack = select_stack(instruction)) return stack;
    if (instruction.opcode == Opcode::clusterlaunchcontrol) return select_launch_control(instruction);
    if (is_asynchronous(instruction)) return select_asynchronous(instruction, request.evaluate);
    if (is_texture_instruction(instruction)) return select_texture_instruction(instruction, request.evaluate);
    const Handler handler = select_variant(instruction, request);
    if (handler == nullptr && !(instruction.opcode == Opcode::ld && !request.evaluate)) {
        throw Error("this combination of types and modifiers of " + std::string(name_of(instruction.opcode)) +
                    " is not supported");
    }
    return handler;
}

}  // namespace heddle::ptx
