#include "isa/ptx/decode/decoder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <span>

#include "isa/common/error.h"
#include "isa/numerics/formats.h"
#include "isa/ptx/decode/warpgroup_details.h"
#include "isa/ptx/handlers/handlers.h"
#include "isa/ptx/instruction_table.h"
#include "isa/ptx/machine/asynchronous.h"
#include "isa/ptx/matrix_instruction.h"
#include "isa/ptx/video_instruction.h"

namespace heddle::ptx {
namespace {

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
        case Type::e4m3x2:
            return numerics::Format::e4m3;
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

bool looks_for_change(const Instruction& n) {
    switch (n.opcode) {
        case Opcode::atom:
        case Opcode::nanosleep:
        case Opcode::mbarrier:
            return true;
        case Opcode::ld:
            return n.has(Modifier::volatile_) || n.has(Modifier::relaxed) || n.has(Modifier::acquire) ||
                   n.has(Modifier::cv);
        default:
            return false;
    }
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

class Decoder {
  public:
    Decoder(const Kernel& kernel, const std::string& file_name, const Analysis& analysis, Mode mode)
        : kernel_(kernel), file_name_(file_name), analysis_(analysis), timing_(mode == Mode::timing) {}

    Program run() {
        std::vector<bool> used(kernel_.registers.size() + 1, true);
        if (timing_) used = analysis_.steering.registers;
        rows_ = assign_rows(kernel_, analysis_, used);
        scratch_ = static_cast<std::uint32_t>(rows_.bytes);
        program_.register_bytes = rows_.bytes + kWideRow;
        zero_ = add_constant(0, true);
        for (std::uint32_t i = 0; i < kernel_.instructions.size(); ++i)
            program_.code.push_back(decode_one(i));
        for (const Variable& variable : kernel_.variables) {
            if (variable.space == StateSpace::local)
                program_.frame_alignment = std::max(program_.frame_alignment, variable.alignment);
        }
        for (const CallSite& site : kernel_.calls) program_.calls.push_back(decode_call(site));
        for (std::size_t f = 0; f < kernel_.functions.size(); ++f)
            program_.functions.push_back(decode_function(f));
        program_.clear_registers = anything_live_at_entry(used) || !kernel_.functions.empty();
        return std::move(program_);
    }

  private:
    bool anything_live_at_entry(const std::vector<bool>& used) const {
        if (analysis_.flow.blocks.empty()) return false;
        const std::vector<bool>& live = analysis_.liveness.live_in[0];
        for (std::size_t r = 0; r < live.size(); ++r) {
            if (live[r] && used[r]) return true;
        }
        return false;
    }

    std::uint32_t add_constant(std::uint64_t bits, bool wide) {
        const auto [entry, inserted] = constants_.try_emplace({bits, wide}, 0);
        if (inserted) entry->second = append_constant(bits, wide);
        return entry->second;
    }

    std::uint32_t append_constant(std::uint64_t bits, bool wide) {
        const std::size_t offset = program_.constants.size() * sizeof(Line);
        program_.constants.resize(program_.constants.size() + (wide ? kWideRow : kNarrowRow) / sizeof(Line));
        auto* bytes = reinterpret_cast<std::byte*>(program_.constants.data()) + offset;
        const std::size_t size = wide ? 8 : 4;
        for (unsigned lane = 0; lane < kWarpSize; ++lane) std::memcpy(bytes + lane * size, &bits, size);
        return static_cast<std::uint32_t>(offset) | kConstantBank;
    }

    std::uint32_t register_row(std::uint32_t index, bool written) const {
        const std::uint32_t offset = rows_.offset[index];
        if (offset != kAbsent) return offset;
        return written ? scratch_ : zero_;
    }

    std::uint32_t special_row(SpecialRegister special) {
        for (const Program::SpecialRow& row : program_.specials) {
            if (row.special == special) return row.offset;
        }
        const auto offset = static_cast<std::uint32_t>(program_.register_bytes);
        program_.register_bytes += bits_of(type_of(special)) == 64 ? kWideRow : kNarrowRow;
        program_.specials.push_back({special, offset});
        return offset;
    }

    // The address of a variable or parameter, as a row of the width that the instruction wants.
    std::uint32_t address_row(const Operand& operand, bool wide) {
        if (operand.kind == Operand::Kind::parameter) {
            return add_constant(kernel_.parameters[operand.index].offset + operand.bits, wide);
        }
        const Variable& variable = kernel_.variables[operand.index];
        if (variable.space != StateSpace::global) return add_constant(variable.offset + operand.bits, wide);
        const std::uint32_t row = append_constant(0, true);
        program_.addresses.push_back({row & ~kConstantBank, variable.name, operand.bits});
        return row;
    }

    std::uint32_t operand_row(const Operand& operand, bool written) {
        switch (operand.kind) {
            case Operand::Kind::reg:
                return register_row(operand.index, written);
            case Operand::Kind::special:
                return special_row(static_cast<SpecialRegister>(operand.index));
            case Operand::Kind::immediate:
                if (operand.type == Type::pred) return add_constant(operand.bits != 0 ? kAllLanes : 0, false);
                return add_constant(operand.bits, bits_of(operand.type) > 32);
            case Operand::Kind::variable:
            case Operand::Kind::parameter:
                return address_row(operand, bits_of(operand.type) > 32);
            case Operand::Kind::sink:
                return scratch_;
            case Operand::Kind::vector: {
                const auto first = static_cast<std::uint32_t>(program_.elements.size());
                for (const Operand& element : operand.elements)
                    program_.elements.push_back(operand_row(element, written));
                return first;
            }
            default:
                return kAbsent;
        }
    }

    // An address operand: its row, its width, and the offset.
    std::uint32_t base_row(const Operand& operand, bool& wide, std::int64_t& offset) {
        offset = static_cast<std::int64_t>(operand.bits);
        wide = true;
        switch (operand.base) {
            case Operand::Kind::reg:
                wide = bits_of(operand.type) == 64;
                return register_row(operand.index, false);
            case Operand::Kind::variable: {
                Operand variable = operand;
                variable.kind = Operand::Kind::variable;
                variable.bits = 0;
                return address_row(variable, true);
            }
            case Operand::Kind::parameter:
                offset += kernel_.parameters[operand.index].offset;
                return zero_;
            default:
                return zero_;
        }
    }

    // See lane_address() in machine/lane_operands.h.
    std::uint32_t detached_address(const Instruction& n, const Operand& operand) {
        bool wide = false;
        std::int64_t offset = 0;
        std::uint32_t row = base_row(operand, wide, offset);
        if (operand.base == Operand::Kind::variable && n.space == StateSpace::none) {
            const Variable& variable = kernel_.variables[operand.index];
            row = add_constant(window_of(variable.space) + variable.offset, true);
        }
        const auto first = static_cast<std::uint32_t>(program_.elements.size());
        program_.elements.insert(program_.elements.end(),
                                 {row, wide ? 1u : 0u, static_cast<std::uint32_t>(offset)});
        return first;
    }

    DecodedInstruction decode_one(std::uint32_t index) {
        const Instruction& n = kernel_.instructions[index];
        DecodedInstruction decoded;
        if (n.guard >= 0) {
            decoded.guard = register_row(static_cast<std::uint32_t>(n.guard), false);
            decoded.guard_negated = n.guard_negated;
        }
        decoded.operand.fill(kAbsent);
        std::array<OperandPattern, kMaximumOperands> patterns;
        const std::size_t count = operand_patterns(*n.form, n, patterns);
        std::size_t slot = 0;
        for (std::size_t o = 0; o < count; ++o) {
            require_slot(n, slot, patterns[o]);
            if (patterns[o].carry) {
                decoded.operand[slot++] =
                    register_row(static_cast<std::uint32_t>(kernel_.registers.size()), patterns[o].written);
                continue;
            }
            slot += decode_operand(n, n.operands[o], patterns[o], slot, decoded);
        }
        check_clock(n);
        pack_immediates(n, std::span(patterns).first(count), decoded);
        set_details(n, decoded);
        if (n.opcode == Opcode::bra) decoded.immediate = waits_in_loop(index, decoded.target) ? 1 : 0;
        set_handler(index, n, decoded);
        if (n.opcode == Opcode::bra || n.opcode == Opcode::brx)
            decoded.reconvergence = analysis_.flow.reconvergence[index];
        if (n.opcode == Opcode::call || (n.opcode == Opcode::ret && !n.operands.empty()))
            decoded.target = static_cast<std::uint32_t>(n.operands[0].bits);
        if (n.opcode == Opcode::brx) {  // the targets go where the offsets of vectors are
            decoded.target = static_cast<std::uint32_t>(program_.elements.size());
            decoded.immediate = static_cast<std::uint16_t>(n.operands.size() - 1);
            for (std::size_t o = 1; o < n.operands.size(); ++o)
                program_.elements.push_back(n.operands[o].index);
        }
        return decoded;
    }

    void require_slot(const Instruction& n, std::size_t slot, const OperandPattern& pattern) const {
        const std::size_t slots = pattern.label || pattern.constant ? 0 : pattern.coordinates ? 2 : 1;
        if (slot + slots > DecodedInstruction{}.operand.size()) fail(n, "too many operands", "");
    }

    // The first constant operand goes to `immediate`, and all of them to `offset` where that is free.
    static void pack_immediates(const Instruction& n, std::span<const OperandPattern> patterns,
                                DecodedInstruction& decoded) {
        unsigned count = 0;
        std::uint64_t packed = 0;
        bool address = false;
        for (std::size_t o = 0; o < patterns.size(); ++o) {
            address = address || patterns[o].address;
            if (!patterns[o].constant || n.operands[o].kind != Operand::Kind::immediate) continue;
            if (count == 0) decoded.immediate = static_cast<std::uint16_t>(n.operands[o].bits);
            if (count < 8) packed |= (n.operands[o].bits & 0xFFu) << (8 * count);
            ++count;
        }
        if (count != 0 && !address) decoded.offset = static_cast<std::int64_t>(packed);
    }

    std::uint32_t coordinate_rows(const Operand& address) {
        const auto first = static_cast<std::uint32_t>(program_.elements.size());
        for (const Operand& coordinate : address.elements)
            program_.elements.push_back(operand_row(coordinate, false));
        return first;
    }

    // A function may do anything.
    bool calls_function(const Instruction& n) const {
        return n.opcode == Opcode::call && kernel_.calls[n.operands[0].bits].kind != CallSite::Kind::runtime;
    }

    // Whether a branch goes back round a loop that looks for a change made by others.
    bool waits_in_loop(std::uint32_t branch, std::uint32_t target) const {
        for (std::uint32_t i = target; i <= branch; ++i) {
            if (looks_for_change(kernel_.instructions[i]) || calls_function(kernel_.instructions[i]))
                return true;
        }
        return false;
    }

    // --- calls

    ValuePlace register_place(std::uint32_t index) const {
        ValuePlace place;
        const Type type = kernel_.registers[index].type;
        place.bytes = bytes_of(type);
        place.wide = bits_of(type) == 64;
        place.row = rows_.offset[index] == kAbsent ? ValuePlace::kNoRow : rows_.offset[index];
        return place;
    }

    std::vector<ValuePlace> places(const std::vector<Operand>& operands) const {
        std::vector<ValuePlace> result;
        for (const Operand& operand : operands) {
            if (operand.kind == Operand::Kind::reg) {
                result.push_back(register_place(operand.index));
                continue;
            }
            const Variable& variable = kernel_.variables[operand.index];
            ValuePlace& place = result.emplace_back();
            place.bytes = static_cast<std::uint32_t>(variable.bytes);
            place.local = true;
            place.offset = variable.offset;
        }
        return result;
    }

    DecodedCall decode_call(const CallSite& site) const {
        DecodedCall call;
        call.kind = site.kind;
        call.runtime = site.runtime;
        call.function = site.function;
        if (site.kind == CallSite::Kind::pointer) call.pointer = rows_.offset[site.pointer];
        call.results = places(site.results);
        call.arguments = places(site.arguments);
        call.result_bytes = site.result_bytes;
        call.argument_bytes = site.argument_bytes;
        call.caller = site.caller;
        call.silent = timing_ && !analysis_.steering.everything;
        return call;
    }

    DecodedFunction decode_function(std::size_t index) const {
        constexpr std::uint32_t kReturnAddress = 16;
        const std::uint32_t alignment = program_.frame_alignment;
        const CalledFunction& called = kernel_.functions[index];
        DecodedFunction function;
        function.name = called.name;
        function.address = called.address;
        function.first_instruction = called.first_instruction;
        function.frame = register_place(called.frame_register);
        function.frame_bytes = (called.frame_bytes + kReturnAddress + alignment - 1) / alignment * alignment;
        function.recursive = called.recursive;
        function.first_row = rows_.functions[index].start;
        function.first_narrow_row = rows_.functions[index].narrow;
        function.first_wide_row = rows_.functions[index].wide;
        function.end_row = rows_.functions[index].end;
        function.results = places(called.results);
        function.arguments = places(called.arguments);
        function.result_bytes = called.result_bytes;
        function.argument_bytes = called.argument_bytes;
        return function;
    }

    // Returns how many slots of DecodedInstruction::operand the operand takes.
    std::size_t decode_operand(const Instruction& n, const Operand& operand, const OperandPattern& pattern,
                               std::size_t slot, DecodedInstruction& decoded) {
        if (operand.kind == Operand::Kind::label) {
            decoded.target = operand.index;
            return 0;
        }
        if (pattern.constant) return 0;
        if (operand.kind == Operand::Kind::address && is_asynchronous(n)) {
            decoded.operand[slot] = detached_address(n, operand);
            if (!pattern.coordinates) return 1;
            decoded.operand[slot + 1] = coordinate_rows(operand);
            decoded.elements = static_cast<std::uint8_t>(operand.elements.size());
            return 2;
        }
        if (operand.kind == Operand::Kind::address) {
            bool wide = false;
            std::int64_t offset = 0;
            decoded.operand[slot] = base_row(operand, wide, offset);
            if (n.opcode == Opcode::cp && slot == 0) {  // the shared side
                decoded.wide_shared_address = wide;
                decoded.target = static_cast<std::uint32_t>(offset);
            } else {
                decoded.wide_address = wide;
                decoded.offset = offset;
            }
            if (!pattern.coordinates) return 1;
            decoded.operand[slot + 1] = coordinate_rows(operand);
            decoded.elements = static_cast<std::uint8_t>(operand.elements.size());
            return 2;
        }
        if (operand.kind == Operand::Kind::vector)
            decoded.elements = static_cast<std::uint8_t>(operand.elements.size());
        if (operand.negated) decoded.negated = true;
        decoded.operand[slot] = operand_row(operand, pattern.written);
        return 1;
    }

    void set_details(const Instruction& n, DecodedInstruction& decoded) {
        if (is_asynchronous(n)) {
            decoded.offset = std::bit_cast<std::int64_t>(async_details(n));
            decoded.accesses = accesses_memory(n);
            return;
        }
        if (is_video(n)) {
            if (const std::string problem = check_video(n); !problem.empty()) fail(n, problem, "");
            const VideoDetails details = video_details(n);
            decoded.target = pack_video_operation(details);
            decoded.offset = std::bit_cast<std::int64_t>(pack_video_selectors(details));
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
                set_warpgroup(n, decoded);
                break;
            case Opcode::prmt:
            default:
                break;
        }
        decoded.accesses = accesses_memory(n);
    }

    std::uint32_t alignment_of(const Instruction& n) const {
        const Operand& given = n.operands[2];
        if (given.kind != Operand::Kind::immediate) return 0;
        constexpr std::uint64_t kLargest = 1u << 23;  // PTX manual, "alloca"
        if (!std::has_single_bit(given.bits) || given.bits > kLargest)
            fail(n, "an alignment of " + std::to_string(given.bits), "use a power of two up to 2^23");
        return static_cast<std::uint32_t>(given.bits);
    }

    // The clock runs while a kernel does: it is read by a mov of its own.
    void check_clock(const Instruction& n) const {
        const auto is_clock = [](const Operand& operand) {
            if (operand.kind != Operand::Kind::special) return false;
            switch (static_cast<SpecialRegister>(operand.index)) {
                case SpecialRegister::clock:
                case SpecialRegister::clock_hi:
                case SpecialRegister::clock64:
                case SpecialRegister::globaltimer:
                case SpecialRegister::globaltimer_lo:
                case SpecialRegister::globaltimer_hi:
                    return true;
                default:
                    return false;
            }
        };
        for (std::size_t o = 0; o < n.operands.size(); ++o) {
            const Operand& operand = n.operands[o];
            const bool inside = std::any_of(operand.elements.begin(), operand.elements.end(), is_clock);
            const bool moved = n.opcode == Opcode::mov && bits_of(n.type()) == bits_of(operand.type);
            if (inside || (is_clock(operand) && !moved))
                fail(n, "the clock is read by mov alone", "move it to a register first");
        }
    }

    void set_warpgroup(const Instruction& n, DecodedInstruction& decoded) const {
        try {
            set_warpgroup_details(n, decoded);
        } catch (const Error& error) {
            fail(n, error.problem(), error.remedy());
        }
    }

    static bool accesses_memory(const Instruction& n) {
        if (is_asynchronous(n)) {
            return n.has(Modifier::mbarrier) ||
                   (n.opcode == Opcode::mbarrier && !n.has(Modifier::pending_count));
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

    void check_sparsity_selector(const Instruction& n) const {
        if (!is_sparse_multiply(n)) return;
        const unsigned choices = metadata_choices(n);
        if (n.operands.back().bits >= choices) {
            fail(n, "the sparsity selector is " + std::to_string(n.operands.back().bits),
                 choices == 1 ? "it must be 0 for this shape"
                              : "it must be 0 to " + std::to_string(choices - 1) + " for this shape");
        }
    }

    void set_copy_details(const Instruction& n, DecodedInstruction& decoded) {
        if (!accesses_memory(n)) return;
        const unsigned bytes = decoded.immediate;
        const bool good = n.has(Modifier::cg) ? bytes == 16 : bytes == 4 || bytes == 8 || bytes == 16;
        if (!good) {
            fail(n, "cp.async cannot copy " + std::to_string(bytes) + " bytes",
                 ".ca copies 4, 8 or 16 bytes, .cg 16");
        }
        decoded.immediate = static_cast<std::uint16_t>(bytes << 8);
    }

    // Slots: barrier, thread count, and for bar.red the destination and the predicate. `immediate`: see
    // control.cpp.
    static void set_barrier_details(const Instruction& n, DecodedInstruction& decoded) {
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

    // The width of the register on the other side of memory or of a conversion.
    static unsigned register_bits(const Instruction& n) {
        std::size_t which = n.opcode == Opcode::st ? 1 : 0;
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
    static unsigned element_bits(const Instruction& n, const Operand& operand) {
        if (operand.kind == Operand::Kind::reg || operand.kind == Operand::Kind::special) {
            return std::max(16u, bits_of(operand.type));
        }
        return std::max(16u, bits_of(n.type()));
    }

    void require_equal_widths(const Instruction& n) const {
        for (const Operand& operand : n.operands) {
            if (operand.kind != Operand::Kind::vector || (n.opcode != Opcode::ld && n.opcode != Opcode::st))
                continue;
            const unsigned bits = register_bits(n);
            for (const Operand& element : operand.elements) {
                if (element.kind == Operand::Kind::reg && element_bits(n, element) != bits) {
                    fail(n, "the registers of a vector differ in width", "use registers of one type");
                }
            }
        }
    }

    void set_handler(std::uint32_t index, const Instruction& n, DecodedInstruction& decoded) {
        require_equal_widths(n);
        HandlerRequest request;
        request.register_bits = register_bits(n);
        request.evaluate = !timing_ || analysis_.steering.evaluated[index];
        if (!request.evaluate && !decoded.accesses && !synchronizes_lanes(n) && !is_asynchronous(n)) return;
        try {
            decoded.handler = select_handler(n, request);
        } catch (const Error& error) {
            fail(n, error.problem(), error.remedy());
        }
    }

    [[noreturn]] void fail(const Instruction& n, const std::string& problem,
                           const std::string& remedy) const {
        throw Error(problem, {file_name_, n.line, kernel_.name}, remedy);
    }

    const Kernel& kernel_;
    const std::string& file_name_;
    const Analysis& analysis_;
    bool timing_;
    RowAssignment rows_;
    std::uint32_t scratch_ = 0;  // written and never read
    std::uint32_t zero_ = 0;     // what registers that steer nothing read as
    std::map<std::pair<std::uint64_t, bool>, std::uint32_t> constants_;
    Program program_;
};

}  // namespace

Program decode(const Kernel& kernel, const std::string& file_name, const Analysis& analysis, Mode mode) {
    return Decoder(kernel, file_name, analysis, mode).run();
}

}  // namespace heddle::ptx
