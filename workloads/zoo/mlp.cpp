#include "workloads/zoo/mlp.h"

#include "isa/common/error.h"
#include "workloads/zoo/optimizer.h"
#include "workloads/zoo/tape.h"

namespace heddle::zoo {
namespace {

OptimizerOptions optimizer_options(const MlpOptions& options) {
    OptimizerOptions optimizer;
    optimizer.learning_rate = options.learning_rate;
    optimizer.momentum = options.momentum;
    optimizer.loss_scale = options.loss_scale;
    return optimizer;
}

void check(const MlpOptions& options) {
    const auto bad = [](const std::string& key, const std::string& problem) {
        throw Error(problem, {.key = "mlp option " + key});
    };
    if (options.batch < 1) bad("batch", "must be at least 1");
    if (options.widths.size() < 2) bad("widths", "needs at least two numbers: input features and classes");
    for (const std::int64_t width : options.widths) {
        if (width < 1) bad("widths", "every width must be at least 1");
    }
    if (options.type != ElementType::f32 && options.type != ElementType::f16 &&
        options.type != ElementType::bf16 && options.type != ElementType::tf32) {
        bad("type", "must be f32, tf32, f16 or bf16");
    }
    check(optimizer_options(options), "mlp");
}

/// tf32 is a format of the tensor core's inputs; in memory it is f32.
ElementType memory_type(ElementType type) {
    return type == ElementType::tf32 ? ElementType::f32 : type;
}

}  // namespace

trace::Trace mlp(const MlpOptions& options) {
    check(options);
    const ElementType type = memory_type(options.type);
    const std::size_t layers = options.widths.size() - 1;
    Tape tape("mlp");
    TensorId x = tape.external("x", type, {options.batch, options.widths[0]}, TensorRole::input);
    const TensorId labels = tape.external("labels", ElementType::i32, {options.batch}, TensorRole::label);

    std::vector<TensorId> parameters;
    for (std::size_t i = 0; i < layers; ++i) {
        const std::string layer = "layer" + std::to_string(i);
        const std::int64_t in = options.widths[i], out = options.widths[i + 1];
        parameters.push_back(
            tape.external(layer + ".weight", ElementType::f32, {out, in}, TensorRole::parameter));
        parameters.push_back(tape.external(layer + ".bias", ElementType::f32, {out}, TensorRole::parameter));
    }
    // What is differentiated: the copies that the layers read, so that gradients have their type.
    std::vector<TensorId> read = parameters;
    if (type != ElementType::f32) {
        for (TensorId& id : read) id = tape.cast(tape.tensor(id).name + ".copy", id, type);
    }
    for (std::size_t i = 0; i < layers; ++i) {
        const std::string layer = "layer" + std::to_string(i);
        MatmulOptions linear;
        linear.transpose_b = true;
        linear.bias = read[2 * i + 1];
        x = tape.matmul(layer, x, read[2 * i], linear);
        if (i + 1 < layers) x = tape.elementwise(layer + ".relu", "y0 = max(x0, 0)", {x});
    }
    if (type != ElementType::f32) x = tape.cast("logits", x, ElementType::f32);
    const TensorId rows = tape.softmax_cross_entropy("cross_entropy", x, labels).loss;
    const TensorId loss = tape.reduce("loss", rows, "mean", {0}, {});

    const auto gradients = tape.backward(loss, read, options.loss_scale);
    tape.set_phase(Phase::optimizer);
    Optimizer optimizer(tape, optimizer_options(options));
    for (std::size_t i = 0; i < parameters.size(); ++i)
        optimizer.update(parameters[i], gradients.at(read[i]));

    trace::Trace trace = tape.finish();
    if (options.type == ElementType::tf32) {
        for (Op& op : trace.ops) {
            if (op.kind == OpKind::matmul) op.set(keys::any.compute_type, "tf32");
        }
    }
    return trace;
}

}  // namespace heddle::zoo
