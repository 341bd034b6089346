#include "isa/ptx/text/initializer_parser.h"

#include <bit>

#include "isa/ptx/text/constant_expression.h"

namespace heddle::ptx {
namespace {

constexpr std::uint64_t kMaximumInitialBytes = std::uint64_t{1} << 26;
constexpr std::uint64_t kWholeAddress = ~std::uint64_t{0};

}  // namespace

void InitializerParser::parse() {
    const Token start = cursor_.peek();
    if (variable_.space != StateSpace::global && variable_.space != StateSpace::constant)
        cursor_.fail("only .global and .const variables have initial values", start);
    if (bits_of(variable_.type) == 16 && is_float(variable_.type))
        cursor_.fail("variables of type ." + std::string(name_of(variable_.type)) + " have no initial value",
                     start, "declare it as .b16");
    if (dimensions_.empty()) {
        const bool braces = cursor_.accept('{');
        append_value();
        if (braces) cursor_.expect('}', "after an initial value");
        return;
    }
    parse_level(0);
    const std::uint64_t row = bytes_below(0);
    if (dimensions_[0] == 0 && row != 0) dimensions_[0] = (variable_.initial.size() + row - 1) / row;
}

std::uint64_t InitializerParser::bytes_below(std::size_t level) const {
    std::uint64_t bytes = bytes_of(variable_.type);
    for (std::size_t i = level + 1; i < dimensions_.size(); ++i) bytes *= dimensions_[i];
    return bytes;
}

// Values in braces, nested as the dimensions are; rows that are not full are padded with zeros.
void InitializerParser::parse_level(std::size_t level) {
    const Token start = cursor_.peek();
    cursor_.expect('{', "before initial values");
    const std::size_t begin = variable_.initial.size();
    const std::uint64_t element = bytes_below(level);
    std::uint64_t count = 0;
    if (!cursor_.accept('}')) {
        do {
            // Only rows that exist are padded, and a row is as long as the text says: this bounds the memory.
            if (begin + (count + 1) * element > kMaximumInitialBytes)
                cursor_.fail("more than 64 MiB of initial values", start);
            variable_.initial.resize(begin + count * element);
            if (level + 1 < dimensions_.size())
                parse_level(level + 1);
            else
                append_value();
            ++count;
        } while (cursor_.accept(','));
        cursor_.expect('}', "after initial values");
    }
    const bool open = level == 0 && dimensions_[0] == 0;
    if (!open && count > dimensions_[level]) cursor_.fail("more initial values than elements", start);
}

bool InitializerParser::at_address() const {
    return cursor_.peek().kind == TokenKind::word && !starts_constant(cursor_);
}

void InitializerParser::append_value() {
    if (at_address()) return append_address(kWholeAddress);
    const Token mask = cursor_.peek();
    if (mask.kind == TokenKind::integer && cursor_.peek(1).is('(')) {
        cursor_.next();
        cursor_.next();
        // PTX manual, "Initializers": 0xFF, 0xFF00, 0xFF0000, ... choose a byte of the address.
        const int shift = mask.bits == 0 ? 1 : std::countr_zero(mask.bits);
        if (shift % 8 != 0 || mask.bits >> shift != 0xFF || bytes_of(variable_.type) != 1)
            cursor_.fail("a mask of an address chooses one byte, of a variable with elements of one byte",
                         mask, "write 0xFF, 0xFF00, 0xFF0000, ...");
        append_address(mask.bits);
        return cursor_.expect(')', "after an address");
    }
    append_number();
}

// symbol, generic(symbol), both with an addend.
void InitializerParser::append_address(std::uint64_t mask) {
    const Token start = cursor_.peek();
    InitialAddress address;
    address.line = start.line;
    address.position = variable_.initial.size();
    address.bytes = static_cast<std::uint8_t>(bytes_of(variable_.type));
    address.shift = static_cast<std::uint8_t>(mask == kWholeAddress ? 0 : std::countr_zero(mask));
    const bool wide_enough =
        mask != kWholeAddress || bytes_of(variable_.type) == 8 || bytes_of(variable_.type) == 4;
    if (is_float(variable_.type) || !wide_enough)
        cursor_.fail("an address does not fit into ." + std::string(name_of(variable_.type)), start);
    address.generic = start.text == "generic" && cursor_.peek(1).is('(');
    if (address.generic) {
        cursor_.next();
        cursor_.next();
    }
    address.symbol = std::string(cursor_.expect_word("the name of a variable or function").text);
    if (address.generic) cursor_.expect(')', "after the name of a variable");
    if (cursor_.accept('+')) {
        const Constant addend = parse_constant(cursor_);
        if (addend.kind != Constant::Kind::integer) cursor_.fail("an integer is needed here", start);
        address.addend = addend.bits;
    }
    append_bits(0, false);
    variable_.addresses.push_back(std::move(address));
}

void InitializerParser::append_number() {
    const Token token = cursor_.peek();
    if (!starts_constant(cursor_)) cursor_.fail_expected("an initial value", token);
    const Constant value = parse_constant(cursor_);
    const Type type = variable_.type;
    if (value.kind == Constant::Kind::integer) {
        if (is_float(type)) {
            cursor_.fail("an integer as initial value of type ." + std::string(name_of(type)), token,
                         "write a fraction, or the bits as 0f... or 0d...");
        }
        return append_bits(value.bits, !value.is_unsigned && value.bits >> 63 != 0);
    }
    const bool untyped = is_untyped(type);
    const bool single = value.kind == Constant::Kind::single;
    const double real = single ? std::bit_cast<float>(static_cast<std::uint32_t>(value.bits))
                               : std::bit_cast<double>(value.bits);
    if (type == Type::f32 || (untyped && bits_of(type) == 32)) {
        append_bits(single ? value.bits : std::bit_cast<std::uint32_t>(static_cast<float>(real)), false);
    } else if (type == Type::f64 || (untyped && bits_of(type) == 64)) {
        append_bits(single ? std::bit_cast<std::uint64_t>(real) : value.bits, false);
    } else {
        cursor_.fail("a floating-point number as initial value of type ." + std::string(name_of(type)),
                     token);
    }
}

void InitializerParser::append_bits(std::uint64_t bits, bool negative) {
    for (unsigned i = 0; i < bytes_of(variable_.type); ++i) {
        const std::uint64_t byte = i < 8 ? bits >> (8 * i) : negative ? 0xFF : 0;
        variable_.initial.push_back(static_cast<std::byte>(byte));
    }
}

}  // namespace heddle::ptx
