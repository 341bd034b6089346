// Softmax, cross-entropy, layer normalisation.
#include <catch2/catch.hpp>

#include "op_check.h"

using namespace heddle;
using namespace heddle::test;
using trace::ElementType;
using trace::OpKind;

TEST_CASE("softmax and its gradient") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 1e-6;
    for (const std::vector<std::int64_t>& shape :
         std::vector<std::vector<std::int64_t>>{{37, 301}, {3, 5, 7}, {1, 5000}, {400, 2}, {9, 1}}) {
        check_ops(tpu, OpBuilder(OpKind::softmax).input(shape).output(shape).done().trace, check);
        check_ops(tpu, OpBuilder(OpKind::softmax_grad).input(shape).input(shape).output(shape).done().trace,
                  check);
    }
    check.tolerance = 1.0 / 256;
    check_ops(tpu,
              OpBuilder(OpKind::softmax)
                  .input({33, 77}, ElementType::bf16)
                  .output({33, 77}, ElementType::bf16)
                  .done()
                  .trace,
              check);
}

TEST_CASE("cross-entropy and its gradient") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 2e-6;
    check.classes = 101;
    check_ops(tpu,
              OpBuilder(OpKind::softmax_cross_entropy)
                  .input({65, 101})
                  .input({65}, ElementType::i64)
                  .output({65})
                  .output({65, 101})
                  .done()
                  .trace,
              check);
    check_ops(tpu,
              OpBuilder(OpKind::softmax_cross_entropy)
                  .input({65, 101})
                  .input({65}, ElementType::i32)
                  .output({65})
                  .done()
                  .trace,
              check);
    check_ops(tpu,
              OpBuilder(OpKind::softmax_cross_entropy_grad)
                  .input({65, 101})
                  .input({65}, ElementType::i64)
                  .output({65, 101})
                  .with("scale", 1.0 / 65)
                  .done()
                  .trace,
              check);
    check_ops(tpu,
              OpBuilder(OpKind::softmax_cross_entropy_grad)
                  .input({65, 101})
                  .input({65}, ElementType::i64)
                  .input({65})
                  .output({65, 101})
                  .done()
                  .trace,
              check);
}

TEST_CASE("layer normalisation and its gradient") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 3e-6;
    for (const std::vector<std::int64_t>& shape :
         std::vector<std::vector<std::int64_t>>{{37, 301}, {3, 5, 64}, {1000, 33}, {2, 700}}) {
        const std::int64_t columns = shape.back();
        std::int64_t rows = 1;
        for (std::size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
        check_ops(tpu,
                  OpBuilder(OpKind::layer_norm)
                      .input(shape)
                      .input({columns})
                      .input({columns})
                      .output(shape)
                      .output({rows})
                      .output({rows})
                      .done()
                      .trace,
                  check);
        check_ops(tpu,
                  OpBuilder(OpKind::layer_norm)
                      .input(shape)
                      .input({columns})
                      .input({columns})
                      .output(shape)
                      .done()
                      .trace,
                  check);
        check_ops(tpu,
                  OpBuilder(OpKind::layer_norm_grad)
                      .input(shape)
                      .input(shape)
                      .input({rows})
                      .input({rows})
                      .input({columns})
                      .output(shape)
                      .output({columns})
                      .output({columns})
                      .done()
                      .trace,
                  check);
    }
}
