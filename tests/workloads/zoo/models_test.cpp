// Every model of the zoo: published parameter counts, textbook FLOPs, gradients, and what options may not
// change.
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
using Options = std::map<std::string, std::string>;

namespace {

std::int64_t parameters(const Trace& trace) {
    std::int64_t count = 0;
    for (const trace::TensorId id : trace::parameters_of(trace)) count += trace.tensor(id).elements();
    return count;
}

/// Operations of products of the given kinds.
double products(const Trace& trace, std::initializer_list<OpKind> kinds = {OpKind::matmul}) {
    double sum = 0;
    for (const auto& op : trace.ops) {
        for (const OpKind kind : kinds) {
            if (op.kind == kind) sum += floating_point_operations(trace, op);
        }
    }
    return sum;
}

/// A shape of every model that the double reference executes in moments; in f32, with plain SGD.
struct Small {
    const char* name;
    Options options;
};
std::vector<Small> small_models() {
    const auto with = [](Options more) {
        Options options{{"type", "f32"}, {"optimizer", "sgd"}, {"learning_rate", "0.1"}};
        options.merge(more);
        return options;
    };
    const Options decoder{{"batch", "2"},  {"sequence", "3"}, {"vocabulary", "7"},
                          {"layers", "2"}, {"hidden", "8"},   {"heads", "2"}};
    Options llama = decoder, grouped = decoder, bert = decoder, gpt = decoder;
    gpt["positions"] = "5";
    bert["positions"] = "5";
    bert["layers"] = "1";
    llama["key_heads"] = "2";
    llama["feed_forward"] = "6";
    grouped["heads"] = "4";
    grouped["key_heads"] = "2";
    grouped["feed_forward"] = "6";
    return {
        {"lstm",
         with({{"layers", "2"}, {"hidden", "3"}, {"vocabulary", "5"}, {"batch", "2"}, {"sequence", "3"}})},
        {"resnet18", with({{"batch", "2"}, {"image", "32"}, {"classes", "3"}, {"width", "2"}})},
        {"resnet50", with({{"batch", "2"}, {"image", "32"}, {"classes", "3"}, {"width", "1"}})},
        {"bert-base", with(bert)},
        {"gpt2-small", with(gpt)},
        {"gpt3-175b", with(gpt)},
        {"llama2-7b", with(llama)},
        {"llama3-8b", with(grouped)},
        {"vit-b16", with({{"batch", "2"},
                          {"image", "8"},
                          {"patch", "4"},
                          {"classes", "3"},
                          {"layers", "1"},
                          {"hidden", "8"},
                          {"heads", "2"}})},
        {"switch-base-8", with({{"batch", "2"},
                                {"sequence", "4"},
                                {"target", "3"},
                                {"vocabulary", "7"},
                                {"layers", "2"},
                                {"hidden", "6"},
                                {"heads", "2"},
                                {"head_dim", "3"},
                                {"feed_forward", "5"},
                                {"experts", "3"},
                                {"capacity", "0.9"}})}};
}

Options changed(Options options, const Options& more) {
    for (const auto& [key, value] : more) options[key] = value;
    return options;
}

/// The step without its last phase, so that parameters stay what they are.
Trace without_updates(Trace trace) {
    const auto first = std::find_if(trace.ops.begin(), trace.ops.end(),
                                    [](const auto& op) { return op.phase == Phase::optimizer; });
    trace.ops.erase(first, trace.ops.end());
    return trace;
}

/// Away from the initial values, where all biases are 0 and all gammas 1; the same for the same names.
void disturb(const Trace& trace, reference::TensorValues& values) {
    const auto ids = trace::parameters_of(trace);
    for (std::size_t p = 0; p < ids.size(); ++p) {
        for (std::size_t i = 0; i < values[ids[p]].size(); ++i)
            values[ids[p]][i] += 0.4 * (expression::random_uniform(100 + p, i) - 0.5);
    }
}

/// Gradients by the name of their parameter, and the loss as "loss".
std::map<std::string, std::vector<double>> gradients(const Trace& whole) {
    reference::TensorValues values(whole);
    disturb(whole, values);
    reference::execute(without_updates(whole), values);
    std::map<std::string, std::vector<double>> result;
    for (const trace::TensorId id : trace::parameters_of(whole)) {
        const auto gradient = values[trace::gradient_of(whole, id).value()];
        result[whole.tensor(id).name] = {gradient.begin(), gradient.end()};
    }
    result["loss"] = {values[trace::loss_of(whole)][0]};
    return result;
}

void check_equal(const std::map<std::string, std::vector<double>>& a,
                 const std::map<std::string, std::vector<double>>& b, double tolerance) {
    REQUIRE(a.size() == b.size());
    for (const auto& [name, values] : a) {
        const std::vector<double>& others = b.at(name);
        REQUIRE(values.size() == others.size());
        CAPTURE(name);
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (tolerance == 0) {
                CHECK(values[i] == others[i]);
            } else {
                CHECK(values[i] == Approx(others[i]).epsilon(tolerance).margin(tolerance));
            }
        }
    }
}

std::string message(const std::string& model, const Options& options) {
    try {
        zoo::build(model, options);
    } catch (const Error& error) {
        return error.what();
    }
    return "no error";
}

}  // namespace

TEST_CASE("models have as many parameters as the published ones") {
    // torchvision: resnet18 ... vit_l_16; transformers: BertForPreTraining, GPT2LMHeadModel,
    // LlamaForCausalLM.
    const std::map<std::string, std::int64_t> published{
        {"resnet18", 11689512},       {"resnet34", 21797672},      {"resnet50", 25557032},
        {"resnet101", 44549160},      {"resnet152", 60192808},     {"vit-b16", 86567656},
        {"vit-l16", 304326632},       {"bert-base", 110106428},    {"gpt2-small", 124439808},
        {"gpt2-medium", 354823168},   {"gpt2-large", 774030080},   {"gpt2-xl", 1557611200},
        {"llama2-7b", 6738415616},    {"llama2-13b", 13015864320}, {"llama2-70b", 68976648192},
        {"llama3-8b", 8030261248},    {"llama3-70b", 70553706496}, {"gpt3-175b", 174604259328},
        {"switch-base-8", 619339008}, {"bert-large", 336226108},   {"lstm", 19775200},
    };
    for (const zoo::Model& model : zoo::models()) {
        if (model.parameters == 0) continue;
        CAPTURE(model.name);
        // Counts depend on neither batch nor type.
        Options options{{"batch", "1"}};
        if (model.name == "lstm") options["sequence"] = "2";
        const Trace trace = zoo::build(model.name, options);
        CHECK(parameters(trace) == model.parameters);
        const auto known = published.find(model.name);
        if (known != published.end()) CHECK(model.parameters == known->second);
    }
    // BertModel without the heads of pre-training.
    std::int64_t encoder = 0;
    const Trace bert = zoo::build("bert-base", {{"batch", "1"}});
    for (const trace::TensorId id : trace::parameters_of(bert)) {
        if (bert.tensor(id).name.rfind("head", 0) != 0) encoder += bert.tensor(id).elements();
    }
    CHECK(encoder == 109482240);
}

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

TEST_CASE("FLOPs of decoders are 6 N D, attention, and what is computed again") {
    // N: weights of products. A causal score is counted half: 2 S^2 D forward for each sequence and
    // layer, 2.5 times that backward (Dao, 2023).
    struct Case {
        const char* name;
        double layers, width, weights_of_block, vocabulary;
        bool positions;
    };
    const double d = 4096;
    for (const Case& c :
         {Case{"gpt2-small", 12, 768, 12.0 * 768 * 768, 50257, true},
          Case{"gpt3-175b", 96, 12288, 12.0 * 12288 * 12288, 50257, true},
          Case{"llama2-7b", 32, d, 4 * d * d + 3 * d * 11008, 32000, false},
          Case{"llama3-8b", 32, d, 2 * d * d + 2 * d * 1024 + 3 * d * 14336, 128256, false}}) {
        const double batch = 2, sequence = 512, tokens = batch * sequence;
        const Options options{{"batch", "2"}, {"sequence", "512"}};
        const double blocks = 2 * tokens * c.layers * c.weights_of_block,
                     head = 2 * tokens * c.vocabulary * c.width,
                     scores = batch * c.layers * 2 * sequence * sequence * c.width;
        CAPTURE(c.name);
        const auto kinds = {OpKind::matmul, OpKind::attention, OpKind::attention_grad};
        CHECK(products(zoo::build(c.name, options), kinds) == 3 * (blocks + head) + 3.5 * scores);
        CHECK(products(zoo::build(c.name, changed(options, {{"recompute", "full"}})), kinds) ==
              4 * blocks + 3 * head + 4.5 * scores);
        CHECK(products(zoo::build(c.name, changed(options, {{"recompute", "selective"}})), kinds) ==
              3 * (blocks + head) + 3.5 * scores);
        CHECK(products(zoo::build(c.name, changed(options, {{"micro_batches", "2"}})), kinds) ==
              3 * (blocks + head) + 3.5 * scores);
        // Scores and their mask are ops of their own, not halved; recomputation selects them alone
        // (Korthikanti et al., 2022): 4 S^2 D more for each sequence and layer.
        const Options composed = changed(options, {{"attention", "composed"}});
        CHECK(products(zoo::build(c.name, composed), kinds) == 3 * (blocks + head) + 6 * scores);
        CHECK(products(zoo::build(c.name, changed(composed, {{"recompute", "selective"}})), kinds) ==
              3 * (blocks + head) + 8 * scores);
    }
}

TEST_CASE("FLOPs of image models are those that are published") {
    // Multiply-adds of one image: torchvision's table gives 1.81, 4.09 and 17.56 billion.
    const double resnet = 4089184256,
                 vit = 196.0 * 768 * 768 + 12 * (197 * 12.0 * 768 * 768 + 2 * 197.0 * 197 * 768) + 768 * 1000;
    CHECK(vit == 17563828224);
    const auto kinds = {OpKind::matmul,
                        OpKind::convolution,
                        OpKind::convolution_data_grad,
                        OpKind::convolution_weight_grad,
                        OpKind::attention,
                        OpKind::attention_grad};
    // The image has no gradient.
    const double stem = 112 * 112 * 64 * 147.0, patches = 196.0 * 768 * 768;
    for (const char* layout : {"nchw", "nhwc"}) {
        CHECK(products(zoo::build("resnet50", {{"batch", "4"}, {"layout", layout}}), kinds) ==
              4 * 2 * (3 * resnet - stem));
    }
    // Fused attention computes its scores again.
    const double scores = 12 * 2 * 197.0 * 197 * 768;
    CHECK(products(zoo::build("vit-b16", {{"batch", "4"}}), kinds) ==
          4 * 2 * (3 * vit - patches + 0.5 * scores));
}

TEST_CASE("a mixture's experts compute as many rows as they have slots") {
    const Options options{{"batch", "2"}, {"sequence", "64"}, {"target", "32"}, {"layers", "2"}};
    const double d = 768, f = 3072, source = 128, target = 64, v = 32128;
    const double attention = 4 * d * d;
    // Per stack: two blocks, one of them with 8 experts of ceil(tokens * 1.25 / 8) slots.
    const double slots = 8 * (20 + 10);
    // Two products, two layers, two pairs of sequences. Cross attention has no relative positions and is
    // fused: its gradient computes the scores again.
    const double own = 2 * 2 * 2 * d * (64 * 64 + 32 * 32), cross = 2 * 2 * 2 * d * 32 * 64;
    const double keys_of_encoder =
        2 * 2 * d * d * (source - target);  // of cross attention, not of the target
    const double forward =
        2 * (2 * source * attention + 2 * target * 2 * attention + keys_of_encoder +
             (source + target) * 2 * d * f + slots * 2 * d * f + (source + target) * d * 8 + target * d * v) +
        2 * own;
    CHECK(products(zoo::build("switch-base-8", options)) == 3 * forward);
    CHECK(products(zoo::build("switch-base-8", options), {OpKind::attention, OpKind::attention_grad}) ==
          3.5 * 2 * cross);
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

TEST_CASE("options of models that make no sense are named") {
    using Catch::Matchers::Contains;
    CHECK_THAT(message("gpt2-smal", {}), Contains("did you mean gpt2-small?"));
    CHECK_THAT(message("gpt2-small", {{"sequence", "2000"}}), Contains("1024 learned positions"));
    CHECK_THAT(message("gpt2-small", {{"heads", "5"}}), Contains("heads") && Contains("divide"));
    CHECK_THAT(message("llama3-8b", {{"key_heads", "5"}}), Contains("key_heads"));
    CHECK_THAT(message("gpt2-small", {{"batch", "8"}, {"micro_batches", "3"}}),
               Contains("does not fall into 3"));
    CHECK_THAT(message("gpt2-small", {{"recompute", "some"}}), Contains("none, selective or full"));
    CHECK_THAT(message("gpt2-small", {{"fp8", "1"}, {"type", "f32"}}), Contains("f16 or bf16"));
    CHECK_THAT(message("vit-b16", {{"patch", "15"}}), Contains("patch"));
    CHECK_THAT(message("resnet50", {{"image", "0"}}), Contains("at least 1"));
    CHECK_THAT(message("switch-base-8", {{"attention", "fused"}}), Contains("relative positions"));
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
