#include "workloads/zoo/gpt.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "workloads/expression/expression.h"
#include "workloads/reference/execute.h"
#include "workloads/trace/training.h"
#include "workloads/zoo/registry.h"

using namespace heddle;
using trace::OpKind;
using trace::Phase;
using trace::Trace;
using zoo::AttentionForm;
using zoo::GptOptions;
using zoo::OptimizerOptions;

namespace {

GptOptions tiny() {
    GptOptions options;
    options.layers = 2;
    options.hidden = 8;
    options.heads = 2;
    options.batch = 2;
    options.sequence = 3;
    options.vocabulary = 7;
    return options;
}

std::int64_t parameters(const Trace& trace) {
    std::int64_t count = 0;
    for (const trace::TensorId id : trace::parameters_of(trace)) count += trace.tensor(id).elements();
    return count;
}

std::vector<double> losses(const Trace& trace, int steps) {
    reference::TensorValues values(trace);
    const trace::TensorId loss = trace::loss_of(trace);
    std::vector<double> result;
    for (int i = 0; i < steps; ++i) {
        reference::execute(trace, values);
        result.push_back(values[loss][0]);
    }
    return result;
}

/// The step without its last phase, so that parameters stay what they are.
Trace without_updates(Trace trace) {
    const auto first = std::find_if(trace.ops.begin(), trace.ops.end(),
                                    [](const auto& op) { return op.phase == Phase::optimizer; });
    trace.ops.erase(first, trace.ops.end());
    return trace;
}

void check_gradients(const GptOptions& options) {
    const Trace whole = zoo::gpt(options);
    const Trace step = without_updates(whole);
    const trace::TensorId loss = trace::loss_of(whole);
    reference::TensorValues values(whole);
    // Away from the initial values, where all biases are 0 and all gammas 1.
    const auto ids = trace::parameters_of(whole);
    for (const trace::TensorId id : ids) {
        for (std::size_t i = 0; i < values[id].size(); ++i)
            values[id][i] += 0.2 * (expression::random_uniform(100 + id, i) - 0.5);
    }
    reference::execute(step, values);
    std::vector<std::vector<double>> analytic;
    for (const trace::TensorId id : ids) {
        const auto gradient = trace::gradient_of(whole, id);
        REQUIRE(gradient.has_value());
        analytic.emplace_back(values[*gradient].begin(), values[*gradient].end());
    }
    constexpr double h = 1e-4;
    for (std::size_t p = 0; p < ids.size(); ++p) {
        REQUIRE(analytic[p].size() == values[ids[p]].size());
        // Seven elements of each: the step is executed twice for every one.
        const std::size_t stride = std::max<std::size_t>(1, analytic[p].size() / 7);
        for (std::size_t i = p % stride; i < analytic[p].size(); i += stride) {
            const double kept = values[ids[p]][i];
            const auto loss_at = [&](double value) {
                values[ids[p]][i] = value;
                reference::execute(step, values);
                return values[loss][0];
            };
            const double difference = (loss_at(kept + h) - loss_at(kept - h)) / (2 * h);
            values[ids[p]][i] = kept;
            CAPTURE(whole.tensor(ids[p]).name, i);
            CHECK(analytic[p][i] == Approx(difference).epsilon(1e-5).margin(1e-8));
        }
    }
}

std::string message(const std::map<std::string, std::string>& options) {
    try {
        zoo::build("gpt", options);
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace

TEST_CASE("a GPT has as many parameters as the published ones") {
    GptOptions options;
    options.layers = 12;
    options.hidden = 768;
    options.heads = 12;
    options.batch = 1;
    options.sequence = 1024;
    options.vocabulary = 50257;
    options.tied = true;
    CHECK(parameters(zoo::gpt(options)) == 124439808);  // GPT-2, 124 M
    options.layers = 24;
    options.hidden = 1024;
    options.heads = 16;
    options.type = trace::ElementType::bf16;
    CHECK(parameters(zoo::gpt(options)) == 354823168);  // GPT-2 medium, 355 M

    const GptOptions small = tiny();
    const std::int64_t d = 8, s = 3, v = 7, layers = 2;
    CHECK(parameters(zoo::gpt(small)) == 2 * v * d + s * d + layers * (12 * d * d + 13 * d) + 2 * d);
}

TEST_CASE("matrix products of a GPT are three times those of its forward pass") {
    const GptOptions options = tiny();
    const double rows = 6, d = 8, heads_and_batch = 4, s = 3, head = 4, v = 7;
    const double forward =
        2 * (2 * rows * 12 * d * d + 2 * heads_and_batch * 2 * s * s * head) + 2 * rows * d * v;
    double found_forward = 0, found_backward = 0;
    for (const auto& op : zoo::gpt(options).ops) {
        if (op.kind != OpKind::matmul) continue;
        (op.phase == Phase::forward ? found_forward : found_backward) +=
            floating_point_operations(zoo::gpt(options), op);
    }
    CHECK(found_forward == forward);
    CHECK(found_backward == 2 * forward);
}

TEST_CASE("the gradient of every parameter is the slope of the loss") {
    GptOptions options = tiny();
    SECTION("composed attention") {
        check_gradients(options);
    }
    SECTION("fused attention") {
        options.attention = AttentionForm::fused;
        check_gradients(options);
    }
    SECTION("tied head") {
        options.tied = true;
        check_gradients(options);
    }
    SECTION("every sum in a fixed order") {
        options.deterministic = true;
        check_gradients(options);
    }
}

TEST_CASE("all ways to record a GPT train alike") {
    GptOptions options = tiny();
    const std::vector<double> composed = losses(zoo::gpt(options), 4);
    options.deterministic = true;
    const std::vector<double> deterministic = losses(zoo::gpt(options), 4);
    options.deterministic = false;
    options.attention = AttentionForm::fused;
    const std::vector<double> fused = losses(zoo::gpt(options), 4);
    for (std::size_t i = 0; i < composed.size(); ++i) {
        CHECK(deterministic[i] == Approx(composed[i]).epsilon(1e-12));
        CHECK(fused[i] == Approx(composed[i]).epsilon(1e-12));
    }
}

TEST_CASE("a token does not see the tokens after it") {
    // The logits of the first position of each sequence are the same whatever follows.
    GptOptions options = tiny();
    const Trace step = zoo::gpt(options);
    const auto named = [&](const std::string& name) {
        for (trace::TensorId id = 0; id < step.tensors.size(); ++id) {
            if (step.tensor(id).name == name) return id;
        }
        FAIL("no tensor " << name);
        return trace::TensorId{0};
    };
    const trace::TensorId tokens = named("tokens"), logits = named("head");
    const auto logits_with = [&](double last) {
        reference::TensorValues values(step);
        values[tokens][2] = last;
        reference::execute(without_updates(step), values);
        return std::vector<double>(values[logits].begin(), values[logits].end());
    };
    const std::vector<double> a = logits_with(1), b = logits_with(5);
    for (std::size_t i = 0; i < 2 * 7; ++i) CHECK(a[i] == b[i]);
    CHECK(a[2 * 7] != b[2 * 7]);
}

TEST_CASE("a GPT learns its batch") {
    GptOptions options = tiny();
    options.optimizer.kind = OptimizerOptions::Kind::adamw;
    options.optimizer.learning_rate = 0.02;
    const std::vector<double> adamw = losses(zoo::gpt(options), 40);
    CHECK(adamw[0] == Approx(std::log(7.0)).margin(1.5));
    CHECK(adamw.back() < 0.2);
    options.optimizer = {};
    options.optimizer.learning_rate = 0.01;
    const std::vector<double> sgd = losses(zoo::gpt(options), 20);
    for (std::size_t i = 1; i < sgd.size(); ++i) CHECK(sgd[i] < sgd[i - 1]);
}

TEST_CASE("AdamW is what the paper writes") {
    GptOptions options = tiny();
    OptimizerOptions& o = options.optimizer;
    o.kind = OptimizerOptions::Kind::adamw;
    o.learning_rate = 0.01;
    const Trace step = zoo::gpt(options);
    reference::TensorValues values(step);
    struct State {
        std::vector<double> p, m, v;
    };
    std::map<trace::TensorId, State> states;
    for (const trace::TensorId id : trace::parameters_of(step)) {
        const auto p = values[id];
        states[id] = {
            {p.begin(), p.end()}, std::vector<double>(p.size(), 0.0), std::vector<double>(p.size(), 0.0)};
    }
    for (int t = 1; t <= 3; ++t) {
        reference::execute(step, values);
        for (auto& [id, state] : states) {
            const auto g = values[trace::gradient_of(step, id).value()];
            const double decay = step.tensor(id).shape.size() >= 2 ? o.weight_decay : 0;
            for (std::size_t i = 0; i < g.size(); ++i) {
                state.m[i] = o.beta1 * state.m[i] + (1 - o.beta1) * g[i];
                state.v[i] = o.beta2 * state.v[i] + (1 - o.beta2) * g[i] * g[i];
                const double mean = state.m[i] / (1 - std::pow(o.beta1, t));
                const double square = state.v[i] / (1 - std::pow(o.beta2, t));
                state.p[i] -= o.learning_rate * (mean / (std::sqrt(square) + o.epsilon) + decay * state.p[i]);
                CHECK(values[id][i] == Approx(state.p[i]).epsilon(1e-9).margin(1e-9));
            }
        }
    }
}

TEST_CASE("options of a GPT that make no sense are named") {
    using Catch::Matchers::Contains;
    CHECK_THAT(message({{"heads", "3"}}), Contains("heads") && Contains("divide"));
    CHECK_THAT(message({{"optimizer", "lion"}}), Contains("sgd, adamw or adam"));
    CHECK_THAT(message({{"attention", "fused"}, {"deterministic", "1"}}), Contains("attention"));
    CHECK_THAT(message({{"tied", "yes"}}), Contains("0 or 1"));
    CHECK_THAT(message({{"beta2", "1"}}), Contains("beta2"));
    CHECK_THAT(message({{"layer", "1"}}), Contains("layers"));
}
