// The family of each instruction, for one instruction set of the host.
#include "isa/ptx/handlers/handlers.h"
#include "isa/ptx/handlers/lanes.h"
#include "isa/ptx/video_instruction.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

bool rounds_directed(const Instruction& n) {
    return n.has(Modifier::rz) || n.has(Modifier::rm) || n.has(Modifier::rp);
}

// Arithmetic by the type: integers, 16-bit floating point, f32 and f64.
Handler select_arithmetic(const Instruction& n) {
    const Type type = n.type();
    if (type == Type::u16x2 || type == Type::s16x2 || (type == Type::s32 && n.has(Modifier::relu))) {
        return select_integer_pair(n);
    }
    if (!is_float(type)) return select_integer(n);
    if (type != Type::f32 && type != Type::f32x2 && type != Type::f64) return select_half(n);
    return rounds_directed(n) ? select_rounding(n) : select_float(n);
}

}  // namespace

Handler select(const Instruction& n, const HandlerRequest& request) {
    if (is_video(n)) return select_video(n);
    if (is_machine_form(n.opcode)) return select_machine_form(n);
    switch (n.opcode) {
        case Opcode::add:
        case Opcode::sub:
        case Opcode::mul:
        case Opcode::mad:
        case Opcode::fma:
        case Opcode::div:
        case Opcode::min:
        case Opcode::max:
        case Opcode::abs:
        case Opcode::neg:
        case Opcode::copysign:
            return select_arithmetic(n);
        case Opcode::addc:
        case Opcode::subc:
        case Opcode::madc:
        case Opcode::mul24:
        case Opcode::mad24:
        case Opcode::sad:
        case Opcode::dp4a:
        case Opcode::dp2a:
        case Opcode::rem:
            return select_integer(n);
        case Opcode::and_:
        case Opcode::or_:
        case Opcode::xor_:
        case Opcode::not_:
        case Opcode::cnot:
        case Opcode::lop3:
        case Opcode::shl:
        case Opcode::shr:
        case Opcode::shf:
        case Opcode::bmsk:
        case Opcode::szext:
        case Opcode::bfe:
        case Opcode::bfi:
        case Opcode::fns:
        case Opcode::bfind:
        case Opcode::popc:
        case Opcode::clz:
        case Opcode::brev:
        case Opcode::prmt:
            return select_logic(n);
        case Opcode::setp:
        case Opcode::set:
        case Opcode::selp:
        case Opcode::slct:
        case Opcode::testp:
        case Opcode::isspacep:
            return select_comparison(n);
        case Opcode::rcp:
        case Opcode::sqrt:
            return n.has(Modifier::approx) ? select_special_function(n) : select_arithmetic(n);
        case Opcode::rsqrt:
        case Opcode::sin:
        case Opcode::cos:
        case Opcode::lg2:
        case Opcode::ex2:
        case Opcode::tanh:
            return select_special_function(n);
        case Opcode::cvt:
            return select_conversion(n, request.register_bits);
        case Opcode::mov:
        case Opcode::cvta:
            return select_move(n);
        case Opcode::ld:
        case Opcode::ldu:
        case Opcode::st:
        case Opcode::prefetch:
        case Opcode::prefetchu:
        case Opcode::cp:
            return select_memory(n, request.register_bits, request.evaluate);
        case Opcode::atom:
        case Opcode::red:
            return select_atomic(n, request.evaluate);
        case Opcode::ldmatrix:
        case Opcode::stmatrix:
        case Opcode::movmatrix:
        case Opcode::mma:
        case Opcode::wmma:
            return select_matrix(n, request.evaluate);
        case Opcode::createpolicy:
            return select_policy(n);
        case Opcode::mapa:
        case Opcode::getctarank:
            return select_cluster(n);
        case Opcode::wgmma:
            return select_warpgroup(n);
        default:
            return select_warp(n, request.evaluate);
    }
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
