#include <catch2/catch.hpp>

#include "op_check.h"

using namespace heddle;
using namespace heddle::test;
using trace::ElementType;
using trace::OpKind;

TEST_CASE("reductions over any axes") {
    models::Tpu tpu("tpu", small_tpu());
    struct Case {
        std::vector<std::int64_t> shape, axes, result;
    };
    const std::vector<Case> cases{
        {{65, 130}, {1}, {65}},
        {{65, 130}, {0}, {130}},
        {{65, 130}, {0, 1}, {}},
        {{900, 300}, {0}, {300}},
        {{300, 900}, {1}, {300}},
        {{5, 33, 40}, {0, 2}, {33}},
        {{5, 33, 40}, {1}, {5, 40}},
        {{4, 5, 6, 7}, {1, 3}, {4, 6}},
        {{4, 5, 6, 7}, {0, 2}, {5, 7}},
        {{9001}, {0}, {}},
        {{3}, {0}, {}},
        {{6, 1}, {1}, {6}},
        {{20, 5000}, {1}, {20}},
        {{2, 300, 2, 130}, {1}, {2, 2, 130}},
    };
    for (const Case& one : cases) {
        for (const char* const reduction : {"sum", "mean", "max", "min", "norm2"}) {
            INFO(trace::name_of(OpKind::reduce)
                 << " " << reduction << " of " << one.shape.size() << " axes, first " << one.shape[0]);
            OpCheck check;
            check.tolerance = 1e-5;  // up to 270,000 fp32 additions, most of them in short chains
            check_ops(tpu,
                      OpBuilder(OpKind::reduce)
                          .input(one.shape)
                          .output(one.result)
                          .with("reduction", std::string(reduction))
                          .with("axes", one.axes)
                          .done()
                          .trace,
                      check);
        }
    }
}

TEST_CASE("reductions of expressions and with several results") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 1e-5;
    check_ops(tpu,
              OpBuilder(OpKind::reduce)
                  .input({50, 60})
                  .input({60})
                  .output({60})
                  .output({60})
                  .with("reduction", std::string("sum"))
                  .with("axes", std::vector<std::int64_t>{0})
                  .with("expression", std::string("y0 = x0 * x1; y1 = x0"))
                  .done()
                  .trace,
              check);
    check_ops(tpu,
              OpBuilder(OpKind::reduce)
                  .input({5000}, ElementType::bf16)
                  .output({})
                  .with("reduction", std::string("mean"))
                  .with("expression", std::string("y0 = x0 * x0"))
                  .done()
                  .trace,
              check);
}

TEST_CASE("extrema with their positions") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 0;
    for (const char* const reduction : {"max", "min"}) {
        for (const auto& [shape, axes, result] : std::vector<
                 std::tuple<std::vector<std::int64_t>, std::vector<std::int64_t>, std::vector<std::int64_t>>>{
                 {{33, 700}, {1}, {33}},
                 {{700, 33}, {0}, {33}},
                 {{5000}, {0}, {}},
                 {{3, 40, 50}, {1}, {3, 50}},
                 {{2, 9000}, {1}, {2}}}) {
            INFO(reduction << " over axis " << axes[0] << " of " << shape.size());
            const auto builder = [&, &shape = shape, &axes = axes, &result = result](ElementType type) {
                return OpBuilder(OpKind::reduce)
                    .input(shape, type)
                    .output(result)
                    .output(result, ElementType::i64)
                    .with("reduction", std::string(reduction))
                    .with("axes", axes)
                    .with("argument", std::int64_t{1})
                    .done()
                    .trace;
            };
            check_ops(tpu, builder(ElementType::f32), check);
            check_ops(tpu, builder(ElementType::bf16), check);  // full of ties: the first one counts
        }
    }
}

TEST_CASE("over axes of one element nothing is combined") {
    models::Tpu tpu("tpu", small_tpu());
    for (const std::string kind : {"sum", "mean", "max", "min", "norm2"}) {
        INFO(kind);
        OpBuilder op(OpKind::reduce);
        op.input({1, 60, 70})
            .output({60, 70})
            .with("reduction", kind)
            .with("axes", std::vector<std::int64_t>{0});
        const models::Cycle cycles = check_ops(tpu, op.done().trace);
        // As fast as a copy: 4,200 elements, 1,024 a cycle at most.
        CHECK(cycles < 5000);
    }
}

TEST_CASE("axes that operands keep apart: another one takes the place before the last") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 3e-6;
    const auto run = [&](const std::vector<std::int64_t>& beside, const std::vector<std::int64_t>& axes,
                         const std::vector<std::int64_t>& result) {
        check_ops(tpu,
                  OpBuilder(OpKind::reduce)
                      .input({4, 3, 5, 70})
                      .input(beside)
                      .output(result)
                      .with("reduction", std::string("sum"))
                      .with("axes", axes)
                      .with("expression", std::string("y0 = x0 * x1"))
                      .done()
                      .trace,
                  check);
    };
    run({1, 3, 5, 1}, {2, 3}, {4, 3});
    run({4, 3, 1, 1}, {0, 3}, {3, 5});
    run({1, 3, 5, 1}, {0}, {3, 5, 70});
    run({1, 3, 5, 1}, {0, 1}, {5, 70});
    run({4, 1, 5, 1}, {0, 1, 2, 3}, {});
    run({4, 1, 5, 1}, {}, {4, 3, 5, 70});
}
