// Group and batch normalisation.
#include <catch2/catch.hpp>

#include "op_check.h"

using namespace heddle;
using namespace heddle::test;
using trace::ElementType;
using trace::OpKind;

namespace {

/// The gradient's trace: dy, x, mean, rstd, gamma -> dx, d gamma, d beta.
trace::Trace gradient(OpKind kind, const std::vector<std::int64_t>& shape, std::int64_t groups) {
    const std::vector<std::int64_t> sets =
        kind == OpKind::batch_norm_grad ? std::vector{shape[1]} : std::vector{shape[0], groups};
    return OpBuilder(kind)
        .input(shape)
        .input(shape)
        .input(sets)
        .input(sets)
        .input({shape[1]})
        .output(shape)
        .output({shape[1]})
        .output({shape[1]})
        .with("groups", groups)
        .done()
        .trace;
}

}  // namespace

TEST_CASE("group normalisation and its gradient") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 1e-5;
    for (const std::vector<std::int64_t>& shape :
         std::vector<std::vector<std::int64_t>>{{3, 12, 7, 9}, {2, 8, 200}, {5, 6}}) {
        for (const std::int64_t groups : {1, 2}) {
            OpBuilder builder(OpKind::group_norm);
            builder.input(shape).input({shape[1]}).input({shape[1]}).output(shape);
            builder.output({shape[0], groups}).output({shape[0], groups}).with("groups", groups).done();
            check_ops(tpu, builder.trace, check);
            check_ops(tpu, gradient(OpKind::group_norm_grad, shape, groups), check);
        }
    }
}

TEST_CASE("batch normalisation, its running statistics and its gradient") {
    models::Tpu tpu("tpu", small_tpu());
    OpCheck check;
    check.tolerance = 1e-5;
    check.positive = true;
    for (const std::vector<std::int64_t>& shape :
         std::vector<std::vector<std::int64_t>>{{6, 5, 7, 9}, {2, 20, 300}, {70, 6}}) {
        const std::int64_t channels = shape[1];
        OpBuilder builder(OpKind::batch_norm);
        builder.input(shape);
        for (int i = 0; i < 4; ++i) builder.input({channels});
        builder.output(shape);
        for (int i = 0; i < 4; ++i) builder.output({channels});
        builder.with("momentum", 0.25).done();
        check_ops(tpu, builder.trace, check);
        check_ops(tpu,
                  OpBuilder(OpKind::batch_norm)
                      .input(shape)
                      .input({channels})
                      .input({channels})
                      .output(shape)
                      .done()
                      .trace,
                  check);
        check_ops(tpu, gradient(OpKind::batch_norm_grad, shape, 1), check);
    }
}
