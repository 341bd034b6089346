// What a step computes twice is computed once, and nothing is held longer for it.
#include "workloads/fusion/repetition.h"

#include <catch2/catch.hpp>
#include <random>

#include "random_graph.h"
#include "same_values.h"
#include "workloads/trace/memory.h"
#include "workloads/zoo/registry.h"
#include "workloads/zoo/tape.h"

using namespace heddle;
using heddle::tests::Chain;
using heddle::tests::check_same_values;
using heddle::tests::count;
using heddle::tests::random_graph;
using trace::OpKind;
using trace::TensorId;
using trace::Trace;

TEST_CASE("the second of two equal ops goes while the first one's result is held") {
    Chain c;
    const TensorId x = c.input({6, 8}), w = c.input({8, 8});
    const TensorId a = c.tape.elementwise("a", "y0 = s0 * x0", {x}, {}, {2});
    const TensorId b = c.tape.elementwise("b", "y0 = s0 * x0", {x}, {}, {2});
    const TensorId other = c.tape.elementwise("other number", "y0 = s0 * x0", {x}, {}, {3});
    const TensorId p = c.tape.matmul("p", a, w);
    c.tape.elementwise("all", "y0 = x0 + x1 + x2", {p, b, other});
    const Trace plain = c.tape.finish();
    std::size_t dropped = 0;
    const Trace once = fusion::without_repetitions(plain, &dropped);
    CHECK(dropped == 1);
    REQUIRE(once.ops.size() == 4);
    CHECK(once.ops[3].inputs == std::vector<TensorId>{p, a, other});
    check_same_values(plain, once, 0);
}

TEST_CASE("an equal op stays where the first result would have to be held for it, or an operand changed") {
    Chain c;
    const TensorId x = c.input({8, 8});
    const TensorId a = c.tape.elementwise("a", "y0 = 2 * x0", {x});
    const TensorId used = c.tape.elementwise("used", "y0 = x0 + 1", {a});
    const TensorId again = c.tape.elementwise("again", "y0 = 2 * x0", {x});
    c.tape.elementwise("sum", "y0 = x0 + x1", {used, again});
    CHECK(fusion::without_repetitions(c.tape.finish()).ops.size() == 4);

    Chain d;
    const TensorId weight =
        d.tape.external("w", trace::ElementType::f32, {8, 8}, trace::TensorRole::parameter);
    const TensorId before = d.tape.elementwise("before", "y0 = 2 * x0", {weight});
    d.tape.update_in_place("update", "y0 = x0 - 1", {weight}, {weight}, {});
    const TensorId after = d.tape.elementwise("after", "y0 = 2 * x0", {weight});
    d.tape.elementwise("sum", "y0 = x0 + x1", {before, after});
    const Trace plain = d.tape.finish();
    const Trace once = fusion::without_repetitions(plain);
    CHECK(once.ops.size() == 4);
    check_same_values(plain, once, 0);
}

TEST_CASE("both summands of a residual sum get one gradient, and recomputed ops stay") {
    const auto drops = [](const std::string& model, const std::map<std::string, std::string>& options) {
        std::size_t dropped = 0;
        const Trace plain = zoo::build(model, options);
        const Trace once = fusion::without_repetitions(plain, &dropped);
        const auto peak = [](const Trace& trace) {
            const trace::MemoryProfile all = trace::profile_memory(trace);
            return trace::total(all.during[all.peak]);
        };
        CHECK(peak(once) <= peak(plain));
        return dropped;
    };
    // He et al.: 8 residual sums in ResNet-18, 16 in ResNet-50.
    CHECK(drops("resnet18", {}) == 8);
    CHECK(drops("resnet50", {}) == 16);
    CHECK(drops("resnet50", {{"layout", "nhwc"}}) == 16);  // norms see rows of pixels: views of the gradients
    CHECK(drops("gpt2-small", {{"layers", "2"}}) == 0);
    CHECK(drops("gpt2-small", {{"layers", "2"}, {"recompute", "full"}}) == 0);
    CHECK(drops("gpt2-small", {{"layers", "2"}, {"recompute", "selective"}}) == 0);
}

TEST_CASE("views of a result that goes see the one that stays") {
    for (const std::string layout : {"nchw", "nhwc"}) {
        CAPTURE(layout);
        const Trace plain = zoo::build("resnet18", {{"batch", "2"},
                                                    {"image", "32"},
                                                    {"classes", "5"},
                                                    {"width", "4"},
                                                    {"type", "f32"},
                                                    {"layout", layout}});
        std::size_t dropped = 0;
        check_same_values(plain, fusion::without_repetitions(plain, &dropped), 0);
        CHECK(dropped == 8);
    }
}

TEST_CASE("random graphs keep their values without repetitions") {
    std::mt19937 random(13);
    for (int round = 0; round < 40; ++round) {
        const Trace plain = random_graph(random, 2);
        check_same_values(plain, fusion::without_repetitions(plain), 0);
    }
}
