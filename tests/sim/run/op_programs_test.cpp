// Which ops of a step have the same program, on machines on which each op is one.
#include <catch2/catch.hpp>

#include "sim/run/time/op_programs.h"
#include "workloads/trace/module.h"
#include "workloads/trace/op_kinds.h"

using namespace heddle;

namespace {

/// A trace of one product of the given rows, and its op.
struct OneProduct {
    explicit OneProduct(std::int64_t rows) {
        trace::Tensor tensor;
        tensor.name = "x", tensor.shape = {rows, 64};
        const auto x = trace.add(tensor);
        tensor.name = "w", tensor.shape = {64, 32};
        const auto w = trace.add(tensor);
        tensor.name = "y", tensor.shape = {rows, 32};
        const auto y = trace.add(tensor);
        op.kind = trace::OpKind::matmul;
        op.inputs = {x, w};
        op.outputs = {y};
    }
    std::string key(std::uint64_t memory_of_w = 1, std::string_view mark = "") const {
        return sim::op_key(
            trace, op, [&](trace::TensorId id) { return id == op.inputs[1] ? memory_of_w : std::uint64_t(id) + 100; },
            [&](std::uint64_t) { return mark; });
    }
    trace::Trace trace;
    trace::Op op;
};

}  // namespace

TEST_CASE("Ops of several modules and turns have the same program", "[op_programs]") {
    OneProduct first(128), second(128);
    second.op.set(trace::module_key, "layers.1.attention");
    second.op.set(keys::any.turns, {12});
    CHECK(first.key() == second.key());
}

TEST_CASE("Shape, attribute, shared memory and marks make another program", "[op_programs]") {
    const OneProduct first(128), taller(256);
    CHECK(first.key() != taller.key());
    OneProduct transposed(128);
    transposed.op.set(keys::matmul.transpose_b, 1);
    CHECK(first.key() != transposed.key());
    CHECK(first.key() != first.key(std::uint64_t(first.op.inputs[0]) + 100));
    CHECK(first.key() != first.key(1, "resident"));
}
