#include "small_models.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "workloads/expression/expression.h"
#include "workloads/trace/training.h"

namespace heddle::zoo::test {

using trace::OpKind;
using trace::Phase;
using trace::Trace;

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

double products(const Trace& trace, std::initializer_list<OpKind> kinds) {
    double sum = 0;
    for (const auto& op : trace.ops) {
        for (const OpKind kind : kinds) {
            if (op.kind == kind) sum += floating_point_operations(trace, op);
        }
    }
    return sum;
}

Trace without_updates(Trace trace) {
    const auto first = std::find_if(trace.ops.begin(), trace.ops.end(),
                                    [](const auto& op) { return op.phase == Phase::optimizer; });
    trace.ops.erase(first, trace.ops.end());
    return trace;
}

void disturb(const Trace& trace, reference::TensorValues& values) {
    const auto ids = trace::parameters_of(trace);
    for (std::size_t p = 0; p < ids.size(); ++p) {
        for (std::size_t i = 0; i < values[ids[p]].size(); ++i)
            values[ids[p]][i] += 0.4 * (expression::random_uniform(100 + p, i) - 0.5);
    }
}

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

}  // namespace heddle::zoo::test
