#include <catch2/catch.hpp>
#include <cmath>

#include "isa/common/error.h"
#include "op_check.h"

using namespace heddle;
using namespace heddle::test;
using trace::ElementType;
using trace::OpKind;

namespace {

/// Inputs are rounded to 8 bits on their way in, which the executor does not do: an error of up to 2^-8 per
/// product, and of random sign. The largest of the results is about sqrt(k) / 3 times a few.
constexpr double kRounded = 1.0 / 128;

OpBuilder product(std::vector<std::int64_t> a, std::vector<std::int64_t> b, std::vector<std::int64_t> y,
                  bool ta, bool tb, ElementType type = ElementType::f32) {
    OpBuilder builder(OpKind::matmul);
    builder.input(std::move(a), type).input(std::move(b), type).output(std::move(y));
    if (ta) builder.with("transpose_a", std::int64_t{1});
    if (tb) builder.with("transpose_b", std::int64_t{1});
    return builder;
}

}  // namespace

TEST_CASE("matrix products at odd sizes in all four orientations") {
    models::Tpu tpu("tpu", small_tpu());
    struct Shape {
        std::int64_t m, n, k;
    };
    for (const Shape s : {Shape{37, 41, 53}, Shape{1, 1, 1}, Shape{1, 100, 70}, Shape{100, 1, 70},
                          Shape{130, 70, 1}, Shape{300, 200, 17}, Shape{17, 33, 900}, Shape{8, 16, 16}}) {
        for (const bool ta : {false, true}) {
            for (const bool tb : {false, true}) {
                INFO(s.m << " x " << s.n << " x " << s.k << (ta ? " a^T" : "") << (tb ? " b^T" : ""));
                const auto a = ta ? std::vector<std::int64_t>{s.k, s.m} : std::vector<std::int64_t>{s.m, s.k};
                const auto b = tb ? std::vector<std::int64_t>{s.n, s.k} : std::vector<std::int64_t>{s.k, s.n};
                // bf16 inputs are exact on both sides: only fp32 additions differ.
                OpCheck exact;
                exact.tolerance = 1e-5;
                check_ops(tpu, product(a, b, {s.m, s.n}, ta, tb, ElementType::bf16).done().trace, exact);
                OpCheck rounded;
                rounded.tolerance = kRounded;
                check_ops(tpu, product(a, b, {s.m, s.n}, ta, tb).done().trace, rounded);
            }
        }
    }
}

TEST_CASE("three and six passes come near fp32") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.options.matmul_passes = 3;
    check.tolerance = 1.0 / (1 << 14);
    check_ops(tpu, product({40, 60}, {60, 50}, {40, 50}, false, false).done().trace, check);
    check.options.matmul_passes = 6;
    check.tolerance = 1.0 / (1 << 20);
    check_ops(tpu, product({40, 60}, {60, 50}, {40, 50}, false, false).done().trace, check);
}

TEST_CASE("batches and broadcast batches") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 1e-5;
    const auto bf16 = ElementType::bf16;
    check_ops(tpu, product({3, 4, 33, 20}, {3, 4, 20, 45}, {3, 4, 33, 45}, false, false, bf16).done().trace,
              check);
    check_ops(tpu, product({3, 4, 20, 33}, {3, 4, 45, 20}, {3, 4, 33, 45}, true, true, bf16).done().trace,
              check);
    check_ops(tpu, product({5, 33, 20}, {20, 45}, {5, 33, 45}, false, false, bf16).done().trace, check);
    check_ops(tpu, product({5, 33, 20}, {1, 45, 20}, {5, 33, 45}, false, true, bf16).done().trace, check);
    check_ops(tpu, product({33, 20}, {5, 20, 45}, {5, 33, 45}, false, false, bf16).done().trace, check);
}

TEST_CASE("epilogues and result types and int8") {
    models::Tpu tpu("tpu", small_tpu());
    const auto bf16 = ElementType::bf16;
    OpCheck check;
    check.tolerance = 1e-5;
    const auto builder = [&] { return product({70, 40}, {40, 90}, {70, 90}, false, false, bf16); };
    check_ops(tpu, builder().input({90}).done().trace, check);
    check_ops(tpu, builder().input({70, 90}).done().trace, check);
    check_ops(tpu, builder().input({70, 1}).done().trace, check);
    check_ops(tpu,
              builder()
                  .input({90})
                  .input({70, 90})
                  .with("epilogue", std::string("y0 = max(x0 + x1, 0) * x2"))
                  .done()
                  .trace,
              check);
    check_ops(tpu,
              builder()
                  .input({90})
                  .output({70, 90})
                  .with("epilogue", std::string("y0 = x0 + x1; y1 = tanh(y0)"))
                  .done()
                  .trace,
              check);
    check_ops(tpu,
              builder()
                  .with("epilogue", std::string("y0 = s0 * x0"))
                  .with("scalars", std::vector<double>{0.25})
                  .done()
                  .trace,
              check);
    check_ops(tpu, product({5, 33, 20}, {20, 45}, {5, 33, 45}, false, false, bf16).input({45}).done().trace,
              check);
    check.tolerance = 1.0 / 256;
    check_ops(tpu,
              OpBuilder(OpKind::matmul)
                  .input({70, 40}, bf16)
                  .input({40, 90}, bf16)
                  .output({70, 90}, bf16)
                  .done()
                  .trace,
              check);
    check.tolerance = 0;
    check.classes = 127;
    check_ops(tpu,
              OpBuilder(OpKind::matmul)
                  .input({70, 40}, ElementType::i8)
                  .input({40, 90}, ElementType::i8)
                  .output({70, 90}, ElementType::i32)
                  .done()
                  .trace,
              check);
}

TEST_CASE("products of fp8, of 8 x 16 and of 16 x 16 bits, and of quantised weights with an epilogue") {
    models::TpuConfig config = small_tpu();
    models::Tpu tpu("tpu", config);
    OpCheck check;
    check.tolerance = 1e-6;
    const auto run = [&](ElementType a, ElementType b, ElementType y, bool ta, bool tb) {
        OpBuilder builder(OpKind::matmul);
        builder.input(ta ? std::vector<std::int64_t>{40, 70} : std::vector<std::int64_t>{70, 40}, a);
        builder.input(tb ? std::vector<std::int64_t>{90, 40} : std::vector<std::int64_t>{40, 90}, b);
        builder.output({70, 90}, y)
            .with("transpose_a", std::int64_t{ta})
            .with("transpose_b", std::int64_t{tb});
        return check_ops(tpu, builder.done().trace, check);
    };
    for (const bool turned : {false, true}) {
        run(ElementType::e4m3, ElementType::e4m3, ElementType::f32, turned, turned);
        run(ElementType::e5m2, ElementType::e4m3, ElementType::f32, false, turned);
        run(ElementType::bf16, ElementType::e4m3, ElementType::f32, turned, false);
    }
    check.tolerance = 0;
    check.classes = 120;
    for (const ElementType a : {ElementType::i8, ElementType::i16})
        for (const ElementType b : {ElementType::i8, ElementType::i16})
            run(a, b, ElementType::i32, false, a != b);
    check.tolerance = 1e-6;
    check_ops(tpu,
              OpBuilder(OpKind::matmul)
                  .input({70, 40}, ElementType::i8)
                  .input({40, 90}, ElementType::i8)
                  .input({90})
                  .output({70, 90})
                  .with("epilogue", std::string("y0 = x0 * x1"))
                  .done()
                  .trace,
              check);
}

TEST_CASE("operands and results in CMEM: transfers overtake those of HBM") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 1e-5;
    check.common_memory = true;
    for (const bool ta : {false, true}) {
        const auto a = ta ? std::vector<std::int64_t>{300, 130} : std::vector<std::int64_t>{130, 300};
        check_ops(tpu, product(a, {300, 90}, {130, 90}, ta, false, ElementType::bf16).done().trace, check);
    }
    check_ops(tpu,
              product({70, 40}, {40, 90}, {70, 90}, false, false, ElementType::bf16)
                  .input({90})
                  .output({70, 90})
                  .with("epilogue", std::string("y0 = x0 + x1; y1 = tanh(y0)"))
                  .done()
                  .trace,
              check);
}

TEST_CASE("a product too large for the result buffers and for VMEM") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 1e-5;
    check_ops(tpu,
              product({600, 1500}, {1500, 120}, {600, 120}, false, false, ElementType::bf16).done().trace,
              check);
    check_ops(tpu, product({1500, 200}, {1500, 120}, {200, 120}, true, false, ElementType::bf16).done().trace,
              check);
}

TEST_CASE("operands brought to VMEM as a whole, in panels and windows") {
    models::Tpu tpu("tpu", small_tpu());
    const auto bf16 = ElementType::bf16;
    OpCheck check;
    check.tolerance = 1e-5;
    check.options.whole_operands = true;
    check.options.operand_window = 4096;
    check.options.result_window = 4096;
    for (const bool ta : {false, true}) {
        for (const bool tb : {false, true}) {
            const auto a = ta ? std::vector<std::int64_t>{70, 130} : std::vector<std::int64_t>{130, 70};
            const auto b = tb ? std::vector<std::int64_t>{90, 70} : std::vector<std::int64_t>{70, 90};
            check_ops(tpu, product(a, b, {130, 90}, ta, tb, bf16).done().trace, check);
        }
    }
    check_ops(tpu, product({300, 20}, {20, 33}, {300, 33}, false, false, bf16).done().trace, check);
    check_ops(tpu,
              product({70, 40}, {40, 90}, {70, 90}, false, false, bf16)
                  .input({90})
                  .output({70, 90})
                  .with("epilogue", std::string("y0 = x0 + x1; y1 = tanh(y0)"))
                  .done()
                  .trace,
              check);
}

TEST_CASE("tile sizes and loop order can be asked for") {
    models::Tpu tpu("tpu", small_tpu());
    const auto bf16 = ElementType::bf16;
    OpCheck check;
    check.tolerance = 1e-5;
    check.options.tile_rows = 64;
    check.options.tile_columns = 32;
    check.options.tile_depth = 16;
    for (const auto order : {lowering::LoopOrder::rows_outer, lowering::LoopOrder::columns_outer}) {
        check.options.loop_order = order;
        check_ops(tpu, product({256, 50}, {50, 128}, {256, 128}, false, false, bf16).done().trace, check);
    }
    const auto target = target_of(tpu.config());
    // What was asked for is done, also where the search would not look; a smaller product takes what it has.
    check.options.tile_rows = 24;
    const trace::Trace small = product({256, 50}, {50, 128}, {256, 128}, false, false, bf16).done().trace;
    CHECK_THAT(lowering::lower(small, 0, target, check.options).schedule,
               Catch::Contains("blocks of 24 rows x 32 columns, 16 deep"));
    check_ops(tpu, small, check);
    const trace::Trace short_one = product({16, 50}, {50, 128}, {16, 128}, false, false, bf16).done().trace;
    CHECK_THAT(lowering::lower(short_one, 0, target, check.options).schedule,
               Catch::Contains("x 32 columns, 16 deep"));
    const trace::Trace trace = product({4096, 50}, {50, 2048}, {4096, 2048}, false, false, bf16).done().trace;
    check.options.tile_rows = 4096;
    check.options.tile_columns = 2048;
    // Not an estimate in its place: whoever asks for tiles wants to see them.
    std::string problem;
    try {
        lowering::lower(trace, 0, target, check.options);
    } catch (const Error& error) {
        problem = error.what();
    }
    CHECK_THAT(problem, Catch::Contains("tile sizes") && Catch::Contains("4096 x 2048 x 50"));
}
