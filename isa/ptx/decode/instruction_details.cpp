#include "isa/ptx/decode/instruction_details.h"

#include <algorithm>
#include <bit>
#include <string>

#include "isa/common/error.h"
#include "isa/numerics/formats.h"
#include "isa/ptx/decode/warpgroup_details.h"
#include "isa/ptx/machine/asynchronous.h"
#include "isa/ptx/machine/texture_instructions.h"
#include "isa/ptx/matrix_instruction.h"
#include "isa/ptx/video_instruction.h"

namespace heddle::ptx {
namespace {

[[noreturn]] void refuse(const std::string& problem, const std::string& remedy) {
    throw Error(problem, {}, remedy);
}

numerics::Format format_of(Type type) {
    switch (type) {
        case Type::f16:
        case Type::f16x2:
            return numerics::Format::fp16;
        case Type::bf16:
        case Type::bf16x2:
            return numerics::Format::bf16;
        case Type::tf32:
            return numerics::Format::tf32;
        case Type::f64:
            return numerics::Format::fp64;
        case Type::e2m1x2:
        case Type::e2m1x4:
            return numerics::Format::e2m1;
        case Type::e2m3x2:
        case Type::e2m3x4:
            return numerics::Format::e2m3;
        case Type::e3m2x2:
        case Type::e3m2x4:
            return numerics::Format::e3m2;
        case Type::e4m3x2:
        case Type::e4m3x4:
            return numerics::Format::e4m3;
        case Type::e5m2x4:
        case Type::e5m2x2:
            return numerics::Format::e5m2;
        default:
            return numerics::Format::fp32;
    }
}

// Destination format in bits 3..0, source format in 7..4, rounding in 10..8, then flags: satfinite, relu,
// sat, ftz.
std::uint16_t conversion_immediate(const Instruction& n) {
    using numerics::Rounding;
    if (n.has(Modifier::pack)) {  // width and sign of the parts
        const bool has_sign = name_of(n.type(0)).front() == 's';
        return static_cast<std::uint16_t>(bits_of(n.type(0)) | static_cast<unsigned>(has_sign) << 7);
    }
    if (!is_float(n.type(0)) && !is_float(n.type(1))) {  // between integers: widths and signs
        return static_cast<std::uint16_t>(bits_of(n.type(0)) | bits_of(n.type(1)) << 7 |
                                          static_cast<unsigned>(is_signed(n.type(0))) << 14 |
                                          static_cast<unsigned>(is_signed(n.type(1))) << 15);
    }
    if (!is_float(n.type(0))) {  // to an integer: its width and sign, source format, rounding, .ftz
        const unsigned direction = n.has(Modifier::rni)   ? 0
                                   : n.has(Modifier::rmi) ? 2
                                   : n.has(Modifier::rpi) ? 3
                                                          : 1;
        return static_cast<std::uint16_t>(bits_of(n.type(0)) |
                                          static_cast<unsigned>(is_signed(n.type(0))) << 7 |
                                          static_cast<unsigned>(format_of(n.type(1))) << 8 | direction << 12 |
                                          static_cast<unsigned>(n.has(Modifier::ftz)) << 14);
    }
    Rounding rounding = Rounding::nearest_even;
    if (n.has(Modifier::rz)) rounding = Rounding::toward_zero;
    if (n.has(Modifier::rm)) rounding = Rounding::down;
    if (n.has(Modifier::rp)) rounding = Rounding::up;
    if (n.has(Modifier::rna)) rounding = Rounding::nearest_away;
    unsigned word = static_cast<unsigned>(format_of(n.type(0))) |
                    static_cast<unsigned>(format_of(n.type(1))) << 4 | static_cast<unsigned>(rounding) << 8;
    if (n.has(Modifier::satfinite)) word |= 1u << 11;
    if (n.has(Modifier::relu)) word |= 1u << 12;
    if (n.has(Modifier::sat)) word |= 1u << 13;
    if (n.has(Modifier::ftz)) word |= 1u << 14;
    return static_cast<std::uint16_t>(word);
}

// How setp and set combine the comparison with their predicate operand: see handlers/comparison.cpp.
std::uint16_t boolean_operation(const Instruction& n) {
    if (n.has(Modifier::and_)) return 1;
    if (n.has(Modifier::or_)) return 2;
    return n.has(Modifier::xor_) ? 3 : 0;
}

// One bit per priority that a cache policy names.
std::uint16_t policy_priorities(const Instruction& n) {
    return static_cast<std::uint16_t>(
        (n.has(Modifier::l2_evict_first) ? 1u : 0u) | (n.has(Modifier::l2_evict_last) ? 2u : 0u) |
        (n.has(Modifier::l2_evict_normal) ? 4u : 0u) | (n.has(Modifier::l2_evict_unchanged) ? 8u : 0u));
}

// What `set` writes for true.
std::int64_t true_value(Type type) {
    switch (type) {
        case Type::f32:
            return 0x3F800000;
        case Type::f16:
        case Type::f16x2:
            return 0x3C00;
        case Type::bf16:
        case Type::bf16x2:
            return 0x3F80;
        case Type::u16:
        case Type::s16:
            return 0xFFFF;
        default:
            return 0xFFFFFFFF;
    }
}

bool accesses_memory(const Instruction& n) {
    if (is_asynchronous(n)) {
        return n.has(Modifier::mbarrier) || (n.opcode == Opcode::mbarrier && !n.has(Modifier::pending_count));
    }
    switch (n.opcode) {
        case Opcode::ld:
            return !(n.space == StateSpace::parameter && n.operands[1].base == Operand::Kind::parameter);
        case Opcode::ldu:
        case Opcode::st:
        case Opcode::atom:
        case Opcode::red:
        case Opcode::ldmatrix:
        case Opcode::stmatrix:
        case Opcode::prefetchu:
        case Opcode::tex:
        case Opcode::tld4:
        case Opcode::suld:
        case Opcode::sust:
        case Opcode::sured:
            return true;
        case Opcode::prefetch:
            return !n.has(Modifier::tensormap);
        case Opcode::cp:
            return !n.operands.empty() && n.operands[0].kind == Operand::Kind::address;
        case Opcode::wmma:
            return is_fragment_load(n) || is_fragment_store(n);
        default:
            return false;
    }
}

std::uint32_t alignment_of(const Instruction& n) {
    const Operand& given = n.operands[2];
    if (given.kind != Operand::Kind::immediate) return 0;
    constexpr std::uint64_t kLargest = 1u << 23;  // PTX manual, "alloca"
    if (!std::has_single_bit(given.bits) || given.bits > kLargest)
        refuse("an alignment of " + std::to_string(given.bits), "use a power of two up to 2^23");
    return static_cast<std::uint32_t>(given.bits);
}

// mma of narrow formats: A in bits 0 to 3, B in 4 to 7 as numerics::Format; scales of ue4m3 in 8, for 16 elements in 9; f16 results in 10.
std::uint16_t narrow_product(const Instruction& n) {
    const MatrixTypes types = matrix_types(n);
    const auto code = [](Type type) { return static_cast<unsigned>(*matrix_format(type)); };
    const bool scales_of_4 = n.type(4) == Type::ue4m3, sixteen = n.has(Modifier::scale_vec_4);
    return static_cast<std::uint16_t>(code(types.a) | code(types.b) << 4 | (scales_of_4 ? 1u << 8 : 0u) | (sixteen ? 1u << 9 : 0u) | (types.d == Type::f16 ? 1u << 10 : 0u));
}

void check_sparsity_selector(const Instruction& n) {
    if (!is_sparse_multiply(n)) return;
    const unsigned choices = metadata_choices(n);
    if (n.operands.back().bits >= choices) {
        refuse("the sparsity selector is " + std::to_string(n.operands.back().bits),
               choices == 1 ? "it must be 0 for this shape"
                            : "it must be 0 to " + std::to_string(choices - 1) + " for this shape");
    }
}

void set_copy_details(const Instruction& n, DecodedInstruction& decoded) {
    if (!accesses_memory(n)) return;
    const unsigned bytes = decoded.immediate;
    const bool good = n.has(Modifier::cg) ? bytes == 16 : bytes == 4 || bytes == 8 || bytes == 16;
    if (!good) {
        refuse("cp.async cannot copy " + std::to_string(bytes) + " bytes",
               ".ca copies 4, 8 or 16 bytes, .cg 16");
    }
    decoded.immediate = static_cast<std::uint16_t>(bytes << 8);
}

// Slots: barrier, thread count, and for bar.red the destination and the predicate. `immediate`: see
// control.cpp.
void set_barrier_details(const Instruction& n, DecodedInstruction& decoded) {
    if (n.has(Modifier::warp) || n.has(Modifier::cluster)) return;
    const auto given = decoded.operand;
    if (n.has(Modifier::arrive)) decoded.immediate = 1;
    if (!n.has(Modifier::red)) return;
    decoded.immediate = n.has(Modifier::popc) ? 2 : n.has(Modifier::and_) ? 3 : 4;
    const bool counted = n.operands.size() == 4;
    decoded.operand.fill(kAbsent);
    decoded.operand[0] = given[1];
    decoded.operand[1] = counted ? given[2] : kAbsent;
    decoded.operand[2] = given[0];
    decoded.operand[3] = given[counted ? 3 : 2];
}

unsigned element_bits(const Instruction& n, const Operand& operand) {
    if (operand.kind == Operand::Kind::reg || operand.kind == Operand::Kind::special) {
        return std::max(16u, bits_of(operand.type));
    }
    return std::max(16u, bits_of(n.type()));
}

}  // namespace

std::uint64_t window_of(StateSpace space) {
    switch (space) {
        case StateSpace::shared:
        case StateSpace::shared_cluster:
            return kSharedWindow;
        case StateSpace::local:
            return kLocalWindow;
        case StateSpace::constant:
            return kConstantWindow;
        case StateSpace::parameter:
            return kParameterWindow;
        default:
            return kGlobalWindow;
    }
}

void set_instruction_details(const Instruction& n, DecodedInstruction& decoded) {
    if (is_asynchronous(n)) {
        decoded.offset = std::bit_cast<std::int64_t>(async_details(n));
        decoded.accesses = accesses_memory(n);
        return;
    }
    if (is_video(n)) {
        if (const std::string problem = check_video(n); !problem.empty()) refuse(problem, "");
        const VideoDetails details = video_details(n);
        decoded.target = pack_video_operation(details);
        decoded.offset = std::bit_cast<std::int64_t>(pack_video_selectors(details));
        return;
    }
    if (is_texture_instruction(n)) {
        decoded.target = std::bit_cast<std::uint32_t>(texture_operation(n, register_bits(n)));
        decoded.accesses = accesses_memory(n);
        return;
    }
    const auto space =
        static_cast<std::uint16_t>(n.space == StateSpace::none ? StateSpace::generic : n.space);
    switch (n.opcode) {
        case Opcode::setp:
            decoded.immediate = boolean_operation(n);
            break;
        case Opcode::set:
            decoded.offset = true_value(n.type());
            decoded.immediate = boolean_operation(n);
            break;
        case Opcode::slct:
            decoded.immediate = n.has(Modifier::ftz) ? 1 : 0;
            break;
        case Opcode::cvt:
            decoded.immediate = conversion_immediate(n);
            break;
        case Opcode::ld:
        case Opcode::ldu:
        case Opcode::st:
        case Opcode::atom:
        case Opcode::red:
        case Opcode::ldmatrix:
        case Opcode::stmatrix:
            decoded.immediate = space;
            break;
        case Opcode::wmma:
            if (accesses_memory(n)) decoded.immediate = space;
            break;
        case Opcode::mma:
            check_sparsity_selector(n);
            if (n.has(Modifier::kind_f8f6f4) || n.has(Modifier::block_scale)) decoded.immediate = narrow_product(n);
            break;
        case Opcode::alloca:
            decoded.target = alignment_of(n);
            break;
        case Opcode::createpolicy:
            decoded.immediate = policy_priorities(n);
            break;
        case Opcode::cp:
            set_copy_details(n, decoded);
            break;
        case Opcode::cvta: {
            const std::uint64_t window = n.space == StateSpace::global ? 0 : window_of(n.space);
            decoded.offset = static_cast<std::int64_t>(n.has(Modifier::to) ? ~window + 1 : window);
            break;
        }
        case Opcode::isspacep:
            decoded.offset = static_cast<std::int64_t>(window_of(n.space));
            break;
        case Opcode::bar:
        case Opcode::barrier:
            set_barrier_details(n, decoded);
            break;
        case Opcode::wgmma:
            set_warpgroup_details(n, decoded);
            break;
        case Opcode::prmt:
        default:
            break;
    }
    decoded.accesses = accesses_memory(n);
}

void check_clock(const Instruction& n) {
    const auto reads_clock = [](const Operand& operand) {
        return operand.kind == Operand::Kind::special &&
               is_clock(static_cast<SpecialRegister>(operand.index));
    };
    for (std::size_t o = 0; o < n.operands.size(); ++o) {
        const Operand& operand = n.operands[o];
        const bool inside = std::any_of(operand.elements.begin(), operand.elements.end(), reads_clock);
        const bool moved = n.opcode == Opcode::mov && bits_of(n.type()) == bits_of(operand.type);
        if (inside || (reads_clock(operand) && !moved))
            refuse("the clock is read by mov alone", "move it to a register first");
    }
}

unsigned register_bits(const Instruction& n) {
    std::size_t which = n.opcode == Opcode::st || n.opcode == Opcode::sust ? 1 : 0;
    if (which >= n.operands.size()) return 32;
    const Operand* operand = &n.operands[which];
    if (operand->kind == Operand::Kind::vector) {
        // Elements may be sinks or constants: the widest register decides, they must agree.
        unsigned bits = 0;
        for (const Operand& element : operand->elements) bits = std::max(bits, element_bits(n, element));
        return bits;
    }
    return element_bits(n, *operand);
}

void check_register_widths(const Instruction& n) {
    for (const Operand& operand : n.operands) {
        const bool may_be_wider = n.opcode == Opcode::ld || n.opcode == Opcode::st || n.opcode == Opcode::suld ||
                                  n.opcode == Opcode::sust;
        if (operand.kind != Operand::Kind::vector || !may_be_wider) continue;
        const unsigned bits = register_bits(n);
        for (const Operand& element : operand.elements) {
            if (element.kind == Operand::Kind::reg && element_bits(n, element) != bits) {
                refuse("the registers of a vector differ in width", "use registers of one type");
            }
        }
    }
}

}  // namespace heddle::ptx
