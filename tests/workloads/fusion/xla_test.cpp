// A step fused as XLA does computes what the step computed, in the double-precision reference.
#include "workloads/fusion/xla.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "random_graph.h"
#include "same_values.h"
#include "workloads/zoo/registry.h"
#include "workloads/zoo/tape.h"

using namespace heddle;
using heddle::tests::Chain;
using heddle::tests::count;
using heddle::tests::random_graph;
using trace::ElementType;
using trace::OpKind;
using trace::TensorId;
using trace::Trace;

namespace {

void check_same_values(const Trace& plain, const Trace& fused) {
    heddle::tests::check_same_values(plain, fused, 1e-9);
}

/// Heads of 128 elements: a register wide.
Trace gpt(const std::string& optimizer) {
    return zoo::build("gpt", {{"layers", "2"},
                              {"hidden", "256"},
                              {"heads", "2"},
                              {"batch", "2"},
                              {"sequence", "16"},
                              {"vocabulary", "40"},
                              {"type", "bf16"},
                              {"optimizer", optimizer}});
}

}  // namespace

TEST_CASE("a GPT's step: casts, transposes, activations, residual sums and updates vanish into products") {
    for (const std::string optimizer : {"sgd", "adamw"}) {
        CAPTURE(optimizer);
        const Trace plain = gpt(optimizer);
        fusion::XlaCount counted;
        const Trace fused = fusion::fuse_as_xla(plain, {}, &counted);
        CHECK(counted.before == plain.ops.size());
        CHECK(counted.after == fused.ops.size());
        for (const OpKind kind :
             {OpKind::matmul, OpKind::layer_norm, OpKind::attention, OpKind::attention_grad})
            CHECK(count(fused, kind) == count(plain, kind));
        // Of each block: four transposes forward, four backward.
        CHECK(counted.layouts == 16);
        CHECK(std::none_of(fused.ops.begin(), fused.ops.end(),
                           [](const trace::Op& op) { return op.has(keys::copy.permutation); }));
        // Each of the 13 weight matrices, but for the token embedding's and the positions', is updated by the
        // product that makes its gradient, which is never written.
        std::size_t updates = 0;
        for (const trace::Op& op : fused.ops) {
            if (op.kind != OpKind::matmul) continue;
            for (const TensorId id : op.outputs)
                updates += fused.tensor(id).role == trace::TensorRole::parameter;
        }
        CHECK(updates == 13);
        check_same_values(plain, fused);
    }
}

TEST_CASE("models of the zoo keep their losses and updates") {
    const std::vector<std::pair<std::string, std::map<std::string, std::string>>> models{
        {"mlp", {{"batch", "8"}, {"widths", "8,16,4"}}},
        {"lstm", {{"hidden", "8"}, {"layers", "2"}, {"batch", "2"}, {"sequence", "3"}, {"vocabulary", "11"}}},
        {"llama2-7b",
         {{"layers", "1"},
          {"hidden", "16"},
          {"heads", "2"},
          {"key_heads", "2"},
          {"feed_forward", "24"},
          {"batch", "1"},
          {"sequence", "6"},
          {"vocabulary", "9"}}},
    };
    for (const auto& [name, options] : models) {
        CAPTURE(name);
        const Trace plain = zoo::build(name, options);
        const Trace fused = fusion::fuse_as_xla(plain);
        CHECK(fused.ops.size() < plain.ops.size());
        check_same_values(plain, fused);
    }
}

TEST_CASE("an update stays behind a product that still reads the weight") {
    Chain c;
    zoo::Tape& tape = c.tape;
    const TensorId x = c.input({4, 4}), dy = c.input({4, 4}), w = c.input({4, 4});
    const TensorId dw = tape.matmul("dw", dy, x);
    const TensorId dx = tape.matmul("dx", dy, w);
    tape.elementwise("use", "y0 = 2 * x0", {dx});
    Trace trace = tape.finish();
    trace::Tensor updated = trace.tensor(w);
    updated.name = "w.updated";
    if (updated.storage == 0) updated.storage = trace.tensors[w].storage = 1000;
    trace::Op update;
    update.name = "update";
    update.kind = OpKind::elementwise;
    update.set(keys::elementwise.expression, "y0 = x0 - 0.5 * x1");
    update.inputs = {w, dw};
    update.outputs = {trace.add(updated)};
    update.dependencies = {0};
    trace.add(update);
    const Trace fused = fusion::fuse_as_xla(trace);
    // Were the update the first product's epilogue, the second would read the new weight.
    CHECK(count(fused, OpKind::elementwise) == 1);
    check_same_values(trace, fused);
}

TEST_CASE("random graphs of elementwise ops, sums and products keep their values as epilogues") {
    std::mt19937 random(12);
    std::size_t before = 0, after = 0, epilogues = 0;
    for (int round = 0; round < 60; ++round) {
        const Trace plain = random_graph(random, 2);
        fusion::XlaCount counted;
        const Trace fused = fusion::fuse_as_xla(plain, {}, &counted);
        before += plain.ops.size();
        after += fused.ops.size();
        epilogues += counted.epilogues;
        check_same_values(plain, fused);
    }
    CHECK(after < before * 8 / 10);
    CHECK(epilogues > 60);
}
