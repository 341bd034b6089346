#include "isa/ptx/instruction_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <vector>

#include "isa/ptx/forms/async.h"
#include "isa/ptx/forms/comparison.h"
#include "isa/ptx/forms/control.h"
#include "isa/ptx/forms/conversion.h"
#include "isa/ptx/forms/float.h"
#include "isa/ptx/forms/half.h"
#include "isa/ptx/forms/integer.h"
#include "isa/ptx/forms/logic.h"
#include "isa/ptx/forms/machine_code.h"
#include "isa/ptx/forms/matrix.h"
#include "isa/ptx/forms/memory.h"
#include "isa/ptx/forms/move.h"
#include "isa/ptx/forms/tcgen05.h"
#include "isa/ptx/forms/texture.h"
#include "isa/ptx/forms/video.h"
#include "isa/ptx/forms/warp.h"
#include "isa/ptx/forms/wgmma.h"

namespace heddle::ptx {
namespace {

template <std::size_t... kSizes>
constexpr auto join(const InstructionForm (&... parts)[kSizes]) {
    std::array<InstructionForm, (kSizes + ...)> all{};
    std::size_t next = 0;
    (std::copy(parts, parts + kSizes, all.begin() + (next += kSizes) - kSizes), ...);
    return all;
}

// In the order for readers.
constexpr auto kTable =
    join(forms::kIntegerForms, forms::kLogicForms, forms::kComparisonForms, forms::kFloatForms,
         forms::kHalfForms, forms::kConversionForms, forms::kMoveForms, forms::kMemoryForms,
         forms::kMatrixForms, forms::kWarpForms, forms::kControlForms, forms::kWgmmaForms, forms::kMemoryBarrierForms, forms::kBulkCopyForms,
         forms::kTensorMapForms, forms::kTensorMemoryForms, forms::kVideoForms, forms::kTextureForms, forms::kMachineForms);

constexpr std::size_t kTableSize = kTable.size();

struct OpcodeIndex {
    std::array<InstructionForm, kTableSize> forms;
    std::array<std::uint16_t, kOpcodeCount + 1> first;
};

// The table above is ordered for readers; this is its stable sort by opcode.
constexpr OpcodeIndex build_index() {
    OpcodeIndex index{};
    std::size_t next = 0;
    for (std::size_t code = 0; code < kOpcodeCount; ++code) {
        index.first[code] = static_cast<std::uint16_t>(next);
        for (const InstructionForm& form : kTable) {
            if (static_cast<std::size_t>(form.opcode) == code) index.forms[next++] = form;
        }
    }
    index.first[kOpcodeCount] = static_cast<std::uint16_t>(next);
    return index;
}
constexpr OpcodeIndex kIndex = build_index();

StateSpace space_named(std::string_view word) {
    if (word == "global") return StateSpace::global;
    if (word == "shared" || word == "shared::cta") return StateSpace::shared;
    if (word == "shared::cluster") return StateSpace::shared_cluster;
    if (word == "local") return StateSpace::local;
    if (word == "param" || word == "param::entry" || word == "param::func") return StateSpace::parameter;
    if (word == "const") return StateSpace::constant;
    return StateSpace::none;
}

Modifier modifier_named(std::string_view word) {
    for (std::size_t i = 1; i < kModifierCount; ++i) {
        if (name_of(static_cast<Modifier>(i)) == word) return static_cast<Modifier>(i);
    }
    return Modifier::none;
}

// Reads `letter` and a number from the start of `word`, which moves past them.
bool take_number(std::string_view& word, char letter, std::uint16_t& number) {
    if (word.empty() || word.front() != letter) return false;
    const char* const end = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data() + 1, end, number);
    if (error != std::errc()) return false;
    word = std::string_view(rest, static_cast<std::size_t>(end - rest));
    return true;
}

// "m64n8k16"; "m8n8" has no depth.
bool parse_shape(std::string_view word, MatrixShape& shape) {
    MatrixShape parsed;
    if (!take_number(word, 'm', parsed.rows) || !take_number(word, 'n', parsed.columns)) return false;
    if (!word.empty() && !take_number(word, 'k', parsed.depth)) return false;
    if (!word.empty()) return false;
    shape = parsed;
    return true;
}

// Whether `word` is a shape that `alternative` describes, which has N or I for the columns.
bool shape_fits(std::string_view alternative, std::string_view word) {
    const std::size_t place = alternative.find_first_of("NI");
    if (place == std::string_view::npos || alternative.front() != 'm') return false;
    MatrixShape shape;
    if (!parse_shape(word, shape) || shape.columns == 0 || shape.columns > 256) return false;
    const bool integer = alternative[place] == 'I' && shape.columns > 32;
    if (shape.columns % (integer ? 16 : 8) != 0) return false;
    const std::string columns = std::to_string(shape.columns);
    return word ==
           std::string(alternative.substr(0, place)) + columns + std::string(alternative.substr(place + 1));
}

// Whether `word` is one of the alternatives of `group` ("rn|rz").
bool listed(std::string_view group, std::string_view word) {
    std::size_t start = 0;
    while (start <= group.size()) {
        const std::size_t bar = std::min(group.find('|', start), group.size());
        const std::string_view alternative = group.substr(start, bar - start);
        if (alternative == word || shape_fits(alternative, word)) return true;
        start = bar + 1;
    }
    return false;
}

void record(std::string_view suffix, Instruction& instruction) {
    if (const StateSpace space = space_named(suffix); space != StateSpace::none) {
        (instruction.space == StateSpace::none ? instruction.space : instruction.second_space) = space;
    } else if (const Type type = type_named(suffix); type != Type::none) {
        instruction.types.push_back(type);
    } else {
        parse_shape(suffix, instruction.shape);
        const Modifier modifier = modifier_named(suffix);
        if (modifier != Modifier::none) instruction.modifiers.set(static_cast<std::size_t>(modifier));
    }
}

// Suffixes that mean something else in another order, by what they tell; none for modifiers, which are a set.
enum class Sequence { none, type, space, layout };
Sequence sequence_of(std::string_view suffix) {
    if (type_named(suffix) != Type::none) return Sequence::type;
    if (space_named(suffix) != StateSpace::none) return Sequence::space;
    return suffix == "row" || suffix == "col" ? Sequence::layout : Sequence::none;
}

// Whether types, state spaces and layouts each have the same order in both.
bool same_sequences(std::span<const std::string_view> a, std::span<const std::string_view> b) {
    for (const Sequence sequence : {Sequence::type, Sequence::space, Sequence::layout}) {
        std::vector<std::string_view> of_a, of_b;
        const auto belongs = [&](std::string_view suffix) { return sequence_of(suffix) == sequence; };
        std::copy_if(a.begin(), a.end(), std::back_inserter(of_a), belongs);
        std::copy_if(b.begin(), b.end(), std::back_inserter(of_b), belongs);
        if (of_a != of_b) return false;
    }
    return true;
}

// The word of `list` at `position`, which moves past it; "" at the end.
std::string_view next_word(std::string_view list, std::size_t& position) {
    while (position < list.size() && list[position] == ' ') ++position;
    const std::size_t end = std::min(list.find(' ', position), list.size());
    const std::string_view word = list.substr(position, end - position);
    position = end;
    return word;
}

OperandPattern parse_pattern(std::string_view word, const Instruction& instruction) {
    OperandPattern pattern;
    for (;; word.remove_prefix(1)) {
        const char c = word.front();
        if (c == '=')
            pattern.written = true;
        else if (c == '+')
            pattern.written = pattern.updated = true;
        else if (c == '~')
            pattern.wider = true;
        else if (c == '|')
            pattern.paired = true;
        else if (c == '!')
            pattern.may_negate = true;
        else if (c == '@')
            pattern.may_be_variable = true;
        else if (c == '$')
            pattern.may_select = true;
        else if (c == '-')
            pattern.may_have_minus = true;
        else
            break;
    }
    if (word.back() == '?') {
        pattern.optional = true;
        word.remove_suffix(1);
    }
    if (const std::size_t star = word.find('*'); star != std::string_view::npos) {
        const bool columns = word.substr(star + 1).starts_with("n/");
        std::from_chars(word.data() + star + (columns ? 3 : 1), word.data() + word.size(), pattern.elements);
        if (columns)
            pattern.elements = static_cast<std::uint16_t>(instruction.shape.columns / pattern.elements);
        word = word.substr(0, star);
    } else if (word.back() == 'v') {
        pattern.elements = instruction.has(Modifier::v2)   ? 2
                           : instruction.has(Modifier::v4) ? 4
                           : instruction.has(Modifier::v8) ? 8
                                                           : 0;
        word.remove_suffix(1);
    } else if (word.back() == 'x') {
        pattern.elements = instruction.has(Modifier::x1) ? 1 : instruction.has(Modifier::x2) ? 2 : 4;
        word.remove_suffix(1);
    }
    pattern.coordinates = word == "[{";
    pattern.vector = pattern.elements != 0 && !pattern.coordinates;
    if (word == "[" || word == "[{")
        pattern.address = true;
    else if (word == "label")
        pattern.label = true;
    else if (word == "imm")
        pattern.constant = true;
    else if (word == "cc")
        pattern.carry = true;
    else if (word == "w")
        pattern.doubled = true;
    else if (word == "hint")
        pattern.type = Type::b64;
    else if (word.size() == 1)
        pattern.type_suffix = static_cast<std::uint8_t>(word[0] - '0');
    else
        pattern.type = type_named(word);
    return pattern;
}

Type twice(Type type) {
    switch (type) {
        case Type::u16:
            return Type::u32;
        case Type::s16:
            return Type::s32;
        case Type::u32:
            return Type::u64;
        default:
            return Type::s64;
    }
}

}  // namespace

std::span<const InstructionForm> instruction_table() {
    return kIndex.forms;
}

std::span<const InstructionForm> forms_of(Opcode opcode) {
    const auto code = static_cast<std::size_t>(opcode);
    return std::span(kIndex.forms).subspan(kIndex.first[code], kIndex.first[code + 1] - kIndex.first[code]);
}

std::size_t operand_patterns(const InstructionForm& form, const Instruction& instruction,
                             std::span<OperandPattern> patterns) {
    std::size_t count = 0, position = 0;
    while (count < patterns.size()) {
        const std::string_view word = next_word(form.operands, position);
        if (word.empty()) break;
        if (word == "hint" && !instruction.has(Modifier::cache_hint)) continue;
        OperandPattern& pattern = patterns[count++] = parse_pattern(word, instruction);
        if (!pattern.vector && pattern_type(pattern, instruction) == Type::b128) {  // kept as two .b64
            pattern.vector = true;
            pattern.elements = 2;
            pattern.type = Type::b64;
            pattern.type_suffix = 0xFF;
        }
    }
    return count;
}

Type pattern_type(const OperandPattern& pattern, const Instruction& instruction) {
    if (pattern.carry) return Type::pred;
    if (pattern.doubled) return twice(instruction.type());
    if (pattern.type_suffix != 0xFF) return instruction.type(pattern.type_suffix);
    return pattern.type;
}

bool match_suffixes(const InstructionForm& form, std::span<const std::string_view> suffixes,
                    Instruction& instruction) {
    std::size_t used = 0, position = 0;
    for (;;) {
        std::string_view group = next_word(form.suffixes, position);
        if (group.empty()) break;
        const bool optional = group.back() == '?';
        if (optional) group.remove_suffix(1);
        if (used < suffixes.size() && listed(group, suffixes[used])) {
            ++used;
        } else if (!optional) {
            return false;
        }
    }
    if (used != suffixes.size()) return false;
    instruction.modifiers.reset();
    instruction.types.clear();
    instruction.space = instruction.second_space = StateSpace::none;
    instruction.shape = {};
    for (const std::string_view suffix : suffixes) record(suffix, instruction);
    return true;
}

bool match_reordered(const InstructionForm& form, std::span<const std::string_view> suffixes,
                     Instruction& instruction) {
    std::vector<std::string_view> rest(suffixes.begin(), suffixes.end()), ordered;
    std::size_t position = 0;
    for (std::string_view group = next_word(form.suffixes, position); !group.empty();
         group = next_word(form.suffixes, position)) {
        if (group.back() == '?') group.remove_suffix(1);
        const auto found = std::find_if(rest.begin(), rest.end(),
                                        [&](std::string_view suffix) { return listed(group, suffix); });
        if (found == rest.end()) continue;
        ordered.push_back(*found);
        rest.erase(found);
    }
    return rest.empty() && same_sequences(suffixes, ordered) && match_suffixes(form, ordered, instruction);
}

}  // namespace heddle::ptx
