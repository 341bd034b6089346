// One small language for every elementwise operation: bias, activations and their gradients, optimizer
// updates, casts, dropout. The reference executor, the PTX generators and the TPU lowering all read the same
// Expression.
//
// Text: assignments to outputs separated by ';', over inputs x0, x1, ..., scalars s0, s1, ... and numbers:
//     "y0 = max(x0 + x1, 0)"                              bias (broadcast by shape) and ReLU
//     "y0 = x1 > 0 ? x0 : 0"                              gradient of ReLU
//     "y0 = s1 * x0 + x1; y1 = x2 - s0 * y0"              momentum SGD (y0 may be used after its definition)
// Functions: min max abs exp log sqrt rsqrt reciprocal tanh sigmoid erf floor select random (a counter-based
// uniform number in [0,1) of the element's index; its argument is the stream number). philox (the same by
// Philox4x32-10, a counter for each element, as Triton's rand). Operators: + - * /
// unary -, > >= < <= == != (1 or 0), ?:, parentheses. `inf` is a number, `position` the element's index.
// Temporaries t0, t1, ... may be assigned and used like outputs:
//     "t0 = tanh(x0); y0 = x1 * (1 - t0 * t0)"            gradient of tanh
// min and max return the other operand when one is NaN, as PTX min/max do.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace heddle::expression {

/// The operators of a node. Their meaning on floating-point numbers is that of the functions named above.
enum class Operator : std::uint8_t {
    input,     ///< x<index>
    scalar,    ///< s<index>: a number known at launch
    constant,  ///< `value`
    add,
    subtract,
    multiply,
    divide,
    minimum,
    maximum,
    negate,
    absolute,
    exponential,
    logarithm,
    square_root,
    reciprocal_square_root,
    reciprocal,
    hyperbolic_tangent,
    sigmoid,
    error_function,
    floor,
    greater,
    greater_equal,
    less,
    less_equal,
    equal,
    not_equal,
    select,    ///< a != 0 ? b : c
    random,    ///< uniform [0, 1) from (stream `index`, element index)
    philox,    ///< uniform [0, 1): word 0 of Philox with the element's index as counter and `index` as key
    position,  ///< the element's index
};

/// A node in definition order: operands a, b, c are indices of earlier nodes, -1 when absent.
struct Node {
    Operator op = Operator::constant;
    int a = -1, b = -1, c = -1;
    unsigned index = 0;
    double value = 0;
};

/// A parsed expression: a graph of nodes with one or more outputs.
struct Expression {
    std::vector<Node> nodes;
    std::vector<int> outputs;  ///< node of y0, y1, ...
    unsigned input_count = 0;  ///< highest x used + 1
    unsigned scalar_count = 0;
};

/// Throws heddle::Error naming the column of the first token that does not fit.
Expression parse(const std::string& text);
/// Writes an expression as text that parse() reads back to the same expression.
std::string to_text(const Expression& expression);

/// One element, in double precision. `element` feeds random() and position.
void evaluate(const Expression& expression, std::span<const double> inputs, std::span<const double> scalars,
              std::uint64_t element, std::span<double> outputs);

/// The counter-based generator behind random(): the same number on every device. In 32-bit arithmetic, with
/// mix(x): x ^= x >> 16; x *= 0x7feb352d; x ^= x >> 15; x *= 0x846ca68b; x ^= x >> 16, and lo/hi the words of
/// a number:
///     key = mix(lo(stream) + 0x9e3779b9 * (hi(stream) + 1)) + 0x85ebca6b * hi(element)
///     result = (mix(mix(lo(element)) + key) >> 8) * 2^-24        (a multiple of 2^-24, exact in f32)
double random_uniform(std::uint64_t stream, std::uint64_t element);

/// Dropout of attention weights. A weight is kept when its byte is at least `threshold`, and then multiplied
/// by `scale`: the probability is rounded to a multiple of 1/256, as fused kernels do. Bytes come from the
/// 32 bits of which random_uniform() takes 24, at element row * 8 * ceil(keys / 32) + key / 32 * 8 + key % 8
/// / 2 * 2 + key % 32 / 16; the byte is key % 16 / 8 * 2 + key % 2. So the eight weights of a row and 32 keys
/// that one thread holds after a matrix instruction take two numbers.
struct WeightDropout {
    /// Throws heddle::Error for a probability outside of [0, 1).
    explicit WeightDropout(double probability, std::uint64_t stream = 0);
    std::uint32_t threshold;
    double scale;
    std::uint64_t stream;

    /// 0 or scale. `row`: in [batch, heads, queries].
    double factor(std::uint64_t row, std::uint64_t keys, std::uint64_t key) const;
};

/// Arithmetic operations per element (for FLOP counts): every node that is not an input, scalar, constant or
/// select.
unsigned operations_per_element(const Expression& expression);

}  // namespace heddle::expression
