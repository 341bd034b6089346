// Each kind of model of the zoo trains for real on a TPU: small shapes, values beside the double-precision
// reference, every op by a program.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <map>
#include <string>

#include "sim/hardware/load_hardware.h"
#include "sim/run/simulate.h"
#include "workloads/zoo/registry.h"

using namespace heddle;
using namespace heddle::sim;

namespace {

void check_model(const std::string& model, std::map<std::string, std::string> options,
                 const std::string& hardware) {
    CAPTURE(model, hardware);
    ::setenv("HEDDLE_CACHE", "off", 1);
    const trace::Trace trace = zoo::build(model, options);
    SimulateOptions run;
    run.jobs = 2;
    run.numerics = true;
    run.steps = 2;
    const RunResult result = simulate(trace, model, load_hardware(hardware), run);
    CHECK(result.coverage.cycle == 1);
    REQUIRE(result.numerics);
    const NumericsResult& n = *result.numerics;
    REQUIRE(n.device_loss.size() == 2);
    CHECK(n.loss_error <= n.loss_error_bound);
    CHECK(n.gradient_error <= n.gradient_error_bound);
    CHECK(n.gradient_error > 0);     // the device rounds, so it cannot be the reference itself
    CHECK(n.gradient_error < 0.25);  // of many ops the bound allows more
    CHECK(n.weight_error <= n.weight_error_bound);
}

}  // namespace

TEST_CASE("a GPT with fused attention and AdamW trains on a TPU v5e") {
    check_model("gpt",
                {{"layers", "1"},
                 {"hidden", "256"},
                 {"heads", "2"},
                 {"batch", "2"},
                 {"sequence", "16"},
                 {"vocabulary", "32"},
                 {"type", "bf16"},
                 {"optimizer", "adamw"},
                 {"learning_rate", "0.01"}},
                "tpu-v5e");
}
TEST_CASE("a GPT-2 with products in 8 bits trains on a TPU v5p") {
    check_model("gpt2-small",
                {{"layers", "1"},
                 {"hidden", "64"},
                 {"heads", "2"},
                 {"feed_forward", "64"},
                 {"batch", "2"},
                 {"sequence", "16"},
                 {"vocabulary", "40"},
                 {"type", "bf16"},
                 {"fp8", "1"}},
                "tpu-v5p");
}
TEST_CASE("a Llama trains on a TPU v6e") {
    check_model("llama2-7b",
                {{"layers", "1"},
                 {"hidden", "128"},
                 {"heads", "2"},
                 {"key_heads", "1"},
                 {"feed_forward", "96"},
                 {"batch", "1"},
                 {"sequence", "16"},
                 {"vocabulary", "32"}},
                "tpu-v6e");
}
TEST_CASE("a BERT trains on a TPU v4") {
    check_model("bert-base",
                {{"layers", "1"},
                 {"hidden", "64"},
                 {"heads", "2"},
                 {"feed_forward", "64"},
                 {"batch", "2"},
                 {"sequence", "16"},
                 {"vocabulary", "40"}},
                "tpu-v4");
}
TEST_CASE("an LSTM trains on a TPU v3") {
    check_model("lstm",
                {{"layers", "2"}, {"hidden", "24"}, {"batch", "4"}, {"sequence", "4"}, {"vocabulary", "30"}},
                "tpu-v3");
}
TEST_CASE("a vision transformer trains on a TPU v5p") {
    check_model("vit-b16",
                {{"layers", "1"},
                 {"hidden", "32"},
                 {"heads", "2"},
                 {"feed_forward", "32"},
                 {"batch", "2"},
                 {"image", "32"},
                 {"classes", "10"}},
                "tpu-v5p");
}
TEST_CASE("a mixture of experts trains on a TPU v4") {
    check_model("switch-base-8",
                {{"layers", "2"},
                 {"hidden", "32"},
                 {"heads", "2"},
                 {"feed_forward", "32"},
                 {"batch", "1"},
                 {"sequence", "16"},
                 {"head_dim", "16"},
                 {"target", "8"},
                 {"vocabulary", "30"}},
                "tpu-v4");
}
TEST_CASE("a residual network trains on a TPU v5e") {
    check_model("resnet18", {{"batch", "2"}, {"image", "32"}, {"classes", "10"}, {"width", "8"}}, "tpu-v5e");
}
