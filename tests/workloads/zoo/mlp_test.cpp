#include "workloads/zoo/mlp.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "isa/common/error.h"
#include "workloads/reference/execute.h"
#include "workloads/trace_files/json.h"
#include "workloads/zoo/registry.h"

using namespace heddle;
using trace::OpKind;
using trace::Phase;
using trace::TensorRole;
using trace::Trace;

namespace {

double flops(const Trace& trace, OpKind kind, Phase phase) {
    double sum = 0;
    for (const auto& op : trace.ops) {
        if (op.kind == kind && op.phase == phase) sum += floating_point_operations(trace, op);
    }
    return sum;
}

std::int64_t parameters(const Trace& trace) {
    std::int64_t count = 0;
    for (const trace::TensorId id : reference::external_tensors(trace)) {
        if (trace.tensor(id).role == TensorRole::parameter) count += trace.tensor(id).elements();
    }
    return count;
}

std::vector<double> losses(const Trace& trace, int steps) {
    reference::TensorValues values(trace);
    std::vector<double> result;
    trace::TensorId loss = 0;
    for (trace::TensorId id = 0; id < trace.tensors.size(); ++id) {
        if (trace.tensor(id).name == "loss") loss = id;
    }
    for (int i = 0; i < steps; ++i) {
        reference::execute(trace, values);
        result.push_back(values[loss][0]);
    }
    return result;
}

std::string message(const std::string& model, const std::map<std::string, std::string>& options) {
    try {
        zoo::build(model, options);
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace

TEST_CASE("parameters and FLOPs of an MLP follow the textbook") {
    // 784-512-256-10: 784*512+512 + 512*256+256 + 256*10+10 = 535,818 parameters.
    for (const auto type : {trace::ElementType::f32, trace::ElementType::bf16, trace::ElementType::f16}) {
        zoo::MlpOptions options;
        options.type = type;
        const Trace trace = zoo::mlp(options);
        CHECK(parameters(trace) == 535818);
        // Forward 2 * batch * weights; backward the same for the weights and, but for the first layer, the
        // activations.
        const double weights = 784 * 512 + 512 * 256 + 256 * 10;
        CHECK(flops(trace, OpKind::matmul, Phase::forward) == 2 * 256 * weights);
        CHECK(flops(trace, OpKind::matmul, Phase::backward) == 2 * 256 * (2 * weights - 784 * 512));
    }
}

TEST_CASE("mixed precision computes in the narrow type and keeps f32 masters") {
    zoo::MlpOptions options;
    options.type = trace::ElementType::bf16;
    const Trace trace = zoo::mlp(options);
    for (const auto& op : trace.ops) {
        if (op.kind == OpKind::matmul) {
            for (const trace::TensorId id : op.inputs)
                CHECK(trace.tensor(id).type == trace::ElementType::bf16);
        }
        if (op.phase == Phase::optimizer) {
            CHECK(trace.tensor(op.outputs[0]).type == trace::ElementType::f32);
            CHECK(trace.tensor(op.outputs[0]).storage == trace.tensor(op.inputs[0]).storage);
        }
        if (op.kind == OpKind::softmax_cross_entropy)
            CHECK(trace.tensor(op.inputs[0]).type == trace::ElementType::f32);
    }
}

TEST_CASE("the first loss is that of guessing, and training lowers it") {
    zoo::MlpOptions options;
    options.batch = 32;
    options.widths = {20, 16, 12, 4};
    options.learning_rate = 0.5;
    for (const double momentum : {0.0, 0.5}) {
        options.momentum = momentum;
        const std::vector<double> loss = losses(zoo::mlp(options), 20);
        CHECK(loss[0] == Approx(std::log(4.0)).margin(0.4));
        for (std::size_t i = 1; i < loss.size(); ++i) CHECK(loss[i] < loss[i - 1]);
        CHECK(loss.back() < loss[0] - 0.2);
    }
}

TEST_CASE("scaling the loss does not change the training") {
    zoo::MlpOptions options;
    options.batch = 8;
    options.widths = {6, 5, 3};
    const std::vector<double> plain = losses(zoo::mlp(options), 5);
    options.loss_scale = 1024;
    const std::vector<double> scaled = losses(zoo::mlp(options), 5);
    for (std::size_t i = 0; i < plain.size(); ++i) CHECK(scaled[i] == Approx(plain[i]).epsilon(1e-12));
}

TEST_CASE("one step is what a hand-written network computes") {
    zoo::MlpOptions options;
    options.batch = 5;
    options.widths = {4, 3, 2};
    options.learning_rate = 0.25;
    const Trace trace = zoo::mlp(options);
    const auto find = [&](const std::string& name) {
        for (trace::TensorId id = 0; id < trace.tensors.size(); ++id) {
            if (trace.tensor(id).name == name) return id;
        }
        FAIL("no tensor " + name);
        return trace::TensorId{0};
    };
    reference::TensorValues values(trace);
    const auto take = [&](const std::string& name) {
        const auto span = values[find(name)];
        return std::vector<double>(span.begin(), span.end());
    };
    const auto x = take("x"), labels = take("labels"), w0 = take("layer0.weight"), b0 = take("layer0.bias"),
               w1 = take("layer1.weight"), b1 = take("layer1.bias");
    std::vector<double> g0(12, 0.0), g1(6, 0.0), gb0(3, 0.0), gb1(2, 0.0);
    double loss = 0;
    for (int r = 0; r < 5; ++r) {
        double h[3], z[2], dz[2];
        for (int i = 0; i < 3; ++i) {
            h[i] = b0[i];
            for (int j = 0; j < 4; ++j) h[i] += w0[i * 4 + j] * x[r * 4 + j];
            h[i] = std::fmax(h[i], 0);
        }
        for (int i = 0; i < 2; ++i)
            z[i] = b1[i] + w1[i * 3] * h[0] + w1[i * 3 + 1] * h[1] + w1[i * 3 + 2] * h[2];
        const double sum = std::exp(z[0]) + std::exp(z[1]);
        const int label = static_cast<int>(labels[r]);
        loss += (std::log(sum) - z[label]) / 5;
        for (int i = 0; i < 2; ++i) dz[i] = (std::exp(z[i]) / sum - (i == label ? 1 : 0)) / 5;
        for (int i = 0; i < 2; ++i) {
            gb1[i] += dz[i];
            for (int j = 0; j < 3; ++j) g1[i * 3 + j] += dz[i] * h[j];
        }
        for (int j = 0; j < 3; ++j) {
            const double dh = h[j] > 0 ? dz[0] * w1[j] + dz[1] * w1[3 + j] : 0;
            gb0[j] += dh;
            for (int i = 0; i < 4; ++i) g0[j * 4 + i] += dh * x[r * 4 + i];
        }
    }
    reference::execute(trace, values);
    CHECK(values[find("loss")][0] == Approx(loss).epsilon(1e-12));
    const auto updated = [&](const std::string& name, const std::vector<double>& before,
                             const std::vector<double>& g) {
        const auto after = values[find(name)];
        for (std::size_t i = 0; i < g.size(); ++i) {
            CHECK(after[i] == Approx(before[i] - 0.25 * g[i]).epsilon(1e-12).margin(1e-15));
        }
    };
    updated("layer0.weight", w0, g0);
    updated("layer0.bias", b0, gb0);
    updated("layer1.weight", w1, g1);
    updated("layer1.bias", b1, gb1);
}

TEST_CASE("the zoo's traces survive JSON, and dependencies point to writers") {
    const Trace trace = zoo::build("mlp", {{"type", "bf16"}, {"batch", "16"}, {"widths", "8,4,2"}});
    CHECK(trace::to_json(trace::from_json(trace::to_json(trace), "x")) == trace::to_json(trace));
    // Every update waits for the op that made its gradient and for every reader of the weight that it
    // overwrites.
    for (std::size_t i = 0; i < trace.ops.size(); ++i) {
        for (const trace::TensorId id : trace.ops[i].inputs) {
            for (std::size_t j = 0; j < i; ++j) {
                const auto& outputs = trace.ops[j].outputs;
                if (std::find(outputs.begin(), outputs.end(), id) == outputs.end()) continue;
                const auto& dependencies = trace.ops[i].dependencies;
                CHECK(std::find(dependencies.begin(), dependencies.end(), j) != dependencies.end());
            }
        }
    }
}

TEST_CASE("mistaken names and values are told with the nearest word") {
    CHECK(message("mpl", {}).find("did you mean mlp?") != std::string::npos);
    CHECK(message("mlp", {{"bach", "3"}}).find("did you mean batch?") != std::string::npos);
    CHECK(message("mlp", {{"batch", "many"}}).find("not an integer") != std::string::npos);
    CHECK(message("mlp", {{"batch", "0"}}).find("at least 1") != std::string::npos);
    CHECK(message("mlp", {{"widths", "784"}}).find("at least two") != std::string::npos);
    CHECK(message("mlp", {{"widths", "784,x"}}).find("list of integers") != std::string::npos);
    CHECK(message("mlp", {{"type", "bf15"}}).find("did you mean bf16?") != std::string::npos);
    CHECK(message("mlp", {{"type", "i8"}}).find("must be f32") != std::string::npos);
}
