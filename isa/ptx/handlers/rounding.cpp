// f32 and f64 arithmetic that rounds toward zero, up or down: the host's rounding mode is set around the loop
// over the lanes. The loop reads and writes memory that the calls to fesetround() may change for all the
// compiler knows, so it cannot be moved across them. Compiled with -frounding-math.
#include <cfenv>

#include "isa/ptx/handlers/float_bits.h"

namespace heddle::ptx::HEDDLE_PTX_VARIANT {
namespace {

class RoundingScope {
  public:
    explicit RoundingScope(int mode) : previous_(std::fegetround()) { std::fesetround(mode); }
    ~RoundingScope() { std::fesetround(previous_); }
    RoundingScope(const RoundingScope&) = delete;
    RoundingScope& operator=(const RoundingScope&) = delete;

  private:
    int previous_;
};

enum class Operation { add, subtract, multiply, fused, divide, reciprocal, square_root };

template <Operation kOperation, class T>
T evaluate(T a, T b, T c) {
    switch (kOperation) {
        case Operation::add:
            return a + b;
        case Operation::subtract:
            return a - b;
        case Operation::multiply:
            return a * b;
        case Operation::fused:
            return std::fma(a, b, c);
        case Operation::divide:
            return a / b;
        case Operation::reciprocal:
            return T{1} / a;
        case Operation::square_root:
            return std::sqrt(a);
    }
    return T{0};
}

template <Operation kOperation, class T, bool kFlush, bool kSaturate>
T finished(T a, T b, T c) {
    const T x = flush_if<kFlush>(a), y = flush_if<kFlush>(b), z = flush_if<kFlush>(c);
    return finish<kFlush, kSaturate>(with_first_nan(evaluate<kOperation, T>(x, y, z), x, y, z));
}

template <Operation kOperation, class T, bool kFlush, bool kSaturate, int kMode>
void rounded(State& warp, const Decoded& i, std::uint32_t mask) {
    constexpr bool two = kOperation != Operation::reciprocal && kOperation != Operation::square_root;
    constexpr bool three = kOperation == Operation::fused;
    const Word<T>* a = words<T>(warp, i.operand[1]);
    const Word<T>* b = two ? words<T>(warp, i.operand[2]) : a;
    const Word<T>* c = three ? words<T>(warp, i.operand[3]) : a;
    const RoundingScope scope(kMode);
    assign<T>(warp, i.operand[0], mask, [=](unsigned lane) {
        const T x = unpack<T>(a[lane]), y = unpack<T>(b[lane]), z = unpack<T>(c[lane]);
        if constexpr (std::is_same_v<T, Single2>) {
            return Single2{finished<kOperation, float, kFlush, kSaturate>(x.low, y.low, z.low),
                           finished<kOperation, float, kFlush, kSaturate>(x.high, y.high, z.high)};
        } else {
            return finished<kOperation, T, kFlush, kSaturate>(x, y, z);
        }
    });
}

template <Operation kOperation, int kMode>
Handler choose_flags(const Instruction& instruction) {
    if (instruction.type() == Type::f64) return rounded<kOperation, double, false, false, kMode>;
    const bool flushes = instruction.has(Modifier::ftz), saturates = instruction.has(Modifier::sat);
    if (instruction.type() == Type::f32x2) {
        return flushes ? rounded<kOperation, Single2, true, false, kMode>
                       : rounded<kOperation, Single2, false, false, kMode>;
    }
    if (saturates) {
        return flushes ? rounded<kOperation, float, true, true, kMode>
                       : rounded<kOperation, float, false, true, kMode>;
    }
    return flushes ? rounded<kOperation, float, true, false, kMode>
                   : rounded<kOperation, float, false, false, kMode>;
}

template <Operation kOperation>
Handler choose_mode(const Instruction& instruction) {
    if (instruction.has(Modifier::rz)) return choose_flags<kOperation, FE_TOWARDZERO>(instruction);
    if (instruction.has(Modifier::rm)) return choose_flags<kOperation, FE_DOWNWARD>(instruction);
    return choose_flags<kOperation, FE_UPWARD>(instruction);
}

}  // namespace

Handler select_rounding(const Instruction& instruction) {
    switch (instruction.opcode) {
        case Opcode::add:
            return choose_mode<Operation::add>(instruction);
        case Opcode::sub:
            return choose_mode<Operation::subtract>(instruction);
        case Opcode::mul:
            return choose_mode<Operation::multiply>(instruction);
        case Opcode::mad:
        case Opcode::fma:
            return choose_mode<Operation::fused>(instruction);
        case Opcode::div:
            return choose_mode<Operation::divide>(instruction);
        case Opcode::rcp:
            return choose_mode<Operation::reciprocal>(instruction);
        case Opcode::sqrt:
            return choose_mode<Operation::square_root>(instruction);
        default:
            return nullptr;
    }
}

}  // namespace heddle::ptx::HEDDLE_PTX_VARIANT
