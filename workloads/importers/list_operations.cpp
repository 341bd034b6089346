// Ops over lists of tensors: _foreach_ and the fused optimizers. All tensors of a list count as one flat
// tensor that starts where the first of them does, as the kernels walk over them.
#include <algorithm>
#include <unordered_map>

#include "isa/common/checked.h"
#include "workloads/importers/operations.h"

namespace heddle::importers {
namespace {

/// "#0", "#1", ... are lists, or tensors of one element, or numbers of the call; "@n" the number n, with a
/// default of 1.
const std::unordered_map<std::string, const char*>& formulas() {
    static const std::unordered_map<std::string, const char*> table{
        {"_foreach_add", "#0 + @2 * #1"},
        {"_foreach_sub", "#0 - @2 * #1"},
        {"_foreach_mul", "#0 * #1"},
        {"_foreach_div", "#0 / #1"},
        {"_foreach_pow", "exp(#1 * log(#0))"},
        {"_foreach_addcmul", "#0 + @3 * #1 * #2"},
        {"_foreach_addcdiv", "#0 + @3 * #1 / #2"},
        {"_foreach_lerp", "#0 + @2 * (#1 - #0)"},
        {"_foreach_sqrt", "sqrt(#0)"},
        {"_foreach_neg", "-#0"},
        {"_foreach_abs", "abs(#0)"},
        {"_foreach_sign", "(#0 > 0) - (#0 < 0)"},
        {"_foreach_exp", "exp(#0)"},
        {"_foreach_reciprocal", "reciprocal(#0)"},
        {"_foreach_maximum", "max(#0, #1)"},
        {"_foreach_minimum", "min(#0, #1)"},
        {"_foreach_clamp_max", "min(#0, #1)"},
        {"_foreach_clamp_min", "max(#0, #1)"},
        {"_foreach_copy", "#1"},
    };
    return table;
}

/// (parameters, gradients, first and second moments, maxima, steps, rate, ...): Adam with decoupled decay or
/// not.
constexpr const char* adams[] = {"_fused_adam", "_fused_adamw"};

RecordedTensor flat(const std::vector<RecordedTensor>& tensors) {
    RecordedTensor result = tensors.front();
    std::int64_t elements = 0;
    for (const RecordedTensor& tensor : tensors) {
        elements += tensor.elements();
        if (!gates::kElements.admits(elements))
            throw NotUnderstood{"its tensors have more elements than there can be"};
    }
    result.shape = {elements};
    result.strides = {1};
    return result;
}

const std::vector<RecordedTensor>& list_operand(const Call& call, std::size_t index, const char* what) {
    if (index >= call.inputs.size() || call.inputs[index].tensors.empty())
        throw NotUnderstood{std::string("no list of ") + what + " was recorded"};
    return call.inputs[index].tensors;
}

void replace(std::string& text, const std::string& mark, const std::string& with) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + with.size()))
        text.replace(at, mark.size(), with);
}

/// Small steps counters lie in lists of their own; they are scalars on the device.
void by_formula(Builder& builder, const Launch& launch, const Call& call, std::string text) {
    const RecordedTensor self = flat(list_operand(call, 0, "tensors"));
    Op op;
    op.kind = OpKind::elementwise;
    for (std::size_t i = 0; i < 4; ++i) {
        replace(text, "@" + std::to_string(i), number_text(number_operand(call, i, 1)));
        const std::string mark = "#" + std::to_string(i);
        if (text.find(mark) == std::string::npos) continue;
        const bool list = i < call.inputs.size() && !call.inputs[i].tensors.empty();
        if (list || call.gpu_tensor(i) != nullptr) {
            replace(text, mark, "x" + std::to_string(op.inputs.size()));
            RecordedTensor other = list ? flat(call.inputs[i].tensors) : *call.gpu_tensor(i);
            builder.input(op, other);
            continue;
        }
        if (call.literal(i) == nullptr || !call.literal(i)->is_number())
            assume(op, "value 1 of numbers that were not recorded");
        replace(text, mark, number_text(number_operand(call, i, 1)));
    }
    op.set(keys::elementwise.expression, "y0 = " + text);
    const bool in_place =
        call.full_name.ends_with("_") || call.outputs.empty() || call.outputs[0].tensors.empty();
    builder.output(op, in_place ? self : flat(call.outputs[0].tensors));
    builder.add(std::move(op), launch, &call);
}

void adam(Builder& builder, const Launch& launch, const Call& call) {
    Op op;
    op.kind = OpKind::elementwise;
    op.set(keys::elementwise.expression,
           "y1 = s1 * x2 + (1 - s1) * x0; y2 = s2 * x3 + (1 - s2) * x0 * x0; "
           "y0 = x1 - s0 * (y1 / s3 / (sqrt(y2 / s4) + s5) + s6 * x1)");
    op.set(keys::elementwise.scalars, {1e-4, 0.9, 0.999, 0.1, 0.001, 1e-8, 0.01});
    assume(op, "learning rate, decays and epsilon with usual values, bias corrections of the first step");
    const RecordedTensor parameters = flat(list_operand(call, 0, "parameters")),
                         gradients = flat(list_operand(call, 1, "gradients")),
                         first = flat(list_operand(call, 2, "first moments")),
                         second = flat(list_operand(call, 3, "second moments"));
    for (const RecordedTensor* tensor : {&gradients, &parameters, &first, &second})
        builder.input(op, *tensor);
    for (const RecordedTensor* tensor : {&parameters, &first, &second}) builder.output(op, *tensor);
    builder.add(std::move(op), launch, &call);
}

void sgd(Builder& builder, const Launch& launch, const Call& call) {
    // (parameters, gradients, momentum buffers, ...)
    const RecordedTensor parameters = flat(list_operand(call, 0, "parameters")),
                         gradients = flat(list_operand(call, 1, "gradients"));
    const bool momentum = call.inputs.size() > 2 && !call.inputs[2].tensors.empty();
    Op op;
    op.kind = OpKind::elementwise;
    op.set(keys::elementwise.scalars, {0.01, 0.9});
    assume(op, "learning rate and momentum with usual values");
    op.set(keys::elementwise.expression,
           momentum ? "y1 = s1 * x2 + x0; y0 = x1 - s0 * y1" : "y0 = x1 - s0 * x0 + 0 * s1");
    builder.input(op, gradients);
    builder.input(op, parameters);
    if (momentum) builder.input(op, flat(call.inputs[2].tensors));
    builder.output(op, parameters);
    if (momentum) builder.output(op, flat(call.inputs[2].tensors));
    builder.add(std::move(op), launch, &call);
}

void clear(Builder& builder, const Launch& launch, const Call& call) {
    Op op;
    op.kind = OpKind::fill;
    op.set(keys::fill.value, 0.0);
    builder.output(op, flat(list_operand(call, 0, "tensors")));
    builder.add(std::move(op), launch, &call);
}

/// Two passes: sums of squares of chunks, then of those; here one pass into one number.
void norms(Builder& builder, const Launch& launch, const Call& call) {
    const RecordedTensor all = flat(list_operand(call, 0, "tensors"));
    Op op;
    op.kind = OpKind::reduce;
    op.set(keys::reduce.reduction, "sum");
    op.set(keys::reduce.expression, "y0 = x0 * x0");
    assume(op, "one norm of all tensors instead of one of each");
    builder.input(op, all);
    builder.output(op, builder.invented(ElementType::f32, {}));
    builder.add(std::move(op), launch, &call);
}

}  // namespace

bool is_list_operation(const std::string& name) {
    return formulas().contains(name) || name == adams[0] || name == adams[1] || name == "_fused_sgd" ||
           name == "_foreach_norm" || name == "_foreach_zero";
}

bool list_operation(Builder& builder, const Launch& launch, const Call& call) {
    if (!is_list_operation(call.name)) return false;
    if (const auto found = formulas().find(call.name); found != formulas().end()) {
        by_formula(builder, launch, call, found->second);
    } else if (call.name == "_fused_sgd") {
        sgd(builder, launch, call);
    } else if (call.name == "_foreach_norm") {
        norms(builder, launch, call);
    } else if (call.name == "_foreach_zero") {
        clear(builder, launch, call);
    } else {
        adam(builder, launch, call);
    }
    return true;
}

}  // namespace heddle::importers
