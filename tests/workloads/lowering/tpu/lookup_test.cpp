#include <catch2/catch.hpp>

#include "op_check.h"

using namespace heddle;
using namespace heddle::test;
using trace::ElementType;
using trace::OpKind;

namespace {
const ElementType i64 = ElementType::i64;
}

TEST_CASE("embedding and its gradient") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.classes = 50;
    check.tolerance = 0;
    check_ops(tpu,
              OpBuilder(OpKind::embedding).input({50, 77}).input({333}, i64).output({333, 77}).done().trace,
              check);
    check_ops(
        tpu,
        OpBuilder(OpKind::embedding).input({50, 300}).input({7, 9}, i64).output({7, 9, 300}).done().trace,
        check);
    check.tolerance = 1.0 / 512;
    check_ops(tpu,
              OpBuilder(OpKind::embedding)
                  .input({50, 77})
                  .input({333}, i64)
                  .output({333, 77}, ElementType::bf16)
                  .done()
                  .trace,
              check);
    check.tolerance = 1e-6;
    check_ops(
        tpu,
        OpBuilder(OpKind::embedding_grad).input({333, 77}).input({333}, i64).output({50, 77}).done().trace,
        check);
    check_ops(
        tpu,
        OpBuilder(OpKind::embedding_grad).input({333, 300}).input({333}, i64).output({50, 300}).done().trace,
        check);
    check.tolerance = 1.0 / 256;
    check_ops(tpu,
              OpBuilder(OpKind::embedding_grad)
                  .input({333, 300}, ElementType::bf16)
                  .input({333}, i64)
                  .output({50, 300}, ElementType::bf16)
                  .done()
                  .trace,
              check);
}

TEST_CASE("gather along axes") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.classes = 6;
    check.tolerance = 0;
    const auto axis = [](std::int64_t value) { return value; };
    check_ops(tpu, OpBuilder(OpKind::gather).input({6, 40}).input({25}, i64).output({25, 40}).done().trace,
              check);
    check_ops(tpu,
              OpBuilder(OpKind::gather)
                  .input({5, 6, 40})
                  .input({25}, i64)
                  .output({5, 25, 40})
                  .with("axis", axis(1))
                  .done()
                  .trace,
              check);
    check_ops(tpu,
              OpBuilder(OpKind::gather)
                  .input({6, 7, 8})
                  .input({25}, i64)
                  .input({25}, i64)
                  .output({25, 8})
                  .done()
                  .trace,
              check);
    check_ops(tpu,
              OpBuilder(OpKind::gather)
                  .input({30, 9})
                  .input({30}, i64)
                  .output({30})
                  .with("axis", axis(1))
                  .with("along", axis(1))
                  .done()
                  .trace,
              check);
    check_ops(tpu,
              OpBuilder(OpKind::gather)
                  .input({30, 9})
                  .input({30, 4}, i64)
                  .output({30, 4})
                  .with("axis", axis(1))
                  .with("along", axis(1))
                  .done()
                  .trace,
              check);
}

TEST_CASE("scatter along axes") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.classes = 6;
    check.tolerance = 1e-6;
    const std::int64_t one = 1;
    const auto add = [&](OpBuilder builder) {
        check_ops(tpu, builder.with("accumulate", one).done().trace, check);
    };
    add(OpBuilder(OpKind::scatter).input({6, 40}).input({25}, i64).input({25, 40}).output({6, 40}));
    add(OpBuilder(OpKind::scatter).input({6, 300}).input({25}, i64).input({25, 300}).output({6, 300}));
    add(OpBuilder(OpKind::scatter)
            .input({5, 6, 40})
            .input({25}, i64)
            .input({5, 25, 40})
            .output({5, 6, 40})
            .with("axis", one));
    add(OpBuilder(OpKind::scatter)
            .input({6, 7, 8})
            .input({25}, i64)
            .input({25}, i64)
            .input({25, 8})
            .output({6, 7, 8}));
    // The last of several wins.
    check_ops(tpu,
              OpBuilder(OpKind::scatter)
                  .input({6, 300})
                  .input({25}, i64)
                  .input({25, 300})
                  .output({6, 300})
                  .done()
                  .trace,
              check);
    check_ops(tpu,
              OpBuilder(OpKind::scatter)
                  .input({30, 9})
                  .input({30}, i64)
                  .input({30})
                  .output({30, 9})
                  .with("axis", one)
                  .with("along", one)
                  .done()
                  .trace,
              check);
}
