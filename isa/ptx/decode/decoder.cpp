#include "isa/ptx/decode/decoder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <span>

#include "isa/common/error.h"
#include "isa/ptx/decode/instruction_details.h"
#include "isa/ptx/handlers/handlers.h"
#include "isa/ptx/instruction_table.h"
#include "isa/ptx/machine/asynchronous.h"
#include "isa/ptx/machine/tensor_access.h"

namespace heddle::ptx {
namespace {

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

// mma with block scales has one operand more than there are slots.
constexpr std::size_t kScaleSlots = 7;
bool takes_block_scales(const Instruction& n) {
    return n.opcode == Opcode::mma && n.has(Modifier::block_scale);
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
        looks_before_.assign(1, 0);
        for (const Instruction& n : kernel_.instructions)
            looks_before_.push_back(looks_before_.back() +
                                    (looks_for_change(n) || calls_function(n) ? 1 : 0));
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
        bool any = false;
        analysis_.liveness.live_in[0].for_each([&](std::uint32_t r) { any = any || used[r]; });
        return any;
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
        for (std::size_t o = 0; o < count && !is_tensor_memory(n); ++o) {
            require_slot(n, slot, patterns[o]);
            if (patterns[o].carry) {
                decoded.operand[slot++] =
                    register_row(static_cast<std::uint32_t>(kernel_.registers.size()), patterns[o].written);
                continue;
            }
            slot += decode_operand(n, n.operands[o], patterns[o], slot, decoded);
        }
        located(n, [&] { check_clock(n); });
        if (is_tensor_memory(n)) {
            decode_tensor_memory(n, decoded);
            set_handler(index, n, decoded);
            return decoded;
        }
        pack_immediates(n, std::span(patterns).first(count), decoded);
        located(n, [&] { set_instruction_details(n, decoded); });
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

    // See TensorOperand in machine/tensor_access.h. Rows of vectors come first, so that the words lie together.
    void decode_tensor_memory(const Instruction& n, DecodedInstruction& decoded) {
        std::vector<std::uint32_t> words;
        std::array<OperandPattern, kMaximumOperands> patterns;
        const std::size_t count = operand_patterns(*n.form, n, patterns);
        for (std::size_t o = 0; o < count; ++o) {
            const Operand& operand = n.operands[o];
            if (operand.kind == Operand::Kind::none || patterns[o].constant) continue;
            bool wide = false;
            std::int64_t offset = 0;
            std::uint32_t row = 0, second = 0;
            if (operand.kind == Operand::Kind::address) {
                row = base_row(operand, wide, offset);
                second = wide ? 1 : 0;
            } else {
                row = operand_row(operand, patterns[o].written);
                if (operand.kind == Operand::Kind::vector)
                    second = static_cast<std::uint32_t>(operand.elements.size());
                else
                    second = bits_of(operand.type) == 64 ? 1 : 0;
                if (operand.negated) decoded.negated = true;
            }
            words.insert(words.end(), {row, second, static_cast<std::uint32_t>(offset)});
        }
        decoded.operand[0] = static_cast<std::uint32_t>(program_.elements.size());
        program_.elements.insert(program_.elements.end(), words.begin(), words.end());
        located(n, [&] {
            decoded.offset = std::bit_cast<std::int64_t>(tensor_details(n));
            decoded.immediate = product_scale(n);
            decoded.accesses = n.has(Modifier::alloc);  // it writes the address that it gives
        });
    }

    void require_slot(const Instruction& n, std::size_t slot, const OperandPattern& pattern) const {
        if (takes_block_scales(n) && slot == kScaleSlots) return;  // it goes to `target`
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
        return target <= branch && looks_before_[branch + 1] != looks_before_[target];
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
        const std::uint32_t row = operand_row(operand, pattern.written);
        (takes_block_scales(n) && slot == kScaleSlots ? decoded.target : decoded.operand[slot]) = row;
        return 1;
    }

    void set_handler(std::uint32_t index, const Instruction& n, DecodedInstruction& decoded) {
        located(n, [&] { check_register_widths(n); });
        HandlerRequest request;
        request.register_bits = register_bits(n);
        request.evaluate = !timing_ || analysis_.steering.evaluated[index];
        if (is_tensor_memory(n)) {
            located(n, [&] { decoded.handler = select_tensor_memory(n, !timing_ || analysis_.steering.everything); });
            return;
        }
        if (!request.evaluate && !decoded.accesses && !synchronizes_lanes(n) && !is_asynchronous(n)) return;
        located(n, [&] { decoded.handler = select_handler(n, request); });
    }

    /// Problems of an instruction get its line.
    template <class Check>
    void located(const Instruction& n, Check check) const {
        try {
            check();
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
    std::vector<std::uint32_t> looks_before_;  // [instruction] earlier ones that look for a change, or call
    Program program_;
};

}  // namespace

Program decode(const Kernel& kernel, const std::string& file_name, const Analysis& analysis, Mode mode) {
    return Decoder(kernel, file_name, analysis, mode).run();
}

}  // namespace heddle::ptx
