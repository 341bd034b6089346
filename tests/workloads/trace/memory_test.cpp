#include "workloads/trace/memory.h"

#include <catch2/catch.hpp>

using namespace heddle::trace;

namespace {

/// x W1 -> h, relu h -> r, r W2 -> y; dy; dr = dy W2^T; dW2; dW1; updates in place.
class Step {
  public:
    TensorId tensor(const std::string& name, std::vector<std::int64_t> shape, TensorRole role,
                    std::uint64_t storage = 0) {
        return trace.add(Tensor{name, ElementType::f32, std::move(shape), role, storage});
    }
    void op(OpKind kind, Phase phase, std::vector<TensorId> inputs, std::vector<TensorId> outputs) {
        Op op;
        op.kind = kind;
        op.phase = phase;
        op.inputs = std::move(inputs);
        op.outputs = std::move(outputs);
        trace.add(op);
    }
    Trace trace;
};

std::uint64_t use(const MemoryByUse& bytes, MemoryUse use) {
    return bytes[static_cast<std::size_t>(use)];
}

}  // namespace

TEST_CASE("memory of a training step: what lives when, by hand") {
    Step s;
    constexpr std::int64_t n = 1024;  // a matrix has 4 MiB
    constexpr std::uint64_t matrix = 4 * n * n;
    const auto activation = [&](const char* name) { return s.tensor(name, {n, n}, TensorRole::activation); };
    const TensorId x = s.tensor("x", {n, n}, TensorRole::input);
    const TensorId w1 = s.tensor("w1", {n, n}, TensorRole::parameter, 1);
    const TensorId w1_new = s.tensor("w1", {n, n}, TensorRole::parameter, 1);
    const TensorId v1 = s.tensor("v1", {n, n}, TensorRole::optimizer_state, 2);
    const TensorId v1_new = s.tensor("v1", {n, n}, TensorRole::optimizer_state, 2);
    const TensorId h = activation("h"), r = activation("r"), dr = activation("dr"), dh = activation("dh");
    const TensorId dw1 = s.tensor("dw1", {n, n}, TensorRole::gradient);
    s.op(OpKind::matmul, Phase::forward, {x, w1}, {h});
    s.op(OpKind::elementwise, Phase::forward, {h}, {r});
    s.op(OpKind::elementwise, Phase::backward, {r}, {dr});
    s.op(OpKind::elementwise, Phase::backward, {dr, h}, {dh});
    s.op(OpKind::matmul, Phase::backward, {x, dh}, {dw1});
    s.op(OpKind::elementwise, Phase::optimizer, {v1, w1, dw1}, {v1_new, w1_new});

    const MemoryProfile profile = profile_memory(s.trace);
    REQUIRE(profile.during.size() == 6);
    const std::uint64_t activations[] = {1, 2, 3, 3, 1, 0};
    for (std::size_t i = 0; i < 6; ++i) {
        CAPTURE(i);
        CHECK(use(profile.during[i], MemoryUse::weights) == matrix);
        CHECK(use(profile.during[i], MemoryUse::optimizer_state) == matrix);
        CHECK(use(profile.during[i], MemoryUse::inputs) == matrix);
        CHECK(use(profile.during[i], MemoryUse::activations) == activations[i] * matrix);
        CHECK(use(profile.during[i], MemoryUse::gradients) == (i >= 4 ? matrix : 0));
    }
    CHECK(profile.peak == 2);
    CHECK(total(profile.during[2]) == 6 * matrix);
}

TEST_CASE("memory is rounded up per allocation, shared storages count once and strides reach further") {
    Step s;
    const TensorId whole = s.tensor("whole", {3, 5}, TensorRole::input, 7);  // 60 bytes
    const TensorId view = s.tensor("view", {15}, TensorRole::input, 7);
    const TensorId far = s.tensor("far", {2, 2}, TensorRole::other);
    const TensorId y = s.tensor("y", {15}, TensorRole::activation);
    s.op(OpKind::copy, Phase::forward, {whole}, {y});
    s.op(OpKind::copy, Phase::forward, {view}, {y});
    s.op(OpKind::copy, Phase::forward, {far}, {y});
    s.trace.ops.back().set_strides("input0", {300, 1});
    s.trace.ops.back().set_offset("input0", 10);
    const MemoryProfile profile = profile_memory(s.trace);
    CHECK(use(profile.during[0], MemoryUse::inputs) == 512);
    CHECK(use(profile.during[0], MemoryUse::activations) == 512);
    // Elements 10 to 311 of its storage: 1,248 bytes.
    CHECK(use(profile.during[0], MemoryUse::other) == 3 * 512);
    CHECK(use(profile_memory(s.trace, 1).during[0], MemoryUse::other) == 312 * 4);
}
