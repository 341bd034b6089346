#include "isa/ptx/text/constant_expression.h"

#include <array>
#include <bit>
#include <charconv>

#include "isa/common/expression_syntax.h"
#include "isa/common/nesting.h"
#include "isa/ptx/execution.h"

namespace heddle::ptx {
namespace {

// As in C: the higher, the tighter.
constexpr std::array kConstantInfix{
    InfixOperator{"||", 1}, InfixOperator{"&&", 2}, InfixOperator{"==", 6}, InfixOperator{"!=", 6}, InfixOperator{"<=", 7}, InfixOperator{">=", 7},
    InfixOperator{"<<", 8}, InfixOperator{">>", 8}, InfixOperator{"|", 3},  InfixOperator{"^", 4},  InfixOperator{"&", 5},  InfixOperator{"<", 7},
    InfixOperator{">", 7},  InfixOperator{"+", 9},  InfixOperator{"-", 9},  InfixOperator{"*", 10}, InfixOperator{"/", 10}, InfixOperator{"%", 10},
};
constexpr int kProduct = 10;

bool adjacent(const Token& a, const Token& b) {
    return a.text.data() + a.text.size() == b.text.data();
}

class ConstantParser {
  public:
    explicit ConstantParser(TokenCursor& cursor) : cursor_(cursor) {}

    Constant conditional() {
        const Nesting level(depth_, [this] { too_deep(); });
        const Token start = cursor_.peek();
        const Constant condition = operators(1);
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

    Constant operators(int least) {
        std::vector<Token> tokens;  // of operators whose second operand is being read
        return read_operators(
            least,
            [this, &tokens](int low, int high) {
                const Token at = cursor_.peek();
                const InfixOperator* const found = take_operator(low, high);
                if (found != nullptr) tokens.push_back(at);
                return found;
            },
            [this] { return unary(); },
            [this, &tokens](const InfixOperator& op, const Constant& left, const Constant& right) {
                const Token at = tokens.back();
                tokens.pop_back();
                return left.kind == Constant::Kind::integer && right.kind == Constant::Kind::integer
                           ? combine_integers(op.symbol, left, right, at)
                           : combine_reals(op.symbol, left, right, at);
            });
    }

  private:
    [[noreturn]] void too_deep() const {
        cursor_.fail("constant expression nested too deeply", cursor_.peek());
    }

    bool comes(std::string_view symbol) const {
        const Token& token = cursor_.peek();
        if (token.kind == TokenKind::word) return token.text == symbol;  // the lexer takes % for the beginning of a register
        if (!token.is(symbol[0])) return false;
        return symbol.size() == 1 || (cursor_.peek(1).is(symbol[1]) && adjacent(token, cursor_.peek(1)));
    }

    const InfixOperator* take_operator(int least, int most) {
        for (const InfixOperator& one : kConstantInfix) {
            if (!comes(one.symbol)) continue;
            if (one.level < least || one.level > most) return nullptr;
            const bool two_tokens = one.symbol.size() == 2;
            cursor_.next();
            if (two_tokens) cursor_.next();
            return &one;
        }
        return nullptr;
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

    Constant combine_integers(std::string_view op, const Constant& a, const Constant& b, const Token& token) const {
        const bool is_unsigned = a.is_unsigned || b.is_unsigned;
        const auto x = static_cast<std::int64_t>(a.bits), y = static_cast<std::int64_t>(b.bits);
        const auto truth = [](bool value) { return Constant{Constant::Kind::integer, false, value ? 1u : 0u}; };
        const auto value = [&](std::uint64_t bits) { return Constant{Constant::Kind::integer, is_unsigned, bits}; };
        const auto bits = [](std::uint64_t all) { return Constant{Constant::Kind::integer, true, all}; };
        const bool less = is_unsigned ? a.bits < b.bits : x < y;
        if (op == "||") return truth(a.bits != 0 || b.bits != 0);
        if (op == "&&") return truth(a.bits != 0 && b.bits != 0);
        if (op == "==") return truth(a.bits == b.bits);
        if (op == "!=") return truth(a.bits != b.bits);
        if (op == "<") return truth(less);
        if (op == "<=") return truth(less || a.bits == b.bits);
        if (op == ">") return truth(!less && a.bits != b.bits);
        if (op == ">=") return truth(!less);
        if (op == "|") return bits(a.bits | b.bits);
        if (op == "^") return bits(a.bits ^ b.bits);
        if (op == "&") return bits(a.bits & b.bits);
        if (op == "<<") return {Constant::Kind::integer, a.is_unsigned, b.bits > 63 ? 0 : a.bits << b.bits};
        if (op == ">>") {
            if (a.is_unsigned) return bits(b.bits > 63 ? 0 : a.bits >> b.bits);
            return {Constant::Kind::integer, false, static_cast<std::uint64_t>(x >> (b.bits > 63 ? 63 : b.bits))};
        }
        if (op == "+") return value(a.bits + b.bits);
        if (op == "-") return value(a.bits - b.bits);
        if (op == "*") return value(a.bits * b.bits);
        const bool quotient = op == "/";
        if (b.bits == 0) cursor_.fail("division by zero", token);
        if (is_unsigned) return value(quotient ? a.bits / b.bits : a.bits % b.bits);
        if (y == -1) return value(quotient ? ~a.bits + 1 : 0);  // the quotient may not fit
        return value(static_cast<std::uint64_t>(quotient ? x / y : x % y));
    }

    static double as_double(const Constant& value) {
        if (value.kind == Constant::Kind::real) return std::bit_cast<double>(value.bits);
        return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits));
    }

    Constant combine_reals(std::string_view op, const Constant& a, const Constant& b, const Token& token) const {
        if (a.kind == Constant::Kind::integer || b.kind == Constant::Kind::integer)
            cursor_.fail("an integer and a floating-point number in one expression", token);
        const double x = as_double(a), y = as_double(b);
        const auto real = [](double value) { return Constant{Constant::Kind::real, false, std::bit_cast<std::uint64_t>(value)}; };
        if (op == "+") return real(x + y);
        if (op == "-") return real(x - y);
        if (op == "*") return real(x * y);
        if (op == "/") return real(x / y);
        cursor_.fail("this operator is for integers", token);
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
    return ConstantParser(cursor).operators(kProduct);
}

}  // namespace heddle::ptx
