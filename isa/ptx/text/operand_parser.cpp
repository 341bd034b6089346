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

std::string OperandParser::parse_name() {
    const Token token = cursor_.next();
    std::string name(token.text);
    // Special registers have a dot in their name.
    if (cursor_.peek().kind == TokenKind::suffix && name.starts_with('%')) {
        name += "." + std::string(cursor_.next().text);
    }
    return name;
}

RawOperand OperandParser::parse_literal() {
    RawOperand raw;
    raw.token = cursor_.peek();
    bool minus = false;
    while (cursor_.peek().is('-') || cursor_.peek().is('+')) minus ^= cursor_.next().is('-');
    const Token token = cursor_.next();
    raw.bits = token.bits;
    switch (token.kind) {
        case TokenKind::integer:
            raw.kind = RawOperand::Kind::integer;
            if (minus) raw.bits = ~raw.bits + 1;
            break;
        case TokenKind::single:
            raw.kind = RawOperand::Kind::single;
            if (minus) raw.bits ^= 0x80000000u;
            break;
        case TokenKind::real:
            raw.kind = RawOperand::Kind::real;
            if (minus) raw.bits ^= std::uint64_t{1} << 63;
            break;
        default:
            cursor_.fail_expected("an operand", token);
    }
    return raw;
}

RawOperand OperandParser::parse_address() {
    RawOperand raw;
    raw.kind = RawOperand::Kind::address;
    raw.token = cursor_.peek();
    if (cursor_.peek().kind == TokenKind::word) {
        raw.name = parse_name();
    } else {
        raw.bits = cursor_.expect_integer("a register, a variable or an integer in an address");
    }
    while (cursor_.peek().is('+') || cursor_.peek().is('-')) {
        const bool minus = cursor_.next().is('-');
        const std::uint64_t offset = cursor_.expect_integer("an integer offset");
        raw.bits += minus ? ~offset + 1 : offset;
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

RawOperand OperandParser::parse() {
    if (cursor_.accept('[')) return parse_address();
    if (cursor_.accept('{')) return parse_vector();
    RawOperand raw;
    raw.negated = cursor_.accept('!');
    if (cursor_.peek().kind != TokenKind::word) {
        const bool negated = raw.negated;
        raw = parse_literal();
        raw.negated = negated;
        return raw;
    }
    raw.token = cursor_.peek();
    raw.name = parse_name();
    raw.kind = raw.name == "_" ? RawOperand::Kind::sink : RawOperand::Kind::name;
    return raw;
}

}  // namespace heddle::ptx
