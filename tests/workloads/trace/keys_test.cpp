// Kinds of ops and the keys of their attributes.
#include <catch2/catch.hpp>
#include <set>

#include "attributes_of_kinds.h"
#include "isa/common/error.h"
#include "workloads/trace/names.h"

using namespace heddle;
using namespace heddle::trace;

TEST_CASE("every kind has its name, and keys that no other of its own keys is spelt like") {
    for (std::size_t i = 0; i < kOpKinds; ++i) {
        const auto kind = static_cast<OpKind>(i);
        CAPTURE(name_of(kind));
        CHECK(op_kind_from_name(name_of(kind)) == kind);
        CHECK(keys_of(kind).front() == keys::any.turns.name);
        std::set<std::string> names;
        for (const Key& key : own_keys_of(kind)) {
            CAPTURE(key.name);
            CHECK(names.insert(key.name).second);
        }
    }
    CHECK(name_of(OpKind::attention_grad) == "attention_grad");
    CHECK(own_keys_of(OpKind::attention_grad).front() == "causal");
    CHECK(own_keys_of(OpKind::quantise).empty());
}

TEST_CASE("a key reads and writes a value of its type, and says what holds without one") {
    Op op;
    op.name = "layer";
    CHECK(op.get(keys::batch_norm.momentum) == 0.1);
    CHECK(op.get(keys::batch_norm.momentum, 0.3) == 0.3);
    CHECK(op.get(keys::convolution.layout) == "nchw");
    CHECK(op.get(keys::convolution.groups) == 1);
    CHECK(op.get(keys::reduce.axes).empty());
    CHECK_FALSE(op.has(keys::reduce.axes));
    op.set(keys::batch_norm.momentum, 0.5);
    op.set(keys::convolution.layout, "nhwc");
    op.set(keys::convolution.groups, 4);
    op.set(keys::reduce.axes, {0, 2});
    op.set(keys::matmul.transpose_a, true);
    CHECK(op.get(keys::batch_norm.momentum) == 0.5);
    CHECK(op.get(keys::convolution.layout) == "nhwc");
    CHECK(op.get(keys::convolution.groups) == 4);
    CHECK(op.get(keys::reduce.axes) == std::vector<std::int64_t>{0, 2});
    // As files hold them.
    CHECK(op.attributes == Attributes(Attributes::Map{{"momentum", 0.5},
                                                      {"layout", std::string("nhwc")},
                                                      {"groups", std::int64_t{4}},
                                                      {"axes", std::vector<std::int64_t>{0, 2}},
                                                      {"transpose_a", std::int64_t{1}}}));
    // What a file holds otherwise: an integer is a number and a list of one, a text is neither.
    op.attributes.put("momentum", std::int64_t{1});
    op.attributes.put("axes", std::int64_t{3});
    op.attributes.put("groups", std::string("four"));
    CHECK(op.get(keys::batch_norm.momentum) == 1);
    CHECK(op.get(keys::reduce.axes) == std::vector<std::int64_t>{3});
    CHECK_THROWS_WITH(op.get(keys::convolution.groups),
                      Catch::Contains("op layer") && Catch::Contains("attribute 'groups' is not an integer"));
}

TEST_CASE("an op takes over what another says of a key, and nothing where it says nothing") {
    Attributes from{{keys::softmax.axis, 1}}, to;
    to.copy(keys::softmax.axis, from);
    to.copy(keys::softmax.logarithm, from);
    CHECK(to == from);
    to.erase(keys::softmax.axis);
    CHECK(to.empty());
}

TEST_CASE("where an operand lies is told by its place") {
    Op op;
    op.set_strides("input1", {8, 1});
    op.set_offset("output0", 5);
    CHECK(op.strides("input1") == std::vector<std::int64_t>{8, 1});
    CHECK(op.offset("output0") == 5);
    CHECK((op.has_strides("input1") && op.has_offset("output0")));
    CHECK_FALSE((op.has_strides("output0") || op.has_offset("input1")));
    op.drop_strides("input1");
    CHECK(op.strides("input1").empty());
    CHECK(op.attributes == Attributes(Attributes::Map{{"output0_offset", std::int64_t{5}}}));
}

TEST_CASE("attention and its gradient are work of matrix units, softmax is none") {
    CHECK(is_product(OpKind::matmul));
    CHECK_FALSE(is_attention(OpKind::matmul));
    CHECK((is_product(OpKind::attention) && is_attention(OpKind::attention)));
    CHECK(matrix_work(OpKind::attention_grad) == MatrixWork::attention_grad);
    CHECK_FALSE(is_product(OpKind::softmax));
}

TEST_CASE("an attribute that the kind has no key for is found, and one of another type") {
    Trace trace;
    Op op;
    op.kind = OpKind::matmul;
    op.set(keys::matmul.transpose_b, 1);
    op.set_offset("input0", 4);
    trace.add(op);
    CHECK(test::strange_attributes(trace).empty());
    op.set(keys::attention.causal, 1);
    op.attributes.put("stages", 2.0);
    trace.add(op);
    CHECK(test::strange_attributes(trace) == "matmul causal\nmatmul stages\n");
}
