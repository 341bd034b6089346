// PyTorch's pointwise kernels: the functor in the kernel's name says what is computed, the enclosing call on
// which operands.
#include <algorithm>
#include <functional>

#include "workloads/expression/derivative.h"
#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

/// What a functor computes: tensors that it reads, as positions among the call's operands, and the expression
/// over them.
struct Meaning {
    std::vector<std::size_t> operands;
    std::string expression;
    std::string assumed;  ///< what was not recorded
};

/// A number among the operands of a call: a literal, or a tensor on the host, whose value is not recorded (1
/// then).
struct Scalar {
    double value = 1;
    bool known = false;
};

Scalar scalar_operand(const Launch& launch, const Call& call, std::size_t index) {
    if (const Literal* literal = call.literal(index); literal != nullptr && literal->is_number()) {
        return {literal->number(0), true};
    }
    // rsub(self, 1.0) calls sub(1.0 as a tensor, self): the outer call has the number.
    const Call* outer = launch.recording.parent(call);
    if (outer != nullptr && outer->name == "rsub" && index == 0) {
        if (const Literal* literal = outer->literal(1); literal != nullptr && literal->is_number()) {
            return {literal->number(0), true};
        }
    }
    return {};
}

/// A functor's part of the kernel name and the calls of PyTorch that launch it. The enclosing call must be
/// one of them: recordings hang some kernels under the wrong call, and shapes alone would not tell.
struct Family {
    const char* functor;
    std::initializer_list<const char*> calls;
};

/// The first that the name contains counts.
const Family families[] = {
    {"CUDAFunctorOnSelf_add", {"add", "sub", "rsub"}},
    {"CUDAFunctorOnOther_add", {"add", "sub", "rsub"}},
    {"CUDAFunctor_add", {"add", "sub", "rsub"}},
    {"masked_fill_kernel", {"masked_fill"}},
    {"masked_scale_kernel", {"native_dropout_backward", "_masked_scale"}},
    {"pow_tensor_scalar", {"pow"}},
    {"launch_clamp_scalar", {"clamp", "clamp_min", "clamp_max", "relu"}},
    {"threshold_kernel", {"threshold_backward"}},
    {"compare_scalar_kernel", {"lt", "le", "gt", "ge", "eq", "ne"}},
    {"CompareEqFunctor", {"eq", "ne"}},
    {"CompareFunctor", {"lt", "le", "gt", "ge"}},
    {"where_kernel", {"where"}},
    {"Gelu", {"gelu", "gelu_backward"}},
    {"silu_backward", {"silu_backward"}},
    {"BUnaryFunctor", {"mul", "div"}},
    {"AUnaryFunctor", {"mul", "div"}},
    {"MulFunctor", {"mul"}},
    {"DivFunctor", {"div"}},
    {"BitwiseOrFunctor<bool>", {"bitwise_or", "logical_or", "__or__"}},
    {"BitwiseAndFunctor<bool>", {"bitwise_and", "logical_and", "__and__"}},
    {"BitwiseXorFunctor<bool>", {"bitwise_xor", "logical_xor", "__xor__"}},
    {"bitwise_not_kernel", {"bitwise_not"}},
    {"logical_not_kernel", {"logical_not"}},
    {"exp_kernel_cuda", {"exp"}},
    {"log_kernel_cuda", {"log"}},
    {"rsqrt_kernel_cuda", {"rsqrt", "pow"}},
    {"sqrt_kernel_cuda", {"sqrt", "pow"}},
    {"reciprocal_kernel_cuda", {"reciprocal", "pow"}},
    {"tanh_kernel_cuda", {"tanh"}},
    {"sigmoid_kernel_cuda", {"sigmoid"}},
    {"erf_kernel_cuda", {"erf"}},
    {"floor_kernel_cuda", {"floor"}},
    {"neg_kernel_cuda", {"neg"}},
    {"abs_kernel_cuda", {"abs"}},
    {"AbsFunctor", {"abs"}},
    {"silu_kernel", {"silu"}},
    {"tanh_backward_kernel", {"tanh_backward"}},
    {"sigmoid_backward_kernel", {"sigmoid_backward"}},
    {"maximum_kernel_cuda", {"maximum", "max"}},
    {"minimum_kernel_cuda", {"minimum", "min"}},
};

const Call& launching_call(const Launch& launch) {
    for (const Family& family : families) {
        if (!launch.name.contains(family.functor)) continue;
        const Call* call = launch.enclosing({family.calls.begin(), family.calls.end()});
        if (call == nullptr)
            throw NotUnderstood{std::string("no call that launches ") + family.functor + " was recorded"};
        return *call;
    }
    throw NotUnderstood{"functor of " + launch.name.function + " is not known"};
}

class Functor {
  public:
    Functor(const Launch& launch, const Call& call) : launch_(launch), call_(call) {
        for (std::size_t i = 0; i < call.inputs.size(); ++i) {
            if (call.gpu_tensor(i) != nullptr) tensors_.push_back(i);
        }
    }

    /// The meaning, or nothing when the functor is not known.
    std::optional<Meaning> meaning() const {
        if (has("CUDAFunctorOnSelf_add")) return self_plus_scalar();
        if (has("CUDAFunctorOnOther_add")) return scalar_plus_other();
        if (has("CUDAFunctor_add")) return sum();
        if (has("masked_fill_kernel")) return masked_fill();
        if (has("masked_scale_kernel")) return masked_scale();
        if (has("pow_tensor_scalar")) return power();
        if (has("launch_clamp_scalar")) return clamp();
        if (has("threshold_kernel")) return threshold();
        if (has("compare_scalar_kernel") || has("CompareEqFunctor") || has("CompareFunctor"))
            return compare();
        if (has("where_kernel")) return of({0, 1, 2}, "y0 = x0 != 0 ? x1 : x2");
        if (has("BUnaryFunctor") || has("AUnaryFunctor")) return scalar_product();
        if (has("Gelu")) return gelu();
        if (has("silu_backward")) return of({0, 1}, "t0 = sigmoid(x1); y0 = x0 * t0 * (1 + x1 * (1 - t0))");
        return table();
    }

  private:
    bool has(const std::string& text) const { return launch_.name.contains(text); }

    std::optional<Meaning> of(const std::vector<std::size_t>& operands, const std::string& expression) const {
        for (const std::size_t operand : operands) {
            if (call_.gpu_tensor(operand) == nullptr)
                throw NotUnderstood{"an operand of " + call_.name + " is missing"};
        }
        return Meaning{operands, expression, {}};
    }

    /// `text` with the scalar's number at '$'.
    Meaning with_scalar(std::size_t operand, std::string text, const Scalar& scalar) const {
        const std::size_t at = text.find('$');
        text.replace(at, 1, number_text(scalar.value));
        return {{operand}, text, scalar.known ? "" : "value 1 of a number that was not recorded"};
    }

    double literal(std::size_t index, double fallback) const {
        const Literal* value = call_.literal(index);
        return value != nullptr ? value->number(fallback) : fallback;
    }

    bool subtracts() const { return call_.name == "sub" || call_.name == "rsub"; }

    std::optional<Meaning> sum() const {
        const double alpha = literal(2, 1);
        const std::string sign = subtracts() ? " - " : " + ";
        if (alpha == 1) return of({0, 1}, "y0 = x0" + sign + "x1");
        return of({0, 1}, "y0 = x0" + sign + number_text(alpha) + " * x1");
    }
    std::optional<Meaning> self_plus_scalar() const {
        Scalar scalar = scalar_operand(launch_, call_, 1);
        scalar.value *= literal(2, 1);
        return with_scalar(0, subtracts() ? "y0 = x0 - $" : "y0 = x0 + $", scalar);
    }
    std::optional<Meaning> scalar_plus_other() const {
        const std::size_t tensor = tensors_.empty() ? 0 : tensors_.front();
        const Scalar scalar = scalar_operand(launch_, call_, tensor == 0 ? 1 : 0);
        if (tensor == 0 && subtracts()) return with_scalar(0, "y0 = x0 - $", scalar);
        return with_scalar(tensor, subtracts() ? "y0 = $ - x0" : "y0 = $ + x0", scalar);
    }
    std::optional<Meaning> scalar_product() const {
        if (tensors_.empty()) return std::nullopt;
        const std::size_t tensor = tensors_.front();
        const Scalar scalar = scalar_operand(launch_, call_, tensor == 0 ? 1 : 0);
        if (has("MulFunctor")) {
            // Division by a number is a multiplication by its reciprocal.
            Scalar factor = scalar;
            if (call_.name == "div") factor.value = 1 / factor.value;
            return with_scalar(tensor, "y0 = x0 * $", factor);
        }
        if (has("DivFunctor"))
            return with_scalar(tensor, has("AUnaryFunctor") ? "y0 = $ / x0" : "y0 = x0 / $", scalar);
        return std::nullopt;
    }
    std::optional<Meaning> masked_fill() const {
        auto meaning = of({0, 1}, "y0 = x1 != 0 ? " + number_text(literal(2, 0)) + " : x0");
        return meaning;
    }
    std::optional<Meaning> masked_scale() const {
        return of({0, 1}, "y0 = x0 * x1 * " + number_text(literal(2, 1)));
    }
    std::optional<Meaning> power() const {
        const double exponent = literal(1, 2);
        if (exponent == 2) return of({0}, "y0 = x0 * x0");
        if (exponent == 3) return of({0}, "y0 = x0 * x0 * x0");
        if (exponent == 0.5) return of({0}, "y0 = sqrt(x0)");
        if (exponent == -0.5) return of({0}, "y0 = rsqrt(x0)");
        if (exponent == -1) return of({0}, "y0 = reciprocal(x0)");
        return of({0}, "y0 = exp(" + number_text(exponent) + " * log(x0))");
    }
    std::optional<Meaning> clamp() const {
        if (call_.name == "relu") return of({0}, "y0 = max(x0, 0)");
        std::string text = "x0";
        const bool lower_only = call_.name == "clamp_min", upper_only = call_.name == "clamp_max";
        const Literal* lower = upper_only ? nullptr : call_.literal(1);
        const Literal* upper = upper_only ? call_.literal(1) : lower_only ? nullptr : call_.literal(2);
        if (lower != nullptr && lower->is_number())
            text = "max(" + text + ", " + number_text(lower->number(0)) + ")";
        if (upper != nullptr && upper->is_number())
            text = "min(" + text + ", " + number_text(upper->number(0)) + ")";
        return of({0}, "y0 = " + text);
    }
    std::optional<Meaning> threshold() const {
        // threshold_backward(gradient, self, threshold)
        return of({0, 1}, "y0 = x1 > " + number_text(literal(2, 0)) + " ? x0 : 0");
    }
    std::optional<Meaning> compare() const {
        static constexpr std::pair<const char*, const char*> symbols[] = {
            {"lt", "<"}, {"le", "<="}, {"gt", ">"}, {"ge", ">="}, {"eq", "=="}, {"ne", "!="}};
        for (const auto& [name, symbol] : symbols) {
            if (call_.name != name) continue;
            if (call_.gpu_tensor(1) != nullptr) return of({0, 1}, "y0 = x0 " + std::string(symbol) + " x1");
            return with_scalar(0, "y0 = x0 " + std::string(symbol) + " $", scalar_operand(launch_, call_, 1));
        }
        return std::nullopt;
    }
    std::optional<Meaning> gelu() const {
        bool tanh = false;
        for (const Argument& argument : call_.inputs) {
            tanh = tanh || (argument.value.text() != nullptr && *argument.value.text() == "tanh");
        }
        const std::string forward =
            tanh ? "0.5 * $ * (1 + tanh(0.7978845608028654 * ($ + 0.044715 * $ * $ * $)))"
                 : "0.5 * $ * (1 + erf($ * 0.7071067811865476))";
        if (!has("Backward")) return of({0}, "y0 = " + replaced(forward, "x0"));
        // gelu_backward(gradient, self)
        const auto formula = expression::parse("y0 = " + replaced(forward, "x0"));
        const auto derived = expression::renumber_inputs(expression::gradient(formula, 0), {1, 0});
        return of({0, 1}, expression::to_text(derived));
    }
    static std::string replaced(std::string text, const std::string& with) {
        for (std::size_t at = text.find('$'); at != std::string::npos; at = text.find('$', at))
            text.replace(at, 1, with);
        return text;
    }

    std::optional<Meaning> table() const {
        struct Entry {
            const char* functor;
            unsigned operands;
            const char* expression;
        };
        static constexpr Entry entries[] = {
            {"MulFunctor", 2, "y0 = x0 * x1"},
            {"DivFunctor", 2, "y0 = x0 / x1"},
            {"BitwiseOrFunctor<bool>", 2, "y0 = max(x0, x1)"},
            {"BitwiseAndFunctor<bool>", 2, "y0 = min(x0, x1)"},
            {"BitwiseXorFunctor<bool>", 2, "y0 = x0 != x1"},
            {"bitwise_not_kernel", 1, "y0 = 1 - x0"},
            {"logical_not_kernel", 1, "y0 = x0 == 0"},
            {"exp_kernel_cuda", 1, "y0 = exp(x0)"},
            {"log_kernel_cuda", 1, "y0 = log(x0)"},
            {"rsqrt_kernel_cuda", 1, "y0 = rsqrt(x0)"},
            {"sqrt_kernel_cuda", 1, "y0 = sqrt(x0)"},
            {"reciprocal_kernel_cuda", 1, "y0 = reciprocal(x0)"},
            {"tanh_kernel_cuda", 1, "y0 = tanh(x0)"},
            {"sigmoid_kernel_cuda", 1, "y0 = sigmoid(x0)"},
            {"erf_kernel_cuda", 1, "y0 = erf(x0)"},
            {"floor_kernel_cuda", 1, "y0 = floor(x0)"},
            {"neg_kernel_cuda", 1, "y0 = -x0"},
            {"abs_kernel_cuda", 1, "y0 = abs(x0)"},
            {"AbsFunctor", 1, "y0 = abs(x0)"},
            {"silu_kernel", 1, "y0 = x0 * sigmoid(x0)"},
            {"tanh_backward_kernel", 2, "y0 = x0 * (1 - x1 * x1)"},
            {"sigmoid_backward_kernel", 2, "y0 = x0 * x1 * (1 - x1)"},
            {"maximum_kernel_cuda", 2, "y0 = max(x0, x1)"},
            {"minimum_kernel_cuda", 2, "y0 = min(x0, x1)"},
        };
        for (const Entry& entry : entries) {
            if (!has(entry.functor)) continue;
            if (tensors_.size() < entry.operands)
                throw NotUnderstood{"an operand of " + call_.name + " is missing"};
            return of({tensors_.begin(), tensors_.begin() + entry.operands}, entry.expression);
        }
        return std::nullopt;
    }

    const Launch& launch_;
    const Call& call_;
    std::vector<std::size_t> tensors_;
};

bool is_pointwise(const KernelName& name) {
    return name.function == "vectorized_elementwise_kernel" ||
           name.function == "unrolled_elementwise_kernel" || name.function == "elementwise_kernel";
}

bool random_numbers(Builder& builder, const Launch& launch) {
    if (launch.name.function.rfind("distribution_elementwise", 0) != 0) return false;
    const Call& call =
        need(launch.enclosing({"random", "uniform", "normal", "bernoulli", "exponential"}), "random numbers");
    if (call.name != "random" && call.name != "uniform") throw NotUnderstood{"distribution " + call.name};
    Op op;
    op.kind = OpKind::random;
    op.set(keys::random.distribution, call.name == "random" ? "integer" : "uniform");
    const auto number = [&call](std::size_t index, double fallback) {
        return call.literal(index) != nullptr ? call.literal(index)->number(fallback) : fallback;
    };
    op.set(keys::random.low, number(1, 0));
    op.set(keys::random.high, number(2, 1));
    builder.output(op, need(call.gpu_tensor(0), "tensor of random numbers"));
    builder.add(std::move(op), launch, &call);
    return true;
}

}  // namespace

/// How the kernel walks over memory.
/// A kernel without offset calculators walks all operands alike: strides that differ were taken from a view
/// that this kernel did not read.
void drop_differing_strides(Op& op) {
    std::vector<std::string> operands;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) operands.push_back("input" + std::to_string(i));
    for (std::size_t i = 0; i < op.outputs.size(); ++i) operands.push_back("output" + std::to_string(i));
    const bool alike = std::all_of(operands.begin(), operands.end(), [&](const std::string& operand) {
        return op.strides(operand) == op.strides(operands.front());
    });
    if (alike) return;
    for (const std::string& operand : operands) op.drop_strides(operand);
}

void describe_access(Op& op, const KernelName& name) {
    if (name.function == "vectorized_elementwise_kernel" || name.contains("TrivialOffsetCalculator"))
        drop_differing_strides(op);
    if (name.function == "vectorized_elementwise_kernel") {
        op.set(keys::any.vector_width, name.integer(0).value_or(1));
    } else if (name.function == "unrolled_elementwise_kernel") {
        op.set(keys::any.vector_width, 1);
        op.set(keys::any.elements_per_thread, 4);
        const bool trivial = name.contains("TrivialOffsetCalculator");
        op.set(keys::any.strided, !trivial);
        op.set(keys::any.casting, name.contains("LoadWithCast"));
    } else if (name.function == "elementwise_kernel") {
        op.set(keys::any.vector_width, 1);
        op.set(keys::any.elements_per_thread, name.integer(1).value_or(1));
        op.set(keys::any.strided, 1);
        op.set(keys::any.in_turn, 1);
    }
}

void fill_operation(Builder& builder, const Launch& launch) {
    const Call& call =
        need(launch.enclosing({"fill", "zero", "full", "ones", "zeros", "ones_like", "zeros_like"}), "fill");
    Op op;
    op.kind = OpKind::fill;
    const Literal* value = call.name == "fill" ? call.literal(1) : nullptr;
    op.set(keys::fill.value, value != nullptr                  ? value->number(0)
                             : call.name.rfind("ones", 0) == 0 ? 1.0
                                                               : 0.0);
    const RecordedTensor* target = call.gpu_tensor(0) != nullptr ? call.gpu_tensor(0) : call.output_tensor(0);
    builder.output(op, need(target, "filled tensor"));
    describe_access(op, launch.name);
    builder.add(std::move(op), launch, &call);
}

void arange_operation(Builder& builder, const Launch& launch) {
    // arange(start, end, step, out)
    const Call& call = need(launch.enclosing({"arange"}), "arange");
    const auto number = [&call](std::size_t index, double fallback) {
        return call.literal(index) != nullptr ? call.literal(index)->number(fallback) : fallback;
    };
    Op op;
    op.kind = OpKind::fill;
    op.set(keys::fill.value, number(0, 0));
    op.set(keys::fill.step, number(2, 1));
    builder.output(op, need(call.output_tensor(0), "result of arange"));
    builder.add(std::move(op), launch, &call);
}

void dropout_operation(Builder& builder, const Launch& launch) {
    const Call& call = need(launch.enclosing({"native_dropout", "_fused_dropout"}), "dropout");
    const double drop = call.literal(1) != nullptr ? call.literal(1)->number(0.5) : 0.5;
    const double keep = call.name == "_fused_dropout" ? drop : 1 - drop;
    Op op;
    op.kind = OpKind::elementwise;
    op.set(keys::elementwise.expression, "t0 = random(0) < " + number_text(keep) + "; y0 = t0 * x0 * " +
                                             number_text(1 / keep) + "; y1 = t0");
    if (const auto vector = launch.name.integer(4)) op.set(keys::any.vector_width, *vector);
    builder.input(op, need(call.gpu_tensor(0), "operand of dropout"));
    builder.output(op, need(call.output_tensor(0), "result of dropout"));
    builder.output(op, need(call.output_tensor(1), "mask of dropout"));
    builder.add(std::move(op), launch, &call);
}

bool elementwise_rule(Builder& builder, const Launch& launch) {
    if (launch.name.contains("arange_cuda")) {
        arange_operation(builder, launch);
        return true;
    }
    if (launch.name.function.rfind("fused_dropout_kernel", 0) == 0) {
        dropout_operation(builder, launch);
        return true;
    }
    if (random_numbers(builder, launch)) return true;
    if (!is_pointwise(launch.name) || launch.name.contains("direct_copy_kernel")) return false;
    if (launch.name.contains("FillFunctor")) {
        fill_operation(builder, launch);
        return true;
    }
    const Call& call = launching_call(launch);
    const auto meaning = Functor(launch, call).meaning();
    if (!meaning) throw NotUnderstood{"functor of " + call.name + " is not known"};
    Op op;
    op.kind = OpKind::elementwise;
    op.set(keys::elementwise.expression, meaning->expression);
    if (!meaning->assumed.empty()) assume(op, meaning->assumed);
    for (const std::size_t operand : meaning->operands)
        builder.input(op, need(call.gpu_tensor(operand), "operand of " + call.name));
    builder.output(op, need(call.output_tensor(0), "result of " + call.name));
    describe_access(op, launch.name);
    builder.add(std::move(op), launch, &call);
    return true;
}

}  // namespace heddle::importers
