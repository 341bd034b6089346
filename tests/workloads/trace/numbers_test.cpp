// Sizes, counts and times that there cannot be, in a Trace.
#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "workloads/trace/possible_shape.h"
#include "workloads/trace/structure.h"
#include "workloads/trace/trace.h"

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

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

/// y = x of one tensor each, f64.
Trace copy_of(const Shape& shape, const Attributes::Map& attributes = {}) {
    Trace trace;
    trace.add(Tensor{"x", ElementType::f64, shape});
    trace.add(Tensor{"y", ElementType::f64, shape});
    Op op;
    op.name = "aten::copy";
    op.kind = OpKind::copy;
    op.inputs = {0};
    op.outputs = {1};
    op.attributes = Attributes(attributes);
    trace.add(op);
    return trace;
}

Trace collective_of(const Attribute& bytes) {
    Trace trace = copy_of({4});
    trace.ops[0].kind = OpKind::collective;
    trace.ops[0].set(keys::collective.collective, "all_reduce");
    trace.ops[0].attributes.put("bytes", bytes);
    return trace;
}

}  // namespace

TEST_CASE("tensors of more elements than any memory has are refused, before their bytes are counted") {
    CHECK(message(copy_of({std::int64_t{1} << 44})) == "no error");
    CHECK(message(copy_of({1 << 22, 1 << 22})) == "no error");
    for (const Shape& shape :
         {Shape{kHuge}, Shape{std::int64_t{1} << 45}, Shape{1 << 22, 1 << 22, 2},
          Shape{std::int64_t{1} << 32, std::int64_t{1} << 32},  // 2^64 elements: 0 of them
          Shape{kHuge, 8}, Shape{0, kHuge}, Shape{-5}, Shape{-1, -1}, Shape{INT64_MIN}}) {
        CAPTURE(to_text(shape));
        CHECK_THAT(message(copy_of(shape)), Catch::Contains("impossible shape " + to_text(shape)));
    }
}

TEST_CASE("strides and offsets that leave every memory are refused with the op and the operand") {
    using Strides = std::vector<std::int64_t>;
    CHECK(message(copy_of({4, 3}, {{"input0_strides", Strides{1, 4}}})) == "no error");
    CHECK(message(copy_of({4, 3}, {{"input0_strides", Strides{0, 1}}, {"input0_offset", std::int64_t{5}}})) ==
          "no error");
    // Backwards, from the last element on.
    CHECK(message(copy_of({4}, {{"input0_strides", Strides{-1}}, {"input0_offset", std::int64_t{3}}})) ==
          "no error");
    const Attributes::Map wrong[] = {
        {{"input0_strides", Strides{kHuge, 1}}},
        {{"input0_strides", Strides{INT64_MAX, INT64_MAX}}},
        {{"input0_strides", Strides{-1, 1}}},  // begins before its storage
        {{"input0_strides", Strides{1}}},      // one stride for two axes
        {{"input0_offset", kHuge}},
        {{"input0_offset", std::int64_t{-5}}},
        {{"output0_offset", INT64_MAX}},
        {{"output0_strides", Strides{std::int64_t{1} << 44, 1}}},
    };
    for (const auto& attributes : wrong) {
        CAPTURE(attributes.begin()->first);
        CHECK_THAT(message(copy_of({4, 3}, attributes)),
                   Catch::Contains("op 0 (copy aten::copy)") &&
                       Catch::Contains("offset and strides of " + attributes.begin()->first.substr(0, 5)));
    }
}

TEST_CASE("recorded times are finite, not negative, and of this world") {
    for (const double good : {0.0, 1e-3, 1e6, 1e15}) {
        Trace trace = copy_of({4});
        trace.ops[0].measured_us = trace.ops[0].host_us = good;
        CHECK(message(trace) == "no error");
    }
    for (const double bad :
         {std::nan(""), double(INFINITY), -double(INFINITY), -5.0, -1e-9, 0x1p62, 0x1p63, 1e300}) {
        CAPTURE(bad);
        Trace trace = copy_of({4});
        trace.ops[0].measured_us = bad;
        CHECK_THAT(message(trace), Catch::Contains("op 0 (aten::copy), measured_us: ") &&
                                       Catch::Contains("is not a time in microseconds"));
        trace.ops[0].measured_us.reset();
        trace.ops[0].host_us = bad;
        CHECK_THAT(message(trace), Catch::Contains("op 0 (aten::copy), host_us: "));
    }
}

TEST_CASE("counts among an op's attributes are whole, and there can be so many") {
    CHECK(message(collective_of(std::int64_t{1} << 40)) == "no error");
    CHECK(message(collective_of(1e9)) == "no error");
    for (const Attribute& bad :
         {Attribute{std::int64_t{-5}}, Attribute{kHuge}, Attribute{INT64_MAX}, Attribute{0.5},
          Attribute{std::nan("")}, Attribute{double(INFINITY)}, Attribute{1e300}})
        CHECK_THAT(message(collective_of(bad)), Catch::Contains("op 0 (collective aten::copy), bytes: ") &&
                                                    Catch::Contains("is not a number of bytes"));
    for (const char* count : {"ranks", "kernels", "stages", "slices", "thread_blocks", "vector_width",
                              "threads", "elements_per_thread", "chunk_elements"}) {
        CAPTURE(count);
        CHECK(message(copy_of({4}, {{count, std::int64_t{2}}})) == "no error");
        for (const std::int64_t bad : {std::int64_t{-5}, kHuge, std::int64_t{1} << 32})
            CHECK_THAT(message(copy_of({4}, {{count, bad}})),
                       Catch::Contains(std::string(", ") + count + ": "));
    }
    CHECK_THAT(message(copy_of({4}, {{"tile", std::vector<std::int64_t>{128, kHuge}}})),
               Catch::Contains(", tile: "));
}

TEST_CASE("windows whose reach has no place in 64 bits are refused") {
    const auto pooled = [](const Attributes::Map& attributes) {
        Trace trace;
        trace.add(Tensor{"x", ElementType::f32, {1, 1, 8, 8}});
        trace.add(Tensor{"y", ElementType::f32, {1, 1, 4, 4}});
        Op op;
        op.kind = OpKind::pooling;
        op.inputs = {0};
        op.outputs = {1};
        op.set(keys::pooling.pooling, "mean");
        op.set(keys::pooling.window, {2, 2});
        op.set(keys::pooling.strides, {2, 2});
        for (const auto& [key, value] : attributes) op.attributes.put(key, value);
        trace.add(op);
        return message(trace);
    };
    CHECK(pooled({}) == "no error");
    for (const char* key : {"window", "strides", "padding", "dilation"}) {
        CAPTURE(key);
        for (const std::int64_t bad : {kHuge, INT64_MAX, std::int64_t{1} << 31, INT64_MIN})
            CHECK_THAT(pooled({{key, std::vector<std::int64_t>{bad, bad}}}), Catch::Contains(key));
    }
}

TEST_CASE("sizes that wrap around 2^64 fit no op") {
    const auto looked_up = [](std::int64_t rows, std::int64_t columns, const Shape& result) {
        Trace trace;
        trace.add(Tensor{"table", ElementType::f32, {4, columns}});
        trace.add(Tensor{"indices", ElementType::i64, {rows}});
        trace.add(Tensor{"y", ElementType::f32, result});
        Op op;
        op.kind = OpKind::embedding;
        op.inputs = {0, 1};
        op.outputs = {2};
        trace.add(op);
        return message(trace);
    };
    CHECK(looked_up(8, 16, {8, 16}) == "no error");
    // 2^42 * 2^42 = 2^84 elements, of which 64 bits keep 0.
    CHECK_THAT(looked_up(std::int64_t{1} << 42, std::int64_t{1} << 42, {0}),
               Catch::Contains("can be counted"));
}

TEST_CASE("all tensors of a step together have a number of bytes") {
    // 2^14 tensors of 2^47 bytes are 2^61.
    Trace trace;
    Op op;
    op.kind = OpKind::unknown;
    for (TensorId id = 0; id < 1 << 14; ++id) {
        trace.add(Tensor{"t" + std::to_string(id), ElementType::f64, {std::int64_t{1} << 44}});
        op.inputs.push_back(id);
    }
    trace.add(op);
    CHECK_THAT(message(trace), Catch::Contains("more than 2^60 bytes together"));
    trace.ops[0].inputs.resize(1 << 12);
    CHECK(message(trace) == "no error");
    CHECK(peak_memory(trace).bytes == std::uint64_t{1} << 59);
    // As many views of one memory are no more than it.
    Trace views;
    Op reads;
    reads.kind = OpKind::unknown;
    for (TensorId id = 0; id < 1 << 14; ++id) {
        views.add(Tensor{"v", ElementType::f64, {std::int64_t{1} << 44}, TensorRole::activation, 7});
        reads.inputs.push_back(id);
    }
    views.add(reads);
    CHECK(message(views) == "no error");
    CHECK(peak_memory(views).bytes == std::uint64_t{1} << 47);
}

TEST_CASE("the reach of a tensor in its storage") {
    CHECK(storage_reach(0, {4, 3}, {}) == 12);
    CHECK(storage_reach(5, {4, 3}, {}) == 17);
    CHECK(storage_reach(0, {}, {}) == 1);
    CHECK(storage_reach(2, {4, 3}, {3, 1}) == 14);
    CHECK(storage_reach(2, {4, 3}, {1, 100}) == 206);
    CHECK(storage_reach(2, {4, 0}, {1, 100}) == 2);
    CHECK(storage_reach(3, {4}, {-1}) == 4);
    CHECK_FALSE(storage_reach(2, {4}, {-1}));
    CHECK_FALSE(storage_reach(-1, {4}, {}));
    CHECK_FALSE(storage_reach(0, {4, 3}, {1}));
    CHECK_FALSE(storage_reach(0, {4, 3}, {kHuge, kHuge}));
    CHECK_FALSE(storage_reach(INT64_MAX, {4}, {}));
}
