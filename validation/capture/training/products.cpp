#include "validation/capture/training/products.h"

#include <algorithm>
#include <numeric>

namespace heddle::capture {
namespace {

std::optional<Type> type_of(trace::ElementType type) {
    switch (type) {
        case trace::ElementType::f64:
            return Type::f64;
        case trace::ElementType::f32:
            return Type::f32;
        case trace::ElementType::f16:
            return Type::f16;
        case trace::ElementType::bf16:
            return Type::bf16;
        default:
            return std::nullopt;
    }
}

std::int64_t batch_of(const trace::Tensor& tensor) {
    return std::accumulate(tensor.shape.begin(), tensor.shape.end() - 2, std::int64_t{1},
                           std::multiplies<>());
}

bool has_bias_alone(const trace::Op& op) {
    return op.kind == trace::OpKind::matmul && op.inputs.size() == 3 && op.outputs.size() == 1 &&
           !op.has(keys::matmul.epilogue);
}

}  // namespace

trace::Trace with_separate_biases(const trace::Trace& trace) {
    trace::Trace result;
    result.name = trace.name;
    result.tensors = trace.tensors;
    std::vector<trace::OpId> place(trace.ops.size());  // of what makes the old op's result
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        trace::Op op = trace.ops[i];
        for (trace::OpId& id : op.dependencies) id = place[id];
        if (has_bias_alone(op)) {
            const trace::TensorId bias = op.inputs[2], y = op.outputs[0];
            trace::Tensor product = trace.tensor(y);
            product.name += ".product";
            product.storage = 0;
            op.inputs.pop_back();
            op.outputs = {result.add(product)};
            trace::Op add;
            add.name = op.name + ".bias";
            add.kind = trace::OpKind::elementwise;
            add.phase = op.phase;
            add.inputs = {op.outputs[0], bias};
            add.outputs = {y};
            add.set(keys::elementwise.expression, "y0 = x0 + x1");
            add.dependencies = op.dependencies;
            add.dependencies.push_back(result.add(std::move(op)));
            place[i] = result.add(std::move(add));
        } else {
            place[i] = result.add(std::move(op));
        }
    }
    result.check();
    return result;
}

std::optional<GemmProblem> problem_of(const trace::Trace& trace, const trace::Op& op, Compute compute_of_f32,
                                      std::string& why_not) {
    const auto no = [&](const std::string& reason) {
        why_not = reason;
        return std::nullopt;
    };
    if (op.inputs.size() != 2 || op.outputs.size() != 1) return no("it has an epilogue");
    for (const char* operand : {"input0", "input1", "output0"}) {
        if (op.has_strides(operand)) return no("an operand has strides");
    }
    const trace::Tensor &a = trace.tensor(op.inputs[0]), &b = trace.tensor(op.inputs[1]),
                        &y = trace.tensor(op.outputs[0]);
    const auto type_a = type_of(a.type), type_b = type_of(b.type), type_y = type_of(y.type);
    if (!type_a || !type_b || !type_y) return no("it has an element type that libraries do not multiply");
    GemmProblem problem;
    problem.transpose_a = op.get(keys::matmul.transpose_a) != 0;
    problem.transpose_b = op.get(keys::matmul.transpose_b) != 0;
    problem.m = static_cast<std::uint64_t>(y.shape[y.shape.size() - 2]);
    problem.n = static_cast<std::uint64_t>(y.shape.back());
    problem.k = static_cast<std::uint64_t>(a.shape[a.shape.size() - (problem.transpose_a ? 2 : 1)]);
    const std::int64_t batch = batch_of(y), batch_a = batch_of(a), batch_b = batch_of(b);
    if (batch_a != batch) return no("its first operand repeats along the batch");
    if (batch_b == batch) {
        problem.batch = static_cast<std::uint64_t>(batch);
    } else if (batch_b == 1 && !problem.transpose_a) {
        problem.m *= static_cast<std::uint64_t>(batch);  // one tall product
    } else {
        return no("its second operand repeats along the batch");
    }
    problem.a = *type_a;
    problem.b = *type_b;
    problem.c = problem.d = problem.bias = *type_y;
    problem.compute = problem.a == Type::f64   ? Compute::f64
                      : problem.a == Type::f32 ? compute_of_f32
                                               : Compute::f32;
    return problem;
}

}  // namespace heddle::capture
