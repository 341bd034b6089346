#include "isa/ptx/schedule/effects.h"

#include <algorithm>

#include "isa/ptx/machine/asynchronous.h"
#include "isa/ptx/matrix_instruction.h"

namespace heddle::ptx {
namespace {

bool reads_changing_register(const Operand& operand) {
    if (operand.kind != Operand::Kind::special) return false;
    const auto special = static_cast<SpecialRegister>(operand.index);
    return is_clock(special) || (special >= SpecialRegister::pm0 && special <= SpecialRegister::pm7_64);
}

bool is_ordered_access(const Instruction& n) {
    return n.has(Modifier::volatile_) || n.has(Modifier::relaxed) || n.has(Modifier::acquire) ||
           n.has(Modifier::release) || n.has(Modifier::mmio) || n.has(Modifier::cv) ||
           n.has(Modifier::async) || n.space == StateSpace::shared_cluster;
}

}  // namespace

bool loads_parameter(const Instruction& n) {
    return n.opcode == Opcode::ld && n.space == StateSpace::parameter;
}

Effect effect_of(const Instruction& n) {
    if (is_asynchronous(n)) return Effect::everything;
    if (std::any_of(n.operands.begin(), n.operands.end(), reads_changing_register)) return Effect::everything;
    switch (n.opcode) {
        case Opcode::ld:
        case Opcode::ldu:
            if (loads_parameter(n) && !n.has(Modifier::volatile_) &&
                n.operands[1].base == Operand::Kind::parameter)
                return Effect::none;
            return is_ordered_access(n) ? Effect::everything : Effect::load;
        case Opcode::tex:  // what a kernel writes it must not read through a texture
        case Opcode::tld4:
        case Opcode::txq:
        case Opcode::suq:
        case Opcode::suld:
        case Opcode::ldmatrix:
            return Effect::load;
        case Opcode::sust:
            return Effect::store;
        case Opcode::st:
            return is_ordered_access(n) || n.space == StateSpace::parameter ? Effect::everything
                                                                            : Effect::store;
        case Opcode::stmatrix:
            return Effect::store;
        case Opcode::wmma:
            return is_fragment_load(n) ? Effect::load : is_fragment_store(n) ? Effect::store : Effect::none;
        case Opcode::cp:
            return n.has(Modifier::bulk) ? Effect::everything : Effect::async_copy;
        case Opcode::shfl:
        case Opcode::vote:
        case Opcode::match:
        case Opcode::redux:
        case Opcode::movmatrix:
            return Effect::lanes;
        case Opcode::mma:
        // clang-format off
        case Opcode::abs: case Opcode::add: case Opcode::addc: case Opcode::and_: case Opcode::bfe:
        case Opcode::bfi: case Opcode::bfind: case Opcode::brev: case Opcode::clz: case Opcode::cnot:
        case Opcode::copysign: case Opcode::cvt: case Opcode::cvta: case Opcode::div: case Opcode::ex2:
        case Opcode::fma: case Opcode::fns: case Opcode::isspacep: case Opcode::lg2: case Opcode::lop3:
        case Opcode::mad: case Opcode::madc: case Opcode::mad24: case Opcode::max: case Opcode::min:
        case Opcode::mov: case Opcode::mul: case Opcode::mul24: case Opcode::neg: case Opcode::not_:
        case Opcode::or_: case Opcode::popc: case Opcode::prmt: case Opcode::rcp: case Opcode::rem:
        case Opcode::rsqrt: case Opcode::sad: case Opcode::selp: case Opcode::set: case Opcode::setp:
        case Opcode::shf: case Opcode::shl: case Opcode::shr: case Opcode::sin: case Opcode::slct:
        case Opcode::sqrt: case Opcode::sub: case Opcode::subc: case Opcode::tanh: case Opcode::testp:
        case Opcode::cos: case Opcode::bmsk: case Opcode::szext: case Opcode::dp4a: case Opcode::dp2a:
        case Opcode::xor_:
            // clang-format on
            return Effect::none;
        default:
            return Effect::everything;
    }
}

}  // namespace heddle::ptx
