#include "isa/ptx/text/operand_parser.h"

#include "isa/ptx/instruction_table.h"

namespace heddle::ptx {
namespace {

constexpr std::size_t kMaximumElements = 256;

}  // namespace

std::vector<RawOperand> OperandParser::parse_all() {
    std::vector<RawOperand> raw;
    if (cursor_.accept(';')) return raw;
    for (;;) {
        raw.push_back(parse());
        if (raw.size() > kMaximumOperands) cursor_.fail("too many operands", raw.back().token);
        while (cursor_.accept('|')) {
            raw.push_back(parse());
            raw.back().paired = true;
        }
        if (cursor_.accept(';')) return raw;
        cursor_.expect(',', "or ';' after an operand");
    }
}

// Special registers and the components of vector registers have a dot in their name.
std::string OperandParser::parse_name() {
    std::string name(cursor_.expect_word("a name").text);
    if (cursor_.peek().kind == TokenKind::suffix) name += "." + std::string(cursor_.next().text);
    return name;
}

RawOperand OperandParser::parse_literal() {
    RawOperand raw;
    raw.token = cursor_.peek();
    if (!starts_constant(cursor_)) cursor_.fail_expected("an operand", raw.token);
    const Constant constant = parse_constant(cursor_);
    raw.bits = constant.bits;
    raw.kind = constant.kind == Constant::Kind::integer  ? RawOperand::Kind::integer
               : constant.kind == Constant::Kind::single ? RawOperand::Kind::single
                                                         : RawOperand::Kind::real;
    return raw;
}

// What follows the base of an address: +4, +4*3, +-4, -4, +(1 << 4).
std::uint64_t OperandParser::parse_offset() {
    std::uint64_t total = 0;
    while (cursor_.peek().is('+') || cursor_.peek().is('-')) {
        const Token token = cursor_.next();
        const Constant offset = parse_constant_product(cursor_);
        if (offset.kind != Constant::Kind::integer) cursor_.fail_expected("an integer offset", token);
        total += token.is('-') ? ~offset.bits + 1 : offset.bits;
    }
    return total;
}

RawOperand OperandParser::parse_address() {
    RawOperand raw;
    raw.kind = RawOperand::Kind::address;
    raw.token = cursor_.peek();
    if (cursor_.peek().kind == TokenKind::word && !starts_constant(cursor_)) {
        raw.name = parse_name();
        raw.bits = parse_offset();
    } else {
        const RawOperand base = parse_literal();
        if (base.kind != RawOperand::Kind::integer)
            cursor_.fail_expected("a register, a variable or an integer in an address", raw.token);
        raw.bits = base.bits;
    }
    while (cursor_.accept(',')) {
        if (cursor_.peek().is('[')) cursor_.fail("an address inside an address", cursor_.peek());
        raw.elements.push_back(parse());
    }
    cursor_.expect(']', "after an address");
    return raw;
}

RawOperand OperandParser::parse_vector() {
    RawOperand raw;
    raw.kind = RawOperand::Kind::vector;
    raw.token = cursor_.peek();
    do {
        if (cursor_.peek().is('{') || cursor_.peek().is('[') || raw.elements.size() == kMaximumElements) {
            cursor_.fail("a vector operand holds up to " + std::to_string(kMaximumElements) + " scalars",
                         cursor_.peek());
        }
        raw.elements.push_back(parse());
    } while (cursor_.accept(','));
    cursor_.expect('}', "after a vector operand");
    return raw;
}

RawOperand OperandParser::parse_named() {
    RawOperand raw;
    raw.negated = cursor_.accept('!');
    raw.token = cursor_.peek();
    raw.name = parse_name();
    raw.kind = raw.name == "_" ? RawOperand::Kind::sink : RawOperand::Kind::name;
    if (cursor_.accept('[')) {
        const Constant index = parse_constant(cursor_);
        if (index.kind != Constant::Kind::integer) cursor_.fail_expected("an integer index", raw.token);
        raw.index = index.bits;
        raw.indexed = true;
        cursor_.expect(']', "after an index");
    }
    if (cursor_.peek().is('+')) raw.bits = parse_offset();
    return raw;
}

RawOperand OperandParser::parse() {
    if (cursor_.accept('[')) return parse_address();
    if (cursor_.accept('{')) return parse_vector();
    if (cursor_.peek().is('-') && cursor_.peek(1).kind == TokenKind::word &&
        cursor_.peek(1).text != "WARP_SZ") {
        cursor_.next();
        RawOperand raw = parse_named();
        raw.minus = true;
        return raw;
    }
    const bool negated_name = cursor_.peek().is('!') && cursor_.peek(1).kind == TokenKind::word &&
                              cursor_.peek(1).text != "WARP_SZ";
    const bool name = cursor_.peek().kind == TokenKind::word && !starts_constant(cursor_);
    return name || negated_name ? parse_named() : parse_literal();
}

}  // namespace heddle::ptx
