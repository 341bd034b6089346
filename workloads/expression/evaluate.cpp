// The meaning of an Expression on double-precision numbers.
#include <algorithm>
#include <cmath>
#include <limits>

#include "isa/common/error.h"
#include "isa/numerics/philox.h"
#include "workloads/expression/builder.h"
#include "workloads/expression/expression.h"

namespace heddle::expression {
namespace {

/// A bijection of 32-bit words in which every input bit reaches every output bit (two multiply-xorshift
/// rounds; the constants are Chris Wellons' "lowbias32", https://nullprogram.com/blog/2018/07/31/).
std::uint32_t mix(std::uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    x ^= x >> 16;
    return x;
}

/// The operand that is not NaN wins, as in PTX max.f32 and IEEE 754 maximumNumber; +0 is above -0.
double maximum(double a, double b) {
    if (std::isnan(a)) return b;
    if (std::isnan(b)) return a;
    if (a == b) return std::signbit(a) ? b : a;
    return a > b ? a : b;
}

double minimum(double a, double b) {
    return -maximum(-a, -b);
}

std::uint32_t random_bits(std::uint64_t stream, std::uint64_t element) {
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
    const std::uint32_t key =
        mix(low(stream) + 0x9e3779b9u * (high(stream) + 1)) + 0x85ebca6bu * high(element);
    return mix(mix(low(element)) + key);
}

}  // namespace

double apply(Operator op, double a, double b, double c) {
    switch (op) {
        case Operator::add:
            return a + b;
        case Operator::subtract:
            return a - b;
        case Operator::multiply:
            return a * b;
        case Operator::divide:
            return a / b;
        case Operator::minimum:
            return minimum(a, b);
        case Operator::maximum:
            return maximum(a, b);
        case Operator::negate:
            return -a;
        case Operator::absolute:
            return std::fabs(a);
        case Operator::exponential:
            return std::exp(a);
        case Operator::logarithm:
            return std::log(a);
        case Operator::square_root:
            return std::sqrt(a);
        case Operator::reciprocal_square_root:
            return 1 / std::sqrt(a);
        case Operator::reciprocal:
            return 1 / a;
        case Operator::hyperbolic_tangent:
            return std::tanh(a);
        case Operator::sigmoid:
            return 1 / (1 + std::exp(-a));
        case Operator::error_function:
            return std::erf(a);
        case Operator::floor:
            return std::floor(a);
        case Operator::greater:
            return a > b ? 1 : 0;
        case Operator::greater_equal:
            return a >= b ? 1 : 0;
        case Operator::less:
            return a < b ? 1 : 0;
        case Operator::less_equal:
            return a <= b ? 1 : 0;
        case Operator::equal:
            return a == b ? 1 : 0;
        case Operator::not_equal:
            return a != b ? 1 : 0;
        case Operator::select:
            return a != 0 ? b : c;
        default:
            break;
    }
    return std::numeric_limits<double>::quiet_NaN();
}

double random_uniform(std::uint64_t stream, std::uint64_t element) {
    return static_cast<double>(random_bits(stream, element) >> 8) * 0x1p-24;
}

WeightDropout::WeightDropout(double probability, std::uint64_t stream_number) : stream(stream_number) {
    if (!(probability >= 0 && probability < 1))
        throw Error("dropout of " + std::to_string(probability) + " is not a probability below 1");
    threshold = std::min(255u, static_cast<std::uint32_t>(std::lround(probability * 256)));
    scale = 256.0 / (256 - threshold);
}

double WeightDropout::factor(std::uint64_t row, std::uint64_t keys, std::uint64_t key) const {
    const std::uint64_t element =
        row * ((keys + 31) / 32 * 8) + key / 32 * 8 + key % 8 / 2 * 2 + key % 32 / 16;
    const std::uint32_t byte = random_bits(stream, element) >> (key % 16 / 8 * 16 + key % 2 * 8) & 0xff;
    return byte >= threshold ? scale : 0;
}

void evaluate(const Expression& expression, std::span<const double> inputs, std::span<const double> scalars,
              std::uint64_t element, std::span<double> outputs) {
    if (inputs.size() < expression.input_count || scalars.size() < expression.scalar_count ||
        outputs.size() < expression.outputs.size()) {
        throw Error("an expression with " + std::to_string(expression.input_count) + " inputs, " +
                        std::to_string(expression.scalar_count) + " scalars and " +
                        std::to_string(expression.outputs.size()) + " outputs was given fewer values",
                    {.key = to_text(expression)});
    }
    constexpr std::size_t small_size = 64;
    double small[small_size];
    std::vector<double> large;
    double* value = small;
    if (expression.nodes.size() > small_size) {
        large.resize(expression.nodes.size());
        value = large.data();
    }
    for (std::size_t i = 0; i < expression.nodes.size(); ++i) {
        const Node& node = expression.nodes[i];
        switch (node.op) {
            case Operator::input:
                value[i] = inputs[node.index];
                break;
            case Operator::scalar:
                value[i] = scalars[node.index];
                break;
            case Operator::constant:
                value[i] = node.value;
                break;
            case Operator::random:
                value[i] = random_uniform(node.index, element);
                break;
            case Operator::philox:
                value[i] = numerics::philox_by_counter(node.index, element);
                break;
            case Operator::position:
                value[i] = static_cast<double>(element);
                break;
            default:
                value[i] = apply(node.op, value[node.a], node.b < 0 ? 0 : value[node.b],
                                 node.c < 0 ? 0 : value[node.c]);
        }
    }
    for (std::size_t i = 0; i < expression.outputs.size(); ++i) outputs[i] = value[expression.outputs[i]];
}

unsigned operations_per_element(const Expression& expression) {
    return static_cast<unsigned>(
        std::count_if(expression.nodes.begin(), expression.nodes.end(), [](const Node& node) {
            return node.op != Operator::input && node.op != Operator::scalar &&
                   node.op != Operator::constant && node.op != Operator::select &&
                   node.op != Operator::position;
        }));
}

}  // namespace heddle::expression
