// Ops that map elements to elements.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "workloads/expression/derivative.h"
#include "workloads/importers/operations.h"
#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

/// "$n" is operand n of the call: a tensor, or a number.
const std::unordered_map<std::string, const char*>& formulas() {
    static const std::unordered_map<std::string, const char*> table{
        {"add", "$0 + $1"},
        {"sub", "$0 - $1"},
        {"rsub", "$1 - $0"},
        {"mul", "$0 * $1"},
        {"multiply", "$0 * $1"},
        {"div", "$0 / $1"},
        {"divide", "$0 / $1"},
        {"true_divide", "$0 / $1"},
        {"floor_divide", "floor($0 / $1)"},
        {"remainder", "$0 - floor($0 / $1) * $1"},
        {"neg", "-$0"},
        {"exp", "exp($0)"},
        {"expm1", "exp($0) - 1"},
        {"log", "log($0)"},
        {"log1p", "log(1 + $0)"},
        {"log2", "log($0) * 1.4426950408889634"},
        {"exp2", "exp($0 * 0.6931471805599453)"},
        {"sqrt", "sqrt($0)"},
        {"rsqrt", "rsqrt($0)"},
        {"reciprocal", "reciprocal($0)"},
        {"square", "$0 * $0"},
        {"abs", "abs($0)"},
        {"sign", "($0 > 0) - ($0 < 0)"},
        {"sgn", "($0 > 0) - ($0 < 0)"},
        {"floor", "floor($0)"},
        {"ceil", "-floor(-$0)"},
        {"round", "floor($0 + 0.5)"},
        {"trunc", "$0 > 0 ? floor($0) : -floor(-$0)"},
        {"erf", "erf($0)"},
        {"tanh", "tanh($0)"},
        {"sigmoid", "sigmoid($0)"},
        {"relu", "max($0, 0)"},
        {"relu6", "min(max($0, 0), 6)"},
        {"silu", "$0 * sigmoid($0)"},
        {"mish", "$0 * tanh(log(1 + exp($0)))"},
        {"softplus", "log(1 + exp($0))"},
        {"leaky_relu", "$0 > 0 ? $0 : $1 * $0"},
        {"elu", "$0 > 0 ? $0 : $1 * (exp($0) - 1)"},
        {"hardtanh", "min(max($0, $1), $2)"},
        {"hardsigmoid", "min(max($0 + 3, 0), 6) / 6"},
        {"hardswish", "$0 * min(max($0 + 3, 0), 6) / 6"},
        {"log_sigmoid_forward", "-log(1 + exp(-$0))"},
        {"threshold", "$0 > $1 ? $0 : $2"},
        {"threshold_backward", "$1 > $2 ? $0 : 0"},
        {"tanh_backward", "$0 * (1 - $1 * $1)"},
        {"sigmoid_backward", "$0 * $1 * (1 - $1)"},
        {"silu_backward", "t0 = sigmoid($1); y0 = $0 * t0 * (1 + $1 * (1 - t0))"},
        {"leaky_relu_backward", "$1 > 0 ? $0 : $2 * $0"},
        {"hardtanh_backward", "($1 > $2) * ($1 < $3) * $0"},
        {"hardswish_backward", "$1 < -3 ? 0 : ($1 > 3 ? $0 : $0 * ($1 / 3 + 0.5))"},
        {"hardsigmoid_backward", "($1 > -3) * ($1 < 3) * $0 / 6"},
        {"softplus_backward", "$0 * sigmoid($1)"},
        {"native_dropout_backward", "$0 * $1 * $2"},
        {"_masked_scale", "$0 * $1 * $2"},
        {"maximum", "max($0, $1)"},
        {"minimum", "min($0, $1)"},
        {"fmax", "max($0, $1)"},
        {"fmin", "min($0, $1)"},
        {"clamp_min", "max($0, $1)"},
        {"clamp_max", "min($0, $1)"},
        {"where", "$0 != 0 ? $1 : $2"},
        {"masked_fill", "$1 != 0 ? $2 : $0"},
        {"lt", "$0 < $1"},
        {"le", "$0 <= $1"},
        {"gt", "$0 > $1"},
        {"ge", "$0 >= $1"},
        {"eq", "$0 == $1"},
        {"ne", "$0 != $1"},
        {"less", "$0 < $1"},
        {"greater", "$0 > $1"},
        {"isnan", "$0 != $0"},
        {"isinf", "abs($0) == inf"},
        {"isfinite", "abs($0) < inf"},
        {"logical_and", "($0 != 0) * ($1 != 0)"},
        {"logical_or", "max($0 != 0, $1 != 0)"},
        {"logical_xor", "($0 != 0) != ($1 != 0)"},
        {"logical_not", "$0 == 0"},
        {"nan_to_num", "$0 == $0 ? $0 : 0"},
        {"addcmul", "$0 + $3 * $1 * $2"},
        {"addcdiv", "$0 + $3 * $1 / $2"},
        {"lerp", "$0 + $2 * ($1 - $0)"},
        {"mse_loss_backward", "$0 * 2 * ($1 - $2)"},
        {"glu_part", "$0"},
    };
    return table;
}

constexpr const char* special[] = {"pow",         "clamp",      "gelu",        "gelu_backward",
                                   "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not",
                                   "__and__",     "__or__",     "__xor__"};
constexpr const char* boolean[] = {"lt",          "le",         "gt",      "ge",          "eq",
                                   "ne",          "less",       "isnan",   "isinf",       "isfinite",
                                   "logical_and", "logical_or", "greater", "logical_xor", "logical_not"};

bool listed(const char* const* begin, const char* const* end, const std::string& name) {
    return std::any_of(begin, end, [&name](const char* one) { return name == one; });
}

std::string replaced(std::string text, const std::string& from, const std::string& with) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + with.size()))
        text.replace(at, from.size(), with);
    return text;
}

/// The op's formula with "$n" for its operands; empty when the name or the types say nothing certain.
std::string formula_of(const Call& call) {
    const std::string& name = call.name;
    const auto text = [&call](std::size_t i) {
        return call.literal(i) != nullptr && call.literal(i)->text() != nullptr ? *call.literal(i)->text()
                                                                                : std::string();
    };
    if (name == "add" || name == "sub") {
        const double alpha = number_operand(call, 2, 1);
        if (alpha == 1) return formulas().at(name);
        return name == "add" ? "$0 + $2 * $1" : "$0 - $2 * $1";
    }
    if (name == "pow") {
        const double exponent = number_operand(call, 1, 2);
        if (call.gpu_tensor(1) != nullptr) return "exp($1 * log($0))";
        if (exponent == 2) return "$0 * $0";
        if (exponent == 3) return "$0 * $0 * $0";
        if (exponent == 0.5) return "sqrt($0)";
        if (exponent == -0.5) return "rsqrt($0)";
        if (exponent == -1) return "reciprocal($0)";
        return "exp(" + number_text(exponent) + " * log($0))";
    }
    if (name == "clamp") {
        std::string inner = "$0";
        for (const std::size_t i : {1u, 2u}) {
            const Literal* bound = call.literal(i);
            const bool given = call.gpu_tensor(i) != nullptr || (bound != nullptr && bound->is_number());
            if (given) inner.insert(0, i == 1 ? "max(" : "min(").append(", $" + std::to_string(i) + ")");
        }
        return inner;
    }
    if (name == "gelu" || name == "gelu_backward") {
        const bool tanh = text(name == "gelu" ? 1 : 2) == "tanh";
        const std::string forward =
            tanh ? "0.5 * # * (1 + tanh(0.7978845608028654 * (# + 0.044715 * # * # * #)))"
                 : "0.5 * # * (1 + erf(# * 0.7071067811865476))";
        if (name == "gelu") return replaced(forward, "#", "$0");
        const auto formula = expression::parse("y0 = " + replaced(forward, "#", "x0"));
        const auto derived = expression::renumber_inputs(expression::gradient(formula, 0), {1, 0});
        return replaced(replaced(expression::to_text(derived), "x0", "$0"), "x1", "$1");
    }
    const RecordedTensor* first = call.gpu_tensor(0);
    const bool logic = first != nullptr && first->type == ElementType::boolean;
    if (name == "bitwise_and" || name == "__and__") return logic ? "min($0, $1)" : "";
    if (name == "bitwise_or" || name == "__or__") return logic ? "max($0, $1)" : "";
    if (name == "bitwise_xor" || name == "__xor__") return logic ? "$0 != $1" : "";
    if (name == "bitwise_not") return logic ? "1 - $0" : "-1 - $0";
    const auto found = formulas().find(name);
    return found == formulas().end() ? "" : found->second;
}

/// Default of the number at `index`, where PyTorch's schema has one and the recording leaves it out.
double default_of(const std::string& name, std::size_t index) {
    if (name == "leaky_relu" || name == "leaky_relu_backward") return 0.01;
    if (name == "hardtanh" || name == "hardtanh_backward")
        return index == 1 || (index == 2 && name.size() > 8) ? -1 : 1;
    if (name == "threshold_backward" || name == "threshold") return 0;
    return 1;
}

}  // namespace

bool is_pointwise_operation(const std::string& name) {
    return formulas().contains(name) || listed(std::begin(special), std::end(special), name);
}
bool makes_booleans(const std::string& name) {
    return listed(std::begin(boolean), std::end(boolean), name);
}

bool pointwise_operation(Builder& builder, const Launch& launch, const Call& call) {
    if (!is_pointwise_operation(call.name)) return false;
    std::string text = formula_of(call);
    if (text.empty()) throw NotUnderstood{"the meaning of " + call.name + " is not certain"};
    if (text.find("y0 = ") == std::string::npos) text = "y0 = " + text;
    Op op;
    op.kind = OpKind::elementwise;
    const RecordedTensor& result = need(call.output_tensor(0), "result of " + call.name);
    for (std::size_t i = 0; i < 5; ++i) {
        const std::string mark = "$" + std::to_string(i);
        if (text.find(mark) == std::string::npos) continue;
        if (const RecordedTensor* tensor = call.gpu_tensor(i)) {
            text = replaced(text, mark, "x" + std::to_string(op.inputs.size()));
            builder.input(op, *tensor);
            continue;
        }
        const Literal* number = call.literal(i);
        const bool known = number != nullptr && number->is_number();
        if (!known) assume(op, "value of a number that was not recorded");
        text = replaced(text, mark, number_text(known ? number->number(1) : default_of(call.name, i)));
    }
    if (op.inputs.empty()) throw NotUnderstood{"no operand of " + call.name + " was recorded"};
    op.set(keys::elementwise.expression, text);
    builder.output(op, result);
    describe_access(op, launch.name);
    builder.add(std::move(op), launch, &call);
    return true;
}

}  // namespace heddle::importers
