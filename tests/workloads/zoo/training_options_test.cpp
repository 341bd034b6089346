// Every model of the zoo: gradients, and what options of the training may not change.
#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "small_models.h"
#include "workloads/expression/expression.h"
#include "workloads/trace/training.h"
#include "workloads/zoo/registry.h"

using namespace heddle;
using namespace heddle::zoo::test;
using trace::OpKind;
using trace::Phase;
using trace::Trace;

TEST_CASE("the gradient of every parameter of every model is the slope of the loss") {
    for (const Small& model : small_models()) {
        const Trace whole = zoo::build(model.name, model.options), step = without_updates(whole);
        const trace::TensorId loss = trace::loss_of(whole);
        const auto analytic = gradients(whole);
        reference::TensorValues values(whole);
        disturb(whole, values);
        constexpr double h = 1e-6;
        const auto ids = trace::parameters_of(whole);
        for (std::size_t p = 0; p < ids.size(); ++p) {
            const std::vector<double>& gradient = analytic.at(whole.tensor(ids[p]).name);
            REQUIRE(gradient.size() == values[ids[p]].size());
            // A few elements of each: the step is executed twice for every one.
            const std::size_t stride = std::max<std::size_t>(1, gradient.size() / (ids.size() > 50 ? 2 : 5));
            for (std::size_t i = p % stride; i < gradient.size(); i += stride) {
                const double kept = values[ids[p]][i];
                const auto loss_at = [&](double value) {
                    values[ids[p]][i] = value;
                    reference::execute(step, values);
                    return values[loss][0];
                };
                const double difference = (loss_at(kept + h) - loss_at(kept - h)) / (2 * h);
                values[ids[p]][i] = kept;
                CAPTURE(model.name, whole.tensor(ids[p]).name, i);
                CHECK(gradient[i] == Approx(difference).epsilon(1e-4).margin(2e-7));
            }
        }
    }
}

TEST_CASE("what is computed again changes no gradient") {
    for (const Small& model : small_models()) {
        CAPTURE(model.name);
        const bool transformer = model.options.contains("heads");
        const Options options = changed(model.options, transformer ? Options{{"dropout", "0.2"}} : Options{});
        const Trace plain = zoo::build(model.name, options);
        const auto expected = gradients(plain);
        for (const char* recompute : {"selective", "full"}) {
            const Trace again = zoo::build(model.name, changed(options, {{"recompute", recompute}}));
            check_equal(gradients(again), expected, 0);
            CHECK(again.ops.size() > plain.ops.size());
        }
    }
}

TEST_CASE("fused and composed attention give the same gradients") {
    for (const Small& model : small_models()) {
        if (!model.options.contains("heads") || std::string(model.name) == "switch-base-8") continue;
        CAPTURE(model.name);
        const Trace composed = zoo::build(model.name, model.options);
        const Options options = changed(model.options, {{"attention", "fused"}});
        const Trace fused = zoo::build(model.name, options);
        // Projections of query, key and value may be one there: rows of the three, one after the other.
        const auto parts_of = [](const std::string& name) {
            const std::size_t joined = name.find(".qkv");
            std::vector<std::string> parts{name};
            if (joined == std::string::npos) return parts;
            parts.clear();
            for (const char* part : {".query", ".key", ".value"})
                parts.push_back(name.substr(0, joined) + part + name.substr(joined + 4));
            return parts;
        };
        reference::TensorValues a(composed), b(fused);
        disturb(composed, a);
        std::map<std::string, trace::TensorId> by_name;
        for (const trace::TensorId id : reference::external_tensors(composed))
            by_name[composed.tensor(id).name] = id;
        const auto joined = [&](const std::string& name, auto tensor_of) {
            std::vector<double> values;
            for (const std::string& part : parts_of(name)) {
                const auto more = a[tensor_of(by_name.at(part))];
                values.insert(values.end(), more.begin(), more.end());
            }
            return values;
        };
        for (const trace::TensorId id : reference::external_tensors(fused)) {
            if (fused.tensor(id).role == trace::TensorRole::other) continue;
            const auto values = joined(fused.tensor(id).name, [](trace::TensorId same) { return same; });
            std::copy(values.begin(), values.end(), b[id].begin());
        }
        reference::execute(without_updates(composed), a);
        reference::execute(without_updates(fused), b);
        CHECK(b[trace::loss_of(fused)][0] == Approx(a[trace::loss_of(composed)][0]).epsilon(1e-12));
        for (const trace::TensorId id : trace::parameters_of(fused)) {
            const auto expected = joined(fused.tensor(id).name, [&](trace::TensorId parameter) {
                return trace::gradient_of(composed, parameter).value();
            });
            const auto found = b[trace::gradient_of(fused, id).value()];
            REQUIRE(expected.size() == found.size());
            CAPTURE(fused.tensor(id).name);
            for (std::size_t i = 0; i < found.size(); ++i)
                CHECK(found[i] == Approx(expected[i]).epsilon(1e-9).margin(1e-12));
        }
        const auto kept = gradients(fused);
        for (const char* recompute : {"selective", "full"})
            check_equal(gradients(zoo::build(model.name, changed(options, {{"recompute", recompute}}))), kept,
                        0);
    }
}

TEST_CASE("a batch in parts has the gradients of the whole") {
    for (const Small& model : small_models()) {
        const std::string name = model.name;
        // Batch norms and capacities depend on the part; an LSTM's tokens lie by moment.
        if (name == "lstm" || name.rfind("resnet", 0) == 0 || name == "switch-base-8") continue;
        CAPTURE(name);
        const Trace whole = zoo::build(name, changed(model.options, {{"batch", "4"}}));
        const Trace parts =
            zoo::build(name, changed(model.options, {{"batch", "4"}, {"micro_batches", "2"}}));
        reference::TensorValues a(whole), b(parts);
        disturb(whole, a);
        std::map<std::string, trace::TensorId> by_name;
        for (const trace::TensorId id : reference::external_tensors(whole))
            by_name[whole.tensor(id).name] = id;
        for (const trace::TensorId id : reference::external_tensors(parts)) {
            const std::string own = parts.tensor(id).name;
            if (parts.tensor(id).role == trace::TensorRole::other) continue;
            const bool second = own.ends_with(" of part 1");
            const auto from = a[by_name.at(second ? own.substr(0, own.size() - 10) : own)];
            const auto to = b[id];
            std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(second ? to.size() : 0), to.size(),
                        to.begin());
        }
        reference::execute(without_updates(whole), a);
        reference::execute(without_updates(parts), b);
        CHECK(b[trace::loss_of(parts)][0] == Approx(a[trace::loss_of(whole)][0]).epsilon(1e-12));
        const auto ids = trace::parameters_of(whole), others = trace::parameters_of(parts);
        REQUIRE(ids.size() == others.size());
        for (std::size_t p = 0; p < ids.size(); ++p) {
            const auto x = a[trace::gradient_of(whole, ids[p]).value()],
                       y = b[trace::gradient_of(parts, others[p]).value()];
            REQUIRE(x.size() == y.size());
            CAPTURE(whole.tensor(ids[p]).name);
            for (std::size_t i = 0; i < x.size(); ++i)
                CHECK(y[i] == Approx(x[i]).epsilon(1e-9).margin(1e-12));
        }
    }
}

TEST_CASE("a loss scale that adapts itself leaves out steps that are not finite") {
    for (const char* name : {"gpt2-small", "switch-base-8", "resnet18"}) {
        for (const char* optimizer : {"sgd", "adam", "adamw"}) {
            const auto small = small_models();
            const auto model = std::find_if(small.begin(), small.end(),
                                            [&](const Small& s) { return s.name == std::string(name); });
            const Options options = changed(
                model->options, {{"optimizer", optimizer}, {"momentum", "0.5"}, {"learning_rate", "0.01"}});
            const Trace plain = zoo::build(name, options);
            const Trace dynamic = zoo::build(name, changed(options, {{"loss_scale", "dynamic"}}));
            const auto find = [&](const std::string& wanted) {
                for (trace::TensorId id = 0; id < dynamic.tensors.size(); ++id) {
                    if (dynamic.tensor(id).name == wanted) return id;
                }
                FAIL("no tensor " << wanted);
                return trace::TensorId{0};
            };
            reference::TensorValues expected(plain), values(dynamic);
            const auto ids = trace::parameters_of(plain), others = trace::parameters_of(dynamic);
            for (const trace::TensorId id : reference::external_tensors(plain)) {
                for (const trace::TensorId other : reference::external_tensors(dynamic)) {
                    if (dynamic.tensor(other).name == plain.tensor(id).name)
                        std::copy(expected[id].begin(), expected[id].end(), values[other].begin());
                }
            }
            CAPTURE(name, optimizer);
            const auto same = [&] {
                for (std::size_t p = 0; p < ids.size(); ++p) {
                    for (std::size_t i = 0; i < expected[ids[p]].size(); ++i)
                        CHECK(values[others[p]][i] == Approx(expected[ids[p]][i]).epsilon(1e-6).margin(1e-9));
                }
            };
            const trace::TensorId scale = find("loss_scale"), since = find("steps_since_not_finite");
            CHECK(values[scale][0] == 65536);
            reference::execute(plain, expected);
            reference::execute(dynamic, values);
            same();
            CHECK(values[since][0] == 1);
            values[scale][0] = INFINITY;
            if (std::string(name) != "resnet18") {  // running statistics change all the same
                reference::execute(dynamic, values);
                same();
                CHECK(values[since][0] == 0);
            }
            values[scale][0] = 1024;
            values[since][0] = 1999;
            reference::execute(plain, expected);
            reference::execute(dynamic, values);
            same();
            CHECK(values[scale][0] == 2048);
            CHECK(values[since][0] == 0);
        }
    }
}

TEST_CASE("Gradients are clipped to a norm of all of them, whatever the loss was multiplied by") {
    const auto small = small_models();
    const auto model = std::find_if(small.begin(), small.end(),
                                    [](const Small& s) { return s.name == std::string("gpt2-small"); });
    const Options options = changed(
        model->options, {{"optimizer", "sgd"}, {"momentum", "0"}, {"learning_rate", "1"}, {"type", "f32"}});
    // Steps of SGD with a rate of 1 are the gradients.
    const auto steps = [&](const Options& changes) {
        const Trace trace = zoo::build(model->name, changed(options, changes));
        reference::TensorValues values(trace);
        std::vector<double> all;
        std::vector<std::vector<double>> before;
        const auto ids = trace::parameters_of(trace);
        for (const trace::TensorId id : ids) before.emplace_back(values[id].begin(), values[id].end());
        reference::execute(trace, values);
        for (std::size_t p = 0; p < ids.size(); ++p)
            for (std::size_t i = 0; i < before[p].size(); ++i)
                all.push_back(before[p][i] - values[ids[p]][i]);
        return all;
    };
    const std::vector<double> gradients = steps({});
    double square = 0;
    for (const double g : gradients) square += g * g;
    const double norm = std::sqrt(square);
    REQUIRE(norm > 0);
    for (const double part : {0.25, 4.0}) {
        for (const char* scale : {"1", "1024", "dynamic"}) {
            const std::vector<double> clipped = steps({{"clip_norm", std::to_string(part * norm)},
                                                       {"loss_scale", scale},
                                                       {"optimizer_lists", "1"}});
            REQUIRE(clipped.size() == gradients.size());
            CAPTURE(part, scale);
            double worst = 0;
            for (std::size_t i = 0; i < gradients.size(); ++i)
                worst = std::max(worst, std::abs(clipped[i] - gradients[i] * std::min(1.0, part)));
            CHECK(worst < 2e-5 * norm);
        }
    }
    CHECK_THROWS_AS(zoo::build(model->name, changed(options, {{"clip_norm", "-1"}})), heddle::Error);
    CHECK_THROWS_AS(zoo::build(model->name, changed(options, {{"clip_norm", "1"}, {"tensor", "2"}})),
                    heddle::Error);
}

TEST_CASE("Adam adds its decay to the gradient") {
    const auto small = small_models();
    const Options options = changed(small[4].options, {{"optimizer", "adam"}, {"weight_decay", "0.2"}});
    const Trace step = zoo::build(small[4].name, options);
    reference::TensorValues values(step);
    std::map<trace::TensorId, std::vector<double>> before;
    for (const trace::TensorId id : trace::parameters_of(step))
        before[id] = {values[id].begin(), values[id].end()};
    reference::execute(step, values);
    for (const auto& [id, old] : before) {
        const auto g = values[trace::gradient_of(step, id).value()];
        const double decay = step.tensor(id).shape.size() >= 2 ? 0.2 : 0;
        for (std::size_t i = 0; i < old.size(); ++i) {
            // After one step both corrected means are the gradient and its square.
            const double gradient = g[i] + decay * old[i];
            CHECK(values[id][i] ==
                  Approx(old[i] - 0.1 * gradient / (std::fabs(gradient) + 1e-8)).margin(1e-12));
        }
    }
}

TEST_CASE("linear layers in 8 bits: formats, scales, and the same gradients but for the rounding") {
    // The double reference scales and does not round.
    const auto small = small_models();
    for (const char* name : {"gpt2-small", "llama3-8b", "bert-base"}) {
        const auto model = std::find_if(small.begin(), small.end(),
                                        [&](const Small& s) { return s.name == std::string(name); });
        const Options options = changed(model->options, {{"type", "bf16"},
                                                         {"learning_rate", "0.001"},
                                                         {"hidden", "16"},
                                                         {"feed_forward", "32"},
                                                         {"batch", "4"},
                                                         {"sequence", "4"}});
        const Trace plain = zoo::build(name, options),
                    eight = zoo::build(name, changed(options, {{"fp8", "1"}}));
        CHECK(products(eight) == products(plain));
        std::size_t forward = 0, backward = 0;
        for (const auto& op : eight.ops) {
            if (op.kind != OpKind::matmul || bytes_of(eight.tensor(op.inputs[0]).type) != 1) continue;
            CHECK(eight.tensor(op.inputs[1]).type == trace::ElementType::e4m3);
            const auto first = eight.tensor(op.inputs[0]).type;
            CHECK(first ==
                  (op.phase == Phase::forward ? trace::ElementType::e4m3 : trace::ElementType::e5m2));
            ++(op.phase == Phase::forward ? forward : backward);
        }
        CHECK(forward > 4);
        CHECK(backward == 2 * forward);
        reference::TensorValues a(plain), b(eight);
        disturb(plain, a);
        std::map<std::string, trace::TensorId> by_name;
        for (const trace::TensorId id : reference::external_tensors(plain))
            by_name[plain.tensor(id).name] = id;
        for (const trace::TensorId id : reference::external_tensors(eight)) {
            const auto from = by_name.find(eight.tensor(id).name);
            if (from != by_name.end())
                std::copy(a[from->second].begin(), a[from->second].end(), b[id].begin());
        }
        const auto named = [&](const std::string& wanted) {
            for (trace::TensorId id = 0; id < eight.tensors.size(); ++id) {
                if (eight.tensor(id).name == wanted) return id;
            }
            FAIL("no tensor " << wanted);
            return trace::TensorId{0};
        };
        // Later, what outgrows the scale of the step before is cut off.
        for (int step = 0; step < 3; ++step) {
            reference::execute(plain, a);
            reference::execute(eight, b);
            CAPTURE(name, step);
            CHECK(b[trace::loss_of(eight)][0] ==
                  Approx(a[trace::loss_of(plain)][0]).epsilon(step == 0 ? 1e-9 : 0.02));
            const auto largest = b[named("fp8_forward.largest")], scale = b[named("fp8_forward.scale")];
            for (std::size_t i = 0; step == 0 && i < scale.size(); ++i) {
                CHECK(largest[i] > 0);
                CHECK(scale[i] == Approx(448 / largest[i]));
            }
        }
        for (const char* recompute : {"selective", "full"}) {
            check_equal(
                gradients(zoo::build(name, changed(options, {{"fp8", "1"}, {"recompute", recompute}}))),
                gradients(eight), 0);
        }
    }
}

TEST_CASE("current scaling: the tensor's own largest value, no state, and what is cut off by delayed scaling is not") {
    const auto small = small_models();
    const auto model = std::find_if(small.begin(), small.end(),
                                    [](const Small& s) { return s.name == std::string("gpt2-small"); });
    const Options options = changed(model->options, {{"type", "bf16"},
                                                     {"learning_rate", "0.001"},
                                                     {"hidden", "16"},
                                                     {"feed_forward", "32"},
                                                     {"batch", "4"},
                                                     {"sequence", "4"}});
    const Options with = changed(options, {{"fp8", "1"}, {"fp8_recipe", "current"}});
    const Trace plain = zoo::build("gpt2-small", options), now = zoo::build("gpt2-small", with),
                delayed = zoo::build("gpt2-small", changed(options, {{"fp8", "1"}}));
    CHECK(products(now) == products(plain));
    const auto count = [](const Trace& trace, OpKind kind) {
        return std::count_if(trace.ops.begin(), trace.ops.end(), [&](const auto& op) { return op.kind == kind; });
    };
    // As many tensors are rounded; each takes a search for its largest value before.
    CHECK(count(now, OpKind::quantise) == count(delayed, OpKind::quantise));
    CHECK(count(now, OpKind::reduce) >= count(plain, OpKind::reduce) + count(now, OpKind::quantise));
    for (const auto& tensor : now.tensors) CHECK(tensor.name.find("fp8_") == std::string::npos);
    // The double reference scales and does not round: in every step the loss is that of 16 bits.
    reference::TensorValues a(plain), b(now);
    disturb(plain, a);
    std::map<std::string, trace::TensorId> by_name;
    for (const trace::TensorId id : reference::external_tensors(plain)) by_name[plain.tensor(id).name] = id;
    for (const trace::TensorId id : reference::external_tensors(now)) {
        REQUIRE(by_name.contains(now.tensor(id).name));
        const auto& from = a[by_name.at(now.tensor(id).name)];
        std::copy(from.begin(), from.end(), b[id].begin());
    }
    for (int step = 0; step < 3; ++step) {
        reference::execute(plain, a);
        reference::execute(now, b);
        CHECK(b[trace::loss_of(now)][0] == Approx(a[trace::loss_of(plain)][0]).epsilon(1e-9));
    }
    for (const char* recompute : {"selective", "full"})
        check_equal(gradients(zoo::build("gpt2-small", changed(with, {{"recompute", recompute}}))), gradients(now), 0);
    CHECK_THROWS_WITH(zoo::build("gpt2-small", changed(options, {{"fp8_recipe", "current"}})),
                      Catch::Contains("goes with fp8=1"));
}
