#include "isa/ptx/text/constant_expression.h"

#include <bit>
#include <charconv>

#include "isa/common/nesting.h"
#include "isa/ptx/execution.h"

namespace heddle::ptx {
namespace {

enum class Operator : std::uint8_t {
    none,
    logical_or,
    logical_and,
    bit_or,
    bit_xor,
    bit_and,
    equal,
    unequal,
    less,
    less_equal,
    greater,
    greater_equal,
    shift_left,
    shift_right,
    plus,
    minus,
    times,
    divide,
    remainder,
};

// As in C: the higher, the tighter.
int precedence(Operator op) {
    switch (op) {
        case Operator::none:
            return 0;
        case Operator::logical_or:
            return 1;
        case Operator::logical_and:
            return 2;
        case Operator::bit_or:
            return 3;
        case Operator::bit_xor:
            return 4;
        case Operator::bit_and:
            return 5;
        case Operator::equal:
        case Operator::unequal:
            return 6;
        case Operator::less:
        case Operator::less_equal:
        case Operator::greater:
        case Operator::greater_equal:
            return 7;
        case Operator::shift_left:
        case Operator::shift_right:
            return 8;
        case Operator::plus:
        case Operator::minus:
            return 9;
        default:
            return 10;
    }
}

bool adjacent(const Token& a, const Token& b) {
    return a.text.data() + a.text.size() == b.text.data();
}

class ConstantParser {
  public:
    explicit ConstantParser(TokenCursor& cursor) : cursor_(cursor) {}

    Constant conditional() {
        const Nesting level(depth_, [this] { too_deep(); });
        const Token start = cursor_.peek();
        const Constant condition = binary(1);
        if (!cursor_.accept('?')) return condition;
        require_integer(condition, start);
        const Constant yes = conditional();
        cursor_.expect(':', "between the two values of '?'");
        const Constant no = conditional();
        require_integer(yes, start);
        require_integer(no, start);
        Constant result = condition.bits != 0 ? yes : no;
        result.is_unsigned = yes.is_unsigned || no.is_unsigned;
        return result;
    }

    Constant binary(int least) {
        Constant left = unary();
        for (;;) {
            const Token token = cursor_.peek();
            std::size_t length = 1;
            const Operator op = next_operator(length);
            if (op == Operator::none || precedence(op) < least) return left;
            for (std::size_t i = 0; i < length; ++i) cursor_.next();
            const Constant right = binary(precedence(op) + 1);
            left = left.kind == Constant::Kind::integer && right.kind == Constant::Kind::integer
                       ? combine_integers(op, left, right, token)
                       : combine_reals(op, left, right, token);
        }
    }

  private:
    [[noreturn]] void too_deep() const {
        cursor_.fail("constant expression nested too deeply", cursor_.peek());
    }

    bool pair(char first, char second) const {
        return cursor_.peek().is(first) && cursor_.peek(1).is(second) &&
               adjacent(cursor_.peek(), cursor_.peek(1));
    }

    Operator next_operator(std::size_t& length) const {
        const Token& token = cursor_.peek();
        if (token.kind == TokenKind::word && token.text == "%") return Operator::remainder;
        if (token.kind != TokenKind::punctuation) return Operator::none;
        length = 2;
        if (pair('|', '|')) return Operator::logical_or;
        if (pair('&', '&')) return Operator::logical_and;
        if (pair('=', '=')) return Operator::equal;
        if (pair('!', '=')) return Operator::unequal;
        if (pair('<', '=')) return Operator::less_equal;
        if (pair('>', '=')) return Operator::greater_equal;
        if (pair('<', '<')) return Operator::shift_left;
        if (pair('>', '>')) return Operator::shift_right;
        length = 1;
        switch (token.text[0]) {
            case '|':
                return Operator::bit_or;
            case '^':
                return Operator::bit_xor;
            case '&':
                return Operator::bit_and;
            case '<':
                return Operator::less;
            case '>':
                return Operator::greater;
            case '+':
                return Operator::plus;
            case '-':
                return Operator::minus;
            case '*':
                return Operator::times;
            case '/':
                return Operator::divide;
            case '%':
                return Operator::remainder;
            default:
                return Operator::none;
        }
    }

    Constant unary() {
        const Nesting level(depth_, [this] { too_deep(); });
        const Token token = cursor_.peek();
        if (cursor_.accept('+')) return unary();
        if (cursor_.accept('-')) {
            Constant value = unary();
            if (value.kind == Constant::Kind::integer)
                value.bits = ~value.bits + 1;
            else
                value.bits ^= std::uint64_t{1} << (value.kind == Constant::Kind::single ? 31 : 63);
            return value;
        }
        if (cursor_.accept('~')) {
            Constant value = unary();
            require_integer(value, token);
            value.bits = ~value.bits;
            return value;
        }
        if (cursor_.accept('!')) {
            const Constant value = unary();
            require_integer(value, token);
            return {Constant::Kind::integer, false, value.bits == 0 ? 1u : 0u};
        }
        if (cursor_.accept('(')) return parenthesis();
        return literal();
    }

    Constant parenthesis() {
        const Token token = cursor_.peek();
        const bool to_signed = cursor_.accept_suffix("s64");
        if (to_signed || cursor_.accept_suffix("u64")) {
            cursor_.expect(')', "after the type of a cast");
            Constant value = unary();
            require_integer(value, token);
            value.is_unsigned = !to_signed;
            return value;
        }
        const Constant value = conditional();
        cursor_.expect(')', "after a constant expression");
        return value;
    }

    Constant literal() {
        const Token token = cursor_.next();
        switch (token.kind) {
            case TokenKind::integer: {
                // .s64 unless it has a U or does not fit.
                const bool is_unsigned = token.text.ends_with('U') || token.bits >> 63 != 0;
                return {Constant::Kind::integer, is_unsigned, token.bits};
            }
            case TokenKind::single:
                return {Constant::Kind::single, false, token.bits};
            case TokenKind::real:
                return {Constant::Kind::real, false, token.bits};
            case TokenKind::suffix:
                return fraction(token);
            case TokenKind::word:
                if (token.text == "WARP_SZ") return {Constant::Kind::integer, false, kWarpSize};
                [[fallthrough]];
            default:
                cursor_.fail_expected("a constant", token);
        }
    }

    // .5 looks like a suffix to the lexer.
    Constant fraction(const Token& token) {
        double value = 0;
        const std::string text = "0." + std::string(token.text);
        const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (problem != std::errc() || end != text.data() + text.size())
            cursor_.fail_expected("a constant", token);
        return {Constant::Kind::real, false, std::bit_cast<std::uint64_t>(value)};
    }

    void require_integer(const Constant& value, const Token& token) const {
        if (value.kind != Constant::Kind::integer) cursor_.fail("an integer is needed here", token);
    }

    Constant combine_integers(Operator op, const Constant& a, const Constant& b, const Token& token) const {
        const bool is_unsigned = a.is_unsigned || b.is_unsigned;
        const auto x = static_cast<std::int64_t>(a.bits), y = static_cast<std::int64_t>(b.bits);
        const auto truth = [](bool value) { return Constant{Constant::Kind::integer, false, value ? 1u : 0u}; };
        const auto value = [&](std::uint64_t bits) { return Constant{Constant::Kind::integer, is_unsigned, bits}; };
        const bool less = is_unsigned ? a.bits < b.bits : x < y;
        switch (op) {
            case Operator::logical_or:
                return truth(a.bits != 0 || b.bits != 0);
            case Operator::logical_and:
                return truth(a.bits != 0 && b.bits != 0);
            case Operator::equal:
                return truth(a.bits == b.bits);
            case Operator::unequal:
                return truth(a.bits != b.bits);
            case Operator::less:
                return truth(less);
            case Operator::less_equal:
                return truth(less || a.bits == b.bits);
            case Operator::greater:
                return truth(!less && a.bits != b.bits);
            case Operator::greater_equal:
                return truth(!less);
            case Operator::bit_or:
                return {Constant::Kind::integer, true, a.bits | b.bits};
            case Operator::bit_xor:
                return {Constant::Kind::integer, true, a.bits ^ b.bits};
            case Operator::bit_and:
                return {Constant::Kind::integer, true, a.bits & b.bits};
            case Operator::shift_left:
                return {Constant::Kind::integer, a.is_unsigned, b.bits > 63 ? 0 : a.bits << b.bits};
            case Operator::shift_right:
                if (a.is_unsigned) return {Constant::Kind::integer, true, b.bits > 63 ? 0 : a.bits >> b.bits};
                return {Constant::Kind::integer, false, static_cast<std::uint64_t>(x >> (b.bits > 63 ? 63 : b.bits))};
            case Operator::plus:
                return value(a.bits + b.bits);
            case Operator::minus:
                return value(a.bits - b.bits);
            case Operator::times:
                return value(a.bits * b.bits);
            default:
                break;
        }
        if (b.bits == 0) cursor_.fail("division by zero", token);
        if (is_unsigned) return value(op == Operator::divide ? a.bits / b.bits : a.bits % b.bits);
        if (y == -1) return value(op == Operator::divide ? ~a.bits + 1 : 0);  // the quotient may not fit
        return value(static_cast<std::uint64_t>(op == Operator::divide ? x / y : x % y));
    }

    static double as_double(const Constant& value) {
        if (value.kind == Constant::Kind::real) return std::bit_cast<double>(value.bits);
        return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits));
    }

    Constant combine_reals(Operator op, const Constant& a, const Constant& b, const Token& token) const {
        if (a.kind == Constant::Kind::integer || b.kind == Constant::Kind::integer)
            cursor_.fail("an integer and a floating-point number in one expression", token);
        const double x = as_double(a), y = as_double(b);
        double result = 0;
        switch (op) {
            case Operator::plus:
                result = x + y;
                break;
            case Operator::minus:
                result = x - y;
                break;
            case Operator::times:
                result = x * y;
                break;
            case Operator::divide:
                result = x / y;
                break;
            default:
                cursor_.fail("this operator is for integers", token);
        }
        return {Constant::Kind::real, false, std::bit_cast<std::uint64_t>(result)};
    }

    TokenCursor& cursor_;
    unsigned depth_ = 0;
};

}  // namespace

bool starts_constant(const TokenCursor& cursor) {
    const Token& token = cursor.peek();
    switch (token.kind) {
        case TokenKind::integer:
        case TokenKind::single:
        case TokenKind::real:
            return true;
        case TokenKind::suffix:
            return token.text[0] >= '0' && token.text[0] <= '9';
        case TokenKind::word:
            return token.text == "WARP_SZ";
        default:
            return token.is('-') || token.is('+') || token.is('~') || token.is('!') || token.is('(');
    }
}

Constant parse_constant(TokenCursor& cursor) {
    return ConstantParser(cursor).conditional();
}

Constant parse_constant_product(TokenCursor& cursor) {
    return ConstantParser(cursor).binary(precedence(Operator::times));
}

}  // namespace heddle::ptx
