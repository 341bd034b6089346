// Layers and peak memory against steps written by hand, whose answers can be counted.
#include "workloads/trace/structure.h"

#include <catch2/catch.hpp>

using namespace heddle::trace;

namespace {

Op op(OpKind kind, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
    Op made;
    made.kind = kind;
    made.name = name_of(kind);
    made.inputs = std::move(inputs);
    made.outputs = std::move(outputs);
    if (kind == OpKind::elementwise) made.set(keys::elementwise.expression, "y0 = max(x0, 0)");
    return made;
}

/// A copy, `layers` times (product, ReLU), a sum: 4 bytes an element, [64, 64] each.
Trace chain(std::size_t layers) {
    Trace trace;
    const auto tensor = [&](TensorRole role, std::uint64_t storage) {
        return trace.add(Tensor{"t" + std::to_string(storage), ElementType::f32, {64, 64}, role, storage});
    };
    std::uint64_t storage = 0;
    TensorId x = tensor(TensorRole::input, ++storage), y = tensor(TensorRole::activation, ++storage);
    trace.add(op(OpKind::copy, {x}, {y}));
    for (std::size_t i = 0; i < layers; ++i) {
        const TensorId w = tensor(TensorRole::parameter, ++storage),
                       product = tensor(TensorRole::activation, ++storage),
                       relu = tensor(TensorRole::activation, ++storage);
        trace.add(op(OpKind::matmul, {y, w}, {product}));
        trace.add(op(OpKind::elementwise, {product}, {relu}));
        y = relu;
    }
    Op sum = op(OpKind::reduce, {y},
                {trace.add(Tensor{"sum", ElementType::f32, {}, TensorRole::activation, ++storage})});
    sum.set(keys::reduce.reduction, "sum");
    trace.add(sum);
    trace.check();
    return trace;
}

}  // namespace

TEST_CASE("layers are what repeats, from its first op on") {
    const Trace trace = chain(6);
    const std::vector<RepeatedLayers> layers = find_layers(trace);
    REQUIRE(layers.size() == 1);
    CHECK(layers[0].first == 1);
    CHECK(layers[0].period == 2);
    CHECK(layers[0].count == 6);
    CHECK(layers[0].ops == std::vector<OpId>{1, 2});
    CHECK(layers[0].flops >= 6 * 2.0 * 64 * 64 * 64);
    CHECK(find_layers(chain(1)).empty());
}

TEST_CASE("memory lives from its first write to its last use, parameters during the whole step") {
    // During a product: input, all parameters, its operand and its result.
    const std::uint64_t tensor = 64 * 64 * 4;
    const PeakMemory peak = peak_memory(chain(6));
    CHECK(peak.resident == 7 * tensor);
    CHECK(peak.bytes == 9 * tensor);
    CHECK(peak.by_role[static_cast<std::size_t>(TensorRole::parameter)] == 6 * tensor);
    CHECK(peak.by_role[static_cast<std::size_t>(TensorRole::activation)] == 2 * tensor);
}

TEST_CASE("a gradient that reads all activations keeps them alive") {
    Trace trace = chain(3);
    Op last = op(OpKind::elementwise, {}, {});
    for (TensorId id = 1; id < trace.tensors.size(); ++id)
        if (trace.tensor(id).role == TensorRole::activation && trace.tensor(id).shape.size() == 2)
            last.inputs.push_back(id);
    last.outputs = {trace.add(Tensor{"g", ElementType::f32, {64, 64}, TensorRole::gradient, 1000})};
    trace.add(last);
    // Input, 3 parameters, 7 activations, the result.
    CHECK(peak_memory(trace).bytes == 12u * 64 * 64 * 4);
}
