#include "isa/sass/decode_table.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace heddle::sass {
namespace {

const char kDecodeRows[] =
#include "isa/sass/encoding/decode_rows.inc"
    ;

/// What of an operand a field says.
enum class Member : std::uint8_t { index, base, uniform_base, descriptor, bank, value, negated, inverted, absolute };

/// How the bits of a field are read.
enum class Reading : std::uint8_t { plain, uniform, is_signed, times_four, relative, relative_times_four, split_relative, split_absolute };

struct Field {
    std::uint8_t operand = 0;
    Member member = Member::index;
    Reading reading = Reading::plain;
    std::uint8_t position = 0, width = 0;
    std::uint8_t reuse = 0;  ///< bit of the mark that the register's bank keeps it; 0: there is none
};

struct DecodeRow {
    std::array<std::uint64_t, 2> mask{}, value{};
    OperandKind guard = OperandKind::none;
    Instruction sample;
    std::vector<Field> fields;
    bool claims(const std::array<std::uint64_t, 2>& code) const {
        return (code[0] & mask[0]) == value[0] && (code[1] & mask[1]) == value[1];
    }
};

constexpr std::size_t kOpcodes = 4096;  // bits 0 to 11
using Rows = std::array<std::vector<std::shared_ptr<const DecodeRow>>, kOpcodes>;

std::string_view take_until(std::string_view& text, char end) {
    const std::size_t size = std::min(text.find(end), text.size());
    const std::string_view head = text.substr(0, size);
    text.remove_prefix(std::min(size + 1, text.size()));
    return head;
}

std::int64_t table_number(std::string_view text) {
    const bool negative = text.starts_with('-');
    std::uint64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data() + (negative ? 1 : 0), text.data() + text.size(), value);
    if (problem != std::errc{} || end != text.data() + text.size())
        throw std::logic_error("the decoder's table has " + std::string(text) + " where a number belongs");
    return static_cast<std::int64_t>(negative ? ~value + 1 : value);
}

std::array<std::uint64_t, 2> table_word(std::string_view text) {
    std::array<std::uint64_t, 2> word{};
    const std::size_t low = std::min<std::size_t>(text.size(), 16);
    std::from_chars(text.data() + text.size() - low, text.data() + text.size(), word[0], 16);
    std::from_chars(text.data(), text.data() + text.size() - low, word[1], 16);
    return word;
}

Member member_named(std::string_view name) {
    constexpr std::array<std::string_view, 9> kNames = {"index", "base", "uniform_base", "descriptor", "bank", "value", "negated", "inverted", "absolute"};
    for (std::size_t i = 0; i < kNames.size(); ++i)
        if (kNames[i] == name) return static_cast<Member>(i);
    throw std::logic_error("the decoder's table has the unknown member " + std::string(name));
}

void set_member(Operand& operand, Member member, std::int64_t value) {
    switch (member) {
        case Member::index:
            operand.index = static_cast<std::uint16_t>(value);
            break;
        case Member::base:
            operand.base = static_cast<std::uint16_t>(value);
            break;
        case Member::uniform_base:
            operand.uniform_base = static_cast<std::uint16_t>(value);
            break;
        case Member::descriptor:
            operand.descriptor = static_cast<std::uint16_t>(value);
            break;
        case Member::bank:
            operand.bank = static_cast<std::uint8_t>(value);
            break;
        case Member::value:
            operand.value = value;
            break;
        case Member::negated:
            operand.negated = value != 0;
            break;
        case Member::inverted:
            operand.inverted = value != 0;
            break;
        case Member::absolute:
            operand.absolute = value != 0;
            break;
    }
}

/// The bit that marks an operand's register for reuse, by where the register stands; 0: it has none.
std::uint8_t reuse_bit(const Field& field, const Operand& operand) {
    if (field.member != Member::index || operand.kind != OperandKind::general || field.width != 8) return 0;
    return field.position == 24 ? 122 : field.position == 32 ? 123 : field.position == 64 ? 124 : 0;
}

void read_field(std::string_view text, DecodeRow& row) {
    Field field;
    const std::string_view number = take_until(text, '.');
    field.operand = static_cast<std::uint8_t>(table_number(number));
    field.member = member_named(take_until(text, '='));
    const std::string_view kind = take_until(text, ':');
    if (field.operand >= row.sample.operands.size()) throw std::logic_error("the decoder's table has a field of no operand");
    Operand& operand = row.sample.operands[field.operand];
    if (kind == "k") {
        const std::int64_t value = table_number(text);
        const bool register_number = field.member != Member::value && field.member != Member::bank;
        set_member(operand, field.member, register_number && value < 0 ? kZeroUniformRegister : value);
        return;
    }
    field.reading = kind == "u"    ? Reading::uniform
                    : kind == "s"  ? Reading::is_signed
                    : kind == "i4" ? Reading::times_four
                    : kind == "t"  ? Reading::relative
                    : kind == "t8" ? Reading::split_relative
                    : kind == "a8" ? Reading::split_absolute
                    : kind == "t4" ? Reading::relative_times_four
                                   : Reading::plain;
    field.position = static_cast<std::uint8_t>(table_number(take_until(text, ':')));
    field.width = static_cast<std::uint8_t>(table_number(text));
    field.reuse = reuse_bit(field, operand);
    row.fields.push_back(field);
}

std::map<unsigned, Rows> read_rows() {
    std::map<unsigned, Rows> tables;
    std::string_view rest(kDecodeRows, sizeof kDecodeRows - 1);
    while (!rest.empty()) {
        std::string_view line = take_until(rest, '\n');
        std::string_view architectures = take_until(line, '\t');
        auto row = std::make_shared<DecodeRow>();
        row->mask = table_word(take_until(line, '\t'));
        row->value = table_word(take_until(line, '\t'));
        const std::string_view guard = take_until(line, '\t');
        row->guard = guard == "P" ? OperandKind::predicate : guard == "U" ? OperandKind::uniform_predicate : OperandKind::none;
        row->sample = parse_instruction(take_until(line, '\t'));
        while (!line.empty()) read_field(take_until(line, ' '), *row);
        while (!architectures.empty())
            tables[static_cast<unsigned>(table_number(take_until(architectures, ',')))][row->value[0] & (kOpcodes - 1)].push_back(row);
    }
    return tables;
}

const Rows* rows_of(unsigned compute_capability) {
    static const std::map<unsigned, Rows> tables = read_rows();
    const auto found = tables.find(compute_capability);
    return found == tables.end() ? nullptr : &found->second;
}

std::uint64_t bits_of(const std::array<std::uint64_t, 2>& code, unsigned position, unsigned width) {
    std::uint64_t value = position >= 64 ? code[1] >> (position - 64) : code[0] >> position;
    if (position < 64 && position + width > 64) value |= code[1] << (64 - position);
    return width >= 64 ? value : value & ((std::uint64_t{1} << width) - 1);
}

std::int64_t extended(std::uint64_t value, unsigned width) {
    const unsigned unused = 64 - width;
    return static_cast<std::int64_t>(value << unused) >> unused;
}

/// A position in code whose eight lower bits stand apart, at bit 16; in units of four bytes.
std::int64_t split_position(std::uint64_t upper, const Field& field, const std::array<std::uint64_t, 2>& code) {
    return (extended(upper, field.width) * 256 + static_cast<std::int64_t>(bits_of(code, 16, 8))) * 4;
}

std::int64_t field_value(const Field& field, const std::array<std::uint64_t, 2>& code, std::uint64_t address) {
    const std::uint64_t raw = bits_of(code, field.position, field.width);
    constexpr std::int64_t kInstructionBytes = 16;
    const std::int64_t next = static_cast<std::int64_t>(address) + kInstructionBytes;
    switch (field.reading) {
        case Reading::plain:
            break;
        case Reading::uniform:
            return raw == (std::uint64_t{1} << field.width) - 1 ? kZeroUniformRegister : static_cast<std::int64_t>(raw);
        case Reading::is_signed:
            return extended(raw, field.width);
        case Reading::times_four:
            return static_cast<std::int64_t>(raw * 4);
        case Reading::relative:
            return next + extended(raw, field.width);
        case Reading::relative_times_four:
            return next + extended(raw, field.width) * 4;
        case Reading::split_relative:
            return next + split_position(raw, field, code);
        case Reading::split_absolute:
            return split_position(raw, field, code);
    }
    return static_cast<std::int64_t>(raw);
}

}  // namespace

bool has_decode_table(unsigned compute_capability) { return rows_of(compute_capability) != nullptr; }

std::size_t decode_rows(unsigned compute_capability) {
    const Rows* const rows = rows_of(compute_capability);
    std::size_t count = 0;
    if (rows != nullptr)
        for (const auto& of_opcode : *rows) count += of_opcode.size();
    return count;
}

bool decode_by_table(const std::array<std::uint64_t, 2>& code, unsigned compute_capability, std::uint64_t address, Instruction& result) {
    const Rows* const rows = rows_of(compute_capability);
    if (rows == nullptr) return false;
    for (const auto& row : (*rows)[code[0] & (kOpcodes - 1)]) {
        if (!row->claims(code)) continue;
        const Control control = result.control;
        result = row->sample;
        result.control = control;
        result.address = address;
        const auto guard = static_cast<std::uint16_t>(bits_of(code, 12, 3));
        const bool negated = bits_of(code, 15, 1) != 0;
        if (row->guard != OperandKind::none && (guard != kTruePredicate || negated)) {
            result.guard_kind = row->guard;
            result.guard = guard;
            result.guard_negated = negated;
        }
        for (const Field& field : row->fields) {
            Operand& operand = result.operands[field.operand];
            set_member(operand, field.member, field_value(field, code, address));
            if (field.reuse != 0 && bits_of(code, field.reuse, 1) != 0) operand.reuse = true;
        }
        return true;
    }
    return false;
}

}  // namespace heddle::sass
