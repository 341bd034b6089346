// Whole steps lowered to PTX and executed, beside the double-precision reference; and what is said of ops
// that no kernel carries out. Kinds of ops have files of their own.
#include "workloads/lowering/gpu/gpu_lowering.h"

#include <catch2/catch.hpp>
#include <map>

#include "gpu_op_check.h"
#include "workloads/zoo/mlp.h"
#include "workloads/zoo/registry.h"

using namespace heddle;
using namespace heddle::lowering::test;
using trace::ElementType;
using trace::Op;
using trace::OpKind;
using trace::TensorId;
using trace::TensorRole;

TEST_CASE("a training step of an MLP gives the reference's gradients and weights") {
    zoo::MlpOptions options;
    options.batch = 24;
    options.widths = {20, 33, 17, 5};
    CHECK(worst_error(zoo::mlp(options)) < 1e-5);
    options.type = ElementType::bf16;
    CHECK(worst_error(zoo::mlp(options)) < 0.05);
    CHECK(worst_error(zoo::mlp(options), 80) < 0.05);
}

TEST_CASE("what no kernel does is marked with a reason, not skipped") {
    Builder b;
    const TensorId x = b.tensor({4, 5}), y = b.tensor({5}), where = b.tensor({5}, ElementType::i64);
    Op& op = b.op(OpKind::reduce, {x}, {y, where});
    op.set(keys::reduce.reduction, "max");
    op.set(keys::reduce.axes, {0});
    op.set(keys::reduce.argument, 1);
    const lowering::GpuLowering lowered = lowering::lower_for_gpu(b.trace, target::GpuTarget{});
    REQUIRE(lowered.ops[0].launch_count == 0);
    REQUIRE(lowered.ops[0].unsupported.find("position of an extremum along a leading axis") !=
            std::string::npos);
}

TEST_CASE("an elementwise op that no kernel has is told, and ends nothing") {
    Builder b;
    const TensorId x = b.tensor({64}, ElementType::f64), y = b.tensor({64}, ElementType::f64);
    b.op(OpKind::elementwise, {x}, {y}).set(keys::elementwise.expression, "y0 = log(x0)");
    const lowering::GpuLowering lowered = lowering::lower_for_gpu(b.trace, target::GpuTarget{});
    CHECK_THAT(lowered.ops[0].unsupported, Catch::Contains("log") && Catch::Contains("64-bit"));
    CHECK(lowered.program.launches.empty());
}

namespace {

using ModelOptions = std::map<std::string, std::string>;

/// Small shapes of the zoo's models; heads of 64, so that 16-bit steps have fused attention.
std::map<std::string, ModelOptions> small_models() {
    const ModelOptions decoder{{"batch", "2"},    {"sequence", "16"}, {"vocabulary", "64"},   {"layers", "1"},
                               {"hidden", "128"}, {"heads", "2"},     {"feed_forward", "128"}};
    ModelOptions llama = decoder;
    llama["key_heads"] = "1";
    return {{"lstm",
             {{"layers", "2"}, {"hidden", "16"}, {"vocabulary", "32"}, {"batch", "4"}, {"sequence", "3"}}},
            {"resnet18", {{"batch", "4"}, {"image", "32"}, {"classes", "8"}, {"width", "4"}}},
            {"bert-base", decoder},
            {"gpt2-small", decoder},
            {"llama3-8b", llama},
            {"vit-b16",
             {{"batch", "2"},
              {"image", "16"},
              {"patch", "8"},
              {"classes", "8"},
              {"layers", "1"},
              {"hidden", "128"},
              {"heads", "2"},
              {"feed_forward", "128"}}},
            {"switch-base-8",
             {{"batch", "2"},
              {"sequence", "16"},
              {"target", "8"},
              {"vocabulary", "64"},
              {"layers", "2"},
              {"hidden", "128"},
              {"heads", "2"},
              {"head_dim", "64"},
              {"feed_forward", "128"},
              {"experts", "4"}}}};
}

}  // namespace

TEST_CASE("every op of every model of the zoo has kernels, whatever the options") {
    target::GpuTarget hopper;
    hopper.compute_capability = 90;
    const std::vector<ModelOptions> variants{{},
                                             {{"type", "f32"}},
                                             {{"type", "f16"}, {"loss_scale", "dynamic"}},
                                             {{"recompute", "selective"}, {"dropout", "0.1"}},
                                             {{"recompute", "full"}, {"micro_batches", "2"}},
                                             {{"fp8", "1"}, {"recompute", "full"}},
                                             {{"optimizer", "adam"}},
                                             {{"optimizer", "sgd"}, {"momentum", "0.9"}}};
    for (const auto& [model, options] : small_models()) {
        for (const ModelOptions& variant : variants) {
            ModelOptions all = options;
            for (const auto& [key, value] : variant) all[key] = value;
            if (model == "lstm" && !all.contains("type")) all["type"] = "bf16";
            const trace::Trace trace = zoo::build(model, all);
            const lowering::GpuLowering lowered = lowering::lower_for_gpu(trace, hopper);
            for (std::size_t i = 0; i < lowered.ops.size(); ++i) {
                CAPTURE(model, variant, trace.ops[i].name);
                CHECK(lowered.ops[i].unsupported == "");
            }
        }
    }
}

TEST_CASE("training steps of the zoo's models compute what the reference does") {
    for (const char* model : {"lstm", "gpt2-small", "llama3-8b", "vit-b16", "switch-base-8"}) {
        ModelOptions options = small_models().at(model);
        for (const auto& [key, value] : ModelOptions{
                 {"type", "f32"}, {"optimizer", "sgd"}, {"learning_rate", "0.1"}, {"recompute", "full"}})
            options[key] = value;
        CAPTURE(model);
        CHECK(worst_error(zoo::build(model, options)) < 1e-4);
    }
}
