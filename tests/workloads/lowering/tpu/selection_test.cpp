// Dropout, quantisation, the largest of a row.
#include <catch2/catch.hpp>

#include "op_check.h"

using namespace heddle;
using namespace heddle::test;
using trace::ElementType;
using trace::OpKind;

TEST_CASE("dropout keeps what Philox says") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 1e-6;
    for (const std::vector<std::int64_t>& shape :
         std::vector<std::vector<std::int64_t>>{{37, 301}, {50000}, {3}}) {
        check_ops(tpu,
                  OpBuilder(OpKind::dropout)
                      .input(shape)
                      .output(shape)
                      .output(shape, ElementType::boolean)
                      .with("probability", 0.3)
                      .with("seed", std::int64_t{42})
                      .with("offset", std::int64_t{7})
                      .done()
                      .trace,
                  check);
    }
    check_ops(tpu,
              OpBuilder(OpKind::elementwise)
                  .input({37, 301})
                  .output({37, 301})
                  .with("expression", std::string("y0 = philox(9) > 0.5 ? x0 : position"))
                  .done()
                  .trace,
              check);
}

TEST_CASE("quantisation to 8-bit floats and the largest magnitude") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 1.0 / 16;  // half a unit in the last place of three bits; of two: 1/8
    check_ops(tpu,
              OpBuilder(OpKind::quantise)
                  .input({33, 77})
                  .input({})
                  .output({33, 77}, ElementType::e4m3)
                  .output({})
                  .done()
                  .trace,
              check);
    check.tolerance = 1.0 / 8;
    check_ops(tpu,
              OpBuilder(OpKind::quantise)
                  .input({33, 77}, ElementType::bf16)
                  .output({33, 77}, ElementType::e5m2)
                  .done()
                  .trace,
              check);
}

TEST_CASE("the k largest of each row, of equal ones the first") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 0;
    const auto top = [&](std::int64_t rows, std::int64_t columns, std::int64_t k, ElementType type) {
        check_ops(tpu,
                  OpBuilder(OpKind::top_k)
                      .input({rows, columns}, type)
                      .output({rows, k}, type)
                      .output({rows, k}, ElementType::i64)
                      .done()
                      .trace,
                  check);
    };
    top(100, 8, 2, ElementType::f32);
    top(37, 301, 5, ElementType::f32);
    top(40, 500, 3, ElementType::bf16);  // with equal ones
    top(3, 1, 1, ElementType::f32);
}

TEST_CASE("sums along an axis, forwards and backwards") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 1e-5;
    const auto sums = [&](const std::vector<std::int64_t>& shape, std::int64_t axis, ElementType type) {
        for (const std::int64_t reverse : {0, 1}) {
            check_ops(tpu,
                      OpBuilder(OpKind::cumulative_sum)
                          .input(shape, type)
                          .output(shape)
                          .with("axis", axis)
                          .with("reverse", reverse)
                          .done()
                          .trace,
                      check);
        }
    };
    sums({37, 301}, 1, ElementType::f32);
    sums({9, 1}, 1, ElementType::f32);
    sums({3, 2}, 1, ElementType::bf16);
    sums({4000}, 0, ElementType::bf16);
    sums({301, 37}, 0, ElementType::f32);
    sums({3, 50, 20}, 1, ElementType::f32);
    sums({1, 20}, 0, ElementType::f32);
}

TEST_CASE("places of tokens in their experts, until these are full") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 0;
    // The last: chunk by chunk.
    for (const std::int64_t tokens : {7, 100, 300, 4500}) {
        check.classes = 5;
        check_ops(tpu,
                  OpBuilder(OpKind::expert_slots)
                      .input({tokens}, ElementType::i64)
                      .output({tokens}, ElementType::i32)
                      .with("experts", std::int64_t{5})
                      .with("capacity", tokens / 6 + 1)
                      .done()
                      .trace,
                  check);
    }
}
