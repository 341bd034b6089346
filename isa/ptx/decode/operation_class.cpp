#include "isa/ptx/decode/operation_class.h"

#include <algorithm>
#include <array>

#include "isa/ptx/instruction_table.h"

namespace heddle::ptx {
namespace {

bool has_type(const Instruction& n, std::initializer_list<Type> wanted) {
    return std::any_of(n.types.begin(), n.types.end(), [&](Type type) {
        return std::find(wanted.begin(), wanted.end(), type) != wanted.end();
    });
}

bool is_wide(const Instruction& n) {
    return n.has(Modifier::wide) || n.has(Modifier::hi) || bits_of(n.type()) == 64;
}

Operation integer_operation(const Instruction& n) {
    switch (n.opcode) {
        case Opcode::mul:
        case Opcode::mad:
        case Opcode::madc:
        case Opcode::mul24:
        case Opcode::mad24:
            return is_wide(n) ? Operation::multiply_wide : Operation::multiply;
        case Opcode::dp4a:
        case Opcode::dp2a:
            return Operation::multiply;
        case Opcode::setp:
        case Opcode::set:
        case Opcode::min:
        case Opcode::max:
        case Opcode::slct:
            return Operation::integer_compare;
        case Opcode::and_:
        case Opcode::or_:
        case Opcode::xor_:
        case Opcode::not_:
            return n.type() == Type::pred ? Operation::integer_compare : Operation::integer;
        case Opcode::mov:
        case Opcode::selp:
            return Operation::move;
        case Opcode::vote:
        case Opcode::activemask:
        case Opcode::elect:
            return Operation::vote;
        default:
            return Operation::integer;
    }
}

Operation fp32_operation(const Instruction& n) {
    switch (n.opcode) {
        case Opcode::setp:
        case Opcode::set:
        case Opcode::min:
        case Opcode::max:
        case Opcode::slct:
        case Opcode::testp:
            return Operation::fp32_compare;
        default:
            return Operation::fp32;
    }
}

Operation special_operation(const Instruction& n) {
    switch (n.opcode) {
        case Opcode::cvt:
            return has_type(n, {Type::f64, Type::u64, Type::s64}) ? Operation::wide_conversion
                                                                  : Operation::conversion;
        case Opcode::popc:
        case Opcode::bfind:
        case Opcode::clz:
        case Opcode::brev:
            return Operation::bit_count;
        case Opcode::redux:
        case Opcode::match:
            return Operation::warp_reduce;
        default:
            return Operation::special;
    }
}

}  // namespace

Operation operation_of(const Instruction& n) {
    switch (n.form->pipeline) {
        case Pipeline::none:
            return Operation::none;
        case Pipeline::fp32:
            return fp32_operation(n);
        case Pipeline::integer:
            return integer_operation(n);
        case Pipeline::fp64:
            return Operation::fp64;
        case Pipeline::half:
            if (n.opcode == Opcode::cvt) return Operation::half_conversion;
            return has_type(n, {Type::bf16, Type::bf16x2}) ? Operation::bf16 : Operation::half;
        case Pipeline::special:
            return special_operation(n);
        case Pipeline::tensor:
            return Operation::tensor;
        case Pipeline::load_store:
            return Operation::load_store;
        case Pipeline::branch:
            return Operation::branch;
        case Pipeline::barrier:
            return Operation::barrier;
    }
    return Operation::none;
}

std::string_view name_of(Operation operation) {
    static constexpr std::array<std::string_view, kOperationCount> kNames{"none",
                                                                          "fp32",
                                                                          "fp32_compare",
                                                                          "integer",
                                                                          "integer_compare",
                                                                          "move",
                                                                          "multiply",
                                                                          "multiply_wide",
                                                                          "half",
                                                                          "bf16",
                                                                          "half_conversion",
                                                                          "fp64",
                                                                          "special",
                                                                          "conversion",
                                                                          "wide_conversion",
                                                                          "bit_count",
                                                                          "vote",
                                                                          "warp_reduce",
                                                                          "uniform",
                                                                          "tensor",
                                                                          "load_store",
                                                                          "branch",
                                                                          "barrier"};
    return kNames[static_cast<std::size_t>(operation)];
}

}  // namespace heddle::ptx
