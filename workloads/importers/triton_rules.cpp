// Kernels that TorchInductor fused: "triton_poi_fused_add_mul_tanh_0" lists the kind of loop (poi, red, per)
// and, sorted, the PyTorch ops inside. Only sets whose meaning is certain are taken.
#include <algorithm>

#include "workloads/expression/derivative.h"
#include "workloads/importers/rules.h"

namespace heddle::importers {
namespace {

struct Fused {
    std::string loop;              ///< poi: pointwise, red and per: reductions
    std::vector<std::string> ops;  ///< sorted, as in the name
};

/// Multi-word ops of PyTorch that names join with underscores too.
const std::vector<std::string> long_names{"native_dropout_backward", "native_dropout", "native_layer_norm",
                                          "_to_copy", "gelu_backward"};

std::optional<Fused> parse_fused(const std::string& name) {
    const std::string prefix = "triton_";
    if (name.rfind(prefix, 0) != 0) return std::nullopt;
    const std::size_t loop_end = name.find("_fused_");
    if (loop_end == std::string::npos) return std::nullopt;
    Fused fused;
    fused.loop = name.substr(prefix.size(), loop_end - prefix.size());
    std::string rest = name.substr(loop_end + 7);
    if (const std::size_t number = rest.rfind('_'); number != std::string::npos) rest.erase(number);
    while (!rest.empty()) {
        const auto known =
            std::find_if(long_names.begin(), long_names.end(),
                         [&rest](const std::string& word) { return rest.rfind(word, 0) == 0; });
        const std::size_t length =
            known != long_names.end() ? known->size() : std::min(rest.find('_'), rest.size());
        fused.ops.push_back(rest.substr(0, length));
        rest.erase(0, std::min(length + 1, rest.size()));
    }
    return fused;
}

/// The call that carries the fused name: the kernel itself or the one around it.
const Call* fused_call(const Launch& launch) {
    if (parse_fused(launch.kernel.name)) return &launch.kernel;
    for (const Call* call : launch.recording.enclosing(launch.kernel)) {
        if (parse_fused(call->name)) return call;
    }
    return nullptr;
}

std::vector<RecordedTensor> tensors_of(const Call& call) {
    std::vector<RecordedTensor> result;
    for (std::size_t i = 0; i < call.inputs.size(); ++i) {
        if (const RecordedTensor* tensor = call.gpu_tensor(i)) result.push_back(*tensor);
    }
    return result;
}

const std::string gelu = "0.5 * t0 * (1 + tanh(0.7978845608028654 * (t0 + 0.044715 * t0 * t0 * t0)))";

/// The dropout probability that the model uses elsewhere; PyTorch's calls name it, fused kernels do not.
double dropout_probability(const Recording& recording, Op& op) {
    for (const Call& call : recording.calls()) {
        if (call.name != "native_dropout" && call.name != "dropout") continue;
        const Literal* value = call.literal(1);
        if (value == nullptr || !value->is_number()) continue;
        assume(op, "dropout probability " + number_text(value->number(0)) + " of the model's other dropouts");
        return value->number(0);
    }
    assume(op, "dropout probability 0.1");
    return 0.1;
}

/// residual + dropout(x + bias): operands are the seed, then (by shape) two tensors and perhaps a vector;
/// results are the mask and the sum, in this order.
void add_dropout(Builder& builder, Op& op, const Launch& launch, std::vector<RecordedTensor> tensors) {
    if (tensors.size() < 4) throw NotUnderstood{"operands of the fused dropout"};
    const RecordedTensor result = tensors.back(), mask = tensors[tensors.size() - 2];
    tensors.resize(tensors.size() - 2);
    if (mask.type != ElementType::boolean || mask.shape != result.shape)
        throw NotUnderstood{"mask of the fused dropout"};
    const RecordedTensor seed = tensors.front();
    tensors.erase(tensors.begin());
    const double keep = 1 - dropout_probability(launch.recording, op);
    const std::string bias = tensors.size() == 3 ? "x1 + x2" : "x1";
    if (tensors.size() < 2 || tensors.size() > 3) throw NotUnderstood{"operands of the fused dropout"};
    op.set(keys::elementwise.expression, "t0 = philox(0) < " + number_text(keep) +
                                             "; y0 = t0; y1 = x0 + t0 * (" + bias + ") * " +
                                             number_text(1 / keep));
    for (const RecordedTensor& tensor : tensors) builder.input(op, tensor);
    builder.input(op, seed);  // steers the generator; not read by the expression
    builder.output(op, mask);
    builder.output(op, result);
}

void dropout_backward(Builder& builder, Op& op, const Launch& launch,
                      const std::vector<RecordedTensor>& tensors) {
    if (tensors.size() != 3) throw NotUnderstood{"operands of the fused dropout gradient"};
    const double keep = 1 - dropout_probability(launch.recording, op);
    op.set(keys::elementwise.expression, "y0 = x0 * x1 * " + number_text(1 / keep));
    builder.input(op, tensors[0]);
    builder.input(op, tensors[1]);
    builder.output(op, tensors[2]);
}

/// gelu(x) or gelu(bias + x).
void gelu_forward(Builder& builder, Op& op, const std::vector<RecordedTensor>& tensors) {
    if (tensors.size() != 2 && tensors.size() != 3) throw NotUnderstood{"operands of the fused GELU"};
    op.set(keys::elementwise.expression,
           (tensors.size() == 3 ? "t0 = x0 + x1; y0 = " : "t0 = x0; y0 = ") + gelu);
    for (std::size_t i = 0; i + 1 < tensors.size(); ++i) builder.input(op, tensors[i]);
    builder.output(op, tensors.back());
}

/// Operands (bias,) x, upstream gradient and the result.
void gelu_backward(Builder& builder, Op& op, const std::vector<RecordedTensor>& tensors) {
    if (tensors.size() != 3 && tensors.size() != 4)
        throw NotUnderstood{"operands of the fused GELU gradient"};
    const bool bias = tensors.size() == 4;
    const auto forward = expression::parse((bias ? "t0 = x0 + x1; y0 = " : "t0 = x0; y0 = ") + gelu);
    op.set(keys::elementwise.expression, expression::to_text(expression::gradient(forward, bias ? 1 : 0)));
    for (std::size_t i = 0; i + 1 < tensors.size(); ++i) builder.input(op, tensors[i]);
    builder.output(op, tensors.back());
}

/// Sum over the axes in which the result has extent 1.
void sum(Builder& builder, Op& op, const std::vector<RecordedTensor>& tensors) {
    if (tensors.size() != 2) throw NotUnderstood{"operands of the fused sum"};
    const Shape &from = tensors[0].shape, &to = tensors[1].shape;
    if (from.size() != to.size()) throw NotUnderstood{"axes of the fused sum"};
    std::vector<std::int64_t> axes;
    for (std::size_t i = 0; i < from.size(); ++i) {
        if (to[i] == 1 && from[i] != 1) axes.push_back(static_cast<std::int64_t>(i));
    }
    op.kind = OpKind::reduce;
    op.set(keys::reduce.reduction, "sum");
    op.set(keys::reduce.axes, axes);
    // One CTA for each result: the only one of Inductor's configurations for a few hundred results whose time
    // is near the recorded one (12 us for 2048 x 768; 128 columns in a CTA mean six CTAs, which take many
    // times that).
    op.set(keys::reduce.column_alone, 1);
    builder.input(op, tensors[0]);
    builder.output(op, tensors[1]);
}

}  // namespace

bool triton_rule(Builder& builder, const Launch& launch) {
    const Call* call = fused_call(launch);
    if (call == nullptr) {
        if (launch.name.function.rfind("triton", 0) == 0) throw NotUnderstood{"the fused ops are not named"};
        return false;
    }
    const Fused fused = *parse_fused(call->name);
    const std::vector<RecordedTensor> tensors = tensors_of(*call);
    using Words = std::vector<std::string>;
    Op op;
    op.kind = OpKind::elementwise;
    op.set(keys::any.fused, call->name);
    if (fused.ops == Words{"add", "native_dropout"}) {
        add_dropout(builder, op, launch, tensors);
    } else if (fused.ops == Words{"native_dropout_backward"}) {
        dropout_backward(builder, op, launch, tensors);
    } else if (fused.ops == Words{"add", "mul", "tanh"}) {
        gelu_forward(builder, op, tensors);
    } else if (fused.ops == Words{"add", "mul", "rsub", "tanh"}) {
        gelu_backward(builder, op, tensors);
    } else if (fused.ops == Words{"sum"}) {
        sum(builder, op, tensors);
    } else {
        throw NotUnderstood{"the meaning of " + call->name + " is not certain"};
    }
    builder.add(std::move(op), launch, call);
    return true;
}

}  // namespace heddle::importers
