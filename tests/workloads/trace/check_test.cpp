#include <catch2/catch.hpp>

#include "isa/common/error.h"
#include "specimen.h"
#include "workloads/trace/shape.h"

using namespace heddle::trace;

namespace {

std::string message(const Trace& trace) {
    try {
        trace.check();
    } catch (const heddle::Error& error) {
        return error.what();
    }
    return "no error";
}

/// One op on tensors of the given shapes; the first `inputs` are its inputs.
Trace one_op(OpKind kind, std::size_t inputs, const std::vector<Shape>& shapes,
             const Attributes& attributes = {}) {
    Trace trace;
    Op op;
    op.kind = kind;
    op.attributes = attributes;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        const TensorId id = trace.add(Tensor{"t" + std::to_string(i), ElementType::f32, shapes[i]});
        (i < inputs ? op.inputs : op.outputs).push_back(id);
    }
    trace.add(op);
    return trace;
}

constexpr std::int64_t one = 1;

}  // namespace

TEST_CASE("well-formed ops pass") {
    CHECK(message(test::specimen()) == "no error");
    CHECK(message(one_op(OpKind::matmul, 2, {{5, 1, 8, 4}, {3, 8, 6}, {5, 3, 4, 6}},
                         {{keys::matmul.transpose_a, one}})) == "no error");
    CHECK(message(one_op(OpKind::matmul, 3, {{4, 8}, {6, 8}, {6}, {4, 6}},
                         {{keys::matmul.transpose_b, one}})) == "no error");
    CHECK(message(one_op(OpKind::elementwise, 2, {{4, 1}, {3}, {4, 3}},
                         {{keys::elementwise.expression, "y0 = x0 * x1"}})) == "no error");
    CHECK(message(one_op(OpKind::reduce, 1, {{4, 3, 2}, {1, 3, 1}},
                         {{keys::reduce.reduction, "sum"},
                          {keys::reduce.axes, std::vector<std::int64_t>{0, 2}}})) == "no error");
    CHECK(message(one_op(OpKind::attention, 3,
                         {{2, 8, 5, 16}, {2, 2, 7, 16}, {2, 2, 7, 16}, {2, 8, 5, 16}})) == "no error");
    CHECK(message(one_op(OpKind::copy, 1, {{2, 3, 4}, {4, 2, 3}},
                         {{keys::copy.permutation, std::vector<std::int64_t>{2, 0, 1}}})) == "no error");
    CHECK(message(one_op(OpKind::concat, 2, {{2, 3}, {2, 5}, {2, 8}}, {{keys::concat.axis, one}})) ==
          "no error");
}

TEST_CASE("what does not fit is named") {
    CHECK(message(one_op(OpKind::matmul, 2, {{4, 8}, {7, 6}, {4, 6}})).find("contraction") !=
          std::string::npos);
    CHECK(message(one_op(OpKind::matmul, 2, {{4, 8}, {8, 6}, {4, 5}})).find("instead of") !=
          std::string::npos);
    CHECK(message(one_op(OpKind::matmul, 2, {{2, 4, 8}, {3, 8, 6}, {2, 4, 6}})).find("batch") !=
          std::string::npos);
    CHECK(message(one_op(OpKind::elementwise, 1, {{4}, {4}}, {{keys::elementwise.expression, "y0 = x1"}}))
              .find("reads x1") != std::string::npos);
    CHECK(message(one_op(OpKind::elementwise, 1, {{3}, {4}}, {{keys::elementwise.expression, "y0 = x0"}}))
              .find("broadcast") != std::string::npos);
    CHECK(message(one_op(OpKind::elementwise, 1, {{4}, {4}}, {{keys::elementwise.expression, "y0 = s0"}}))
              .find("scalar") != std::string::npos);
    CHECK(message(one_op(OpKind::elementwise, 1, {{4}, {4}}, {{keys::elementwise.expression, "y0 = +"}}))
              .find("column") != std::string::npos);
    CHECK(
        message(one_op(OpKind::reduce, 1, {{4}, {}}, {{keys::reduce.reduction, "median"}})).find("median") !=
        std::string::npos);
    CHECK(message(one_op(OpKind::copy, 1, {{2, 3}, {3, 2}},
                         {{keys::copy.permutation, std::vector<std::int64_t>{0, 1}}}))
              .find("permutation") != std::string::npos);
    CHECK(message(one_op(OpKind::attention, 3, {{2, 8, 5, 16}, {2, 3, 7, 16}, {2, 3, 7, 16}, {2, 8, 5, 16}}))
              .find("multiple") != std::string::npos);
    CHECK(message(one_op(OpKind::softmax, 1, {Shape{}, Shape{}})).find("scalar") != std::string::npos);
    CHECK(message(one_op(OpKind::embedding, 1, {{4, 2}, {4}})).find("inputs instead of 2") !=
          std::string::npos);

    Trace trace = test::specimen();
    trace.ops[0].inputs[1] = 99;
    CHECK(message(trace).find("tensor 99") != std::string::npos);
    trace = test::specimen();
    trace.ops[1].dependencies = {1};
    CHECK(message(trace).find("not earlier") != std::string::npos);
    trace = test::specimen();
    trace.tensors[0].shape = {std::int64_t{1} << 40, std::int64_t{1} << 40};
    CHECK(message(trace).find("impossible shape") != std::string::npos);
    CHECK_THROWS_AS(test::specimen().ops[0].get(Integer("note")), heddle::Error);
}

TEST_CASE("norms, dropout, quantisation and top-k: sizes that fit, and sizes that do not") {
    CHECK(message(one_op(OpKind::rms_norm, 2, {{4, 6}, {6}, {4, 6}, {4}})) == "no error");
    CHECK(message(one_op(OpKind::rms_norm, 2, {{4, 6}, {5}, {4, 6}})).find("gamma") != std::string::npos);
    const Attributes groups{{keys::group_norm.groups, 3}};
    CHECK(message(one_op(OpKind::group_norm, 3, {{2, 6, 5}, {6}, {6}, {2, 6, 5}, {2, 3}, {2, 3}}, groups)) ==
          "no error");
    CHECK(message(one_op(OpKind::group_norm, 3, {{2, 5, 5}, {5}, {5}, {2, 5, 5}}, groups)).find("3 groups") !=
          std::string::npos);
    CHECK(message(one_op(OpKind::batch_norm, 4, {{2, 6}, {6}, {6}, {6}, {2, 6}})).find("come together") !=
          std::string::npos);
    CHECK(message(one_op(OpKind::batch_norm_grad, 5, {{2, 6}, {2, 6}, {6}, {6}, {6}, {2, 6}, {6}, {6}})) ==
          "no error");
    CHECK(
        message(one_op(OpKind::dropout, 1, {{9}, {9}}, {{keys::dropout.probability, 1.0}})).find("[0, 1)") !=
        std::string::npos);
    CHECK(message(one_op(OpKind::quantise, 1, {{9}, {9}})).find("not e4m3 or e5m2") != std::string::npos);
    CHECK(message(one_op(OpKind::cumulative_sum, 1, {{4, 6}, {4, 6}})) == "no error");
    CHECK(message(one_op(OpKind::cumulative_sum, 1, {{4, 6}, {4, 7}})).find("sums") != std::string::npos);
    CHECK(message(one_op(OpKind::cumulative_sum, 1, {{}, {}})).find("no axis -1") != std::string::npos);
    CHECK(message(one_op(OpKind::top_k, 1, {{4, 6}, {4, 2}, {4, 2}})) == "no error");
    CHECK(message(one_op(OpKind::top_k, 1, {{4, 6}, {4, 7}, {4, 7}})).find("no 7 largest") !=
          std::string::npos);
    CHECK(message(one_op(OpKind::layer_norm, 2, {{4, 6}, {6}, {4, 6}})).find("come together") !=
          std::string::npos);
}
