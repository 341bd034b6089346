// Reductions, softmax and norms, lowered to PTX and executed, beside the double-precision reference.
#include <catch2/catch.hpp>

#include "gpu_op_check.h"
#include "workloads/lowering/gpu/gpu_lowering.h"

using namespace heddle;
using namespace heddle::lowering::test;
using trace::ElementType;
using trace::Op;
using trace::OpKind;
using trace::TensorId;
using trace::TensorRole;

TEST_CASE("reductions over rows, columns and everything") {
    for (const std::string reduction : {"sum", "mean", "max", "norm2"}) {
        CAPTURE(reduction);
        Builder b;
        const TensorId x = b.tensor({300, 77}), wide = b.tensor({5, 3000}), all = b.tensor({30011});
        const auto reduce = [&](TensorId from, std::vector<std::int64_t> shape,
                                std::vector<std::int64_t> axes) {
            Op& op = b.op(OpKind::reduce, {from}, {b.tensor(std::move(shape))});
            op.set(keys::reduce.reduction, reduction);
            op.set(keys::reduce.axes, std::move(axes));
        };
        reduce(x, {77}, {0});
        reduce(x, {300, 1}, {1});
        reduce(wide, {5}, {1});
        reduce(all, {}, {0});
        CHECK(worst_error(b.trace) < 1e-5);
    }
    Builder b;
    const TensorId x = b.tensor({40, 24}), y = b.tensor({40, 24}, ElementType::bf16);
    Op& op = b.op(OpKind::reduce, {x, y}, {b.tensor({24})});
    op.set(keys::reduce.reduction, "sum");
    op.set(keys::reduce.axes, {0});
    op.set(keys::reduce.expression, "y0 = x0 * x1");
    CHECK(worst_error(b.trace) < 1e-5);
}

TEST_CASE("recorded reductions over leading axes, by the threads that their kernel's name tells") {
    struct Case {
        std::vector<std::int64_t> shape;
        std::int64_t threads, width, kernels;
    };
    for (const std::string reduction : {"sum", "mean", "max", "norm2"}) {
        CAPTURE(reduction);
        Builder b;
        // The second has CTAs that share columns, the third 33 columns that are no whole vectors.
        for (const Case& c : {Case{{300, 76}, 128, 4, 1}, Case{{5000, 40}, 256, 2, 2},
                              Case{{300, 33}, 128, 4, 1}, Case{{7, 12, 33}, 512, 1, 1}}) {
            Op& op = b.op(OpKind::reduce, {b.tensor(c.shape)}, {b.tensor({c.shape.back()})});
            op.set(keys::reduce.reduction, reduction);
            op.set(keys::reduce.axes,
                   c.shape.size() == 2 ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{0, 1});
            op.set(keys::any.threads, c.threads);
            op.set(keys::any.vector_width, c.width);
            op.set(keys::any.kernels, c.kernels);
        }
        CHECK(worst_error(b.trace) < 1e-5);
    }
}

TEST_CASE("reductions over axes between others, and over axes that lie apart") {
    struct Case {
        std::vector<std::int64_t> shape, axes, kept;
    };
    for (const std::string reduction : {"sum", "mean", "max", "norm2"}) {
        CAPTURE(reduction);
        Builder b;
        // Between: whole vectors, none, an axis of one before. Apart: a bias of channels with few and many
        // pictures.
        for (const Case& c : {Case{{3, 70, 44}, {1}, {3, 44}}, Case{{5, 9, 2, 33}, {1, 2}, {5, 33}},
                              Case{{1, 6, 7, 1, 5}, {2}, {1, 6, 1, 5}}, Case{{4, 10, 6, 7}, {0, 2, 3}, {10}},
                              Case{{700, 3, 40}, {0, 2}, {3}}}) {
            Op& op = b.op(OpKind::reduce, {b.tensor(c.shape)}, {b.tensor(c.kept)});
            op.set(keys::reduce.reduction, reduction);
            op.set(keys::reduce.axes, c.axes);
        }
        CHECK(worst_error(b.trace) < 1e-5);
    }
    Builder b;
    Op& op = b.op(OpKind::reduce, {b.tensor({2, 3, 4, 5})}, {b.tensor({2, 4})});
    op.set(keys::reduce.reduction, "sum");
    op.set(keys::reduce.axes, {1, 3});
    const lowering::GpuLowering lowered = lowering::lower_for_gpu(b.trace, target::GpuTarget{});
    CHECK_THAT(lowered.ops[0].unsupported, Catch::Contains("in more than two places"));
}

TEST_CASE("softmax, cross-entropy and layer norm with their gradients") {
    Builder b;
    const TensorId x = b.tensor({21, 45}), y = b.tensor({21, 45}), dy = b.tensor({21, 45}),
                   dx = b.tensor({21, 45});
    b.op(OpKind::softmax, {x}, {y});
    b.op(OpKind::softmax_grad, {y, dy}, {dx});
    const TensorId labels = b.tensor({21}, ElementType::i32, TensorRole::label), loss = b.tensor({21}),
                   p = b.tensor({21, 45}), dlogits = b.tensor({21, 45});
    b.op(OpKind::softmax_cross_entropy, {x, labels}, {loss, p});
    b.op(OpKind::softmax_cross_entropy_grad, {p, labels}, {dlogits})
        .set(keys::softmax_cross_entropy.scale, 1.0 / 21);
    const TensorId gamma = b.tensor({45}), beta = b.tensor({45}), n = b.tensor({21, 45}),
                   mean = b.tensor({21}), rstd = b.tensor({21}), dn = b.tensor({21, 45}),
                   dgamma = b.tensor({45}), dbeta = b.tensor({45});
    b.op(OpKind::layer_norm, {x, gamma, beta}, {n, mean, rstd});
    b.op(OpKind::layer_norm_grad, {dy, x, mean, rstd, gamma}, {dn, dgamma, dbeta});
    CHECK(worst_error(b.trace) < 2e-5);
}

TEST_CASE("layer norms of PyTorch's eager mode, with their gradients") {
    struct Case {
        std::int64_t rows, columns;
        ElementType type;
        double bound;
    };
    // Rows of no whole turn of 256; columns beyond whole CTAs of 16, vectors of 4 and turns of 512.
    for (const Case& c : {Case{300, 36, ElementType::f32, 2e-5}, Case{512, 132, ElementType::f32, 2e-5},
                          Case{131, 700, ElementType::f32, 2e-5}, Case{300, 72, ElementType::bf16, 1e-2},
                          Case{140, 45, ElementType::f32, 2e-5}}) {
        CAPTURE(c.rows, c.columns);
        Builder b;
        const auto whole = [&] { return b.tensor({c.rows, c.columns}, c.type); };
        const auto row = [&] { return b.tensor({c.columns}, c.type); };
        const TensorId x = whole(), y = whole(), dy = whole(), dx = whole(), gamma = row(), beta = row(),
                       dgamma = row(), dbeta = row(), mean = b.tensor({c.rows}), rstd = b.tensor({c.rows});
        b.op(OpKind::layer_norm, {x, gamma, beta}, {y, mean, rstd}).set(keys::any.eager, 1);
        b.op(OpKind::layer_norm_grad, {dy, x, mean, rstd, gamma}, {dx, dgamma, dbeta})
            .set(keys::any.eager, 1);
        CHECK(worst_error(b.trace) < c.bound);
    }
}

TEST_CASE("softmax with and without its logarithm, and layer norm as torch.compile writes it") {
    for (const unsigned capability : {70u, 80u, 90u}) {
        Builder b;
        for (const std::int64_t columns : {45, 1203}) {
            const TensorId x = b.tensor({7, columns}), y = b.tensor({7, columns}),
                           dy = b.tensor({7, columns}), dx = b.tensor({7, columns}),
                           log_y = b.tensor({7, columns}), log_dx = b.tensor({7, columns});
            b.op(OpKind::softmax, {x}, {y});
            b.op(OpKind::softmax_grad, {y, dy}, {dx});
            b.op(OpKind::softmax, {x}, {log_y}).set(keys::softmax.logarithm, 1);
            b.op(OpKind::softmax_grad, {log_y, dy}, {log_dx}).set(keys::softmax.logarithm, 1);
        }
        const TensorId x = b.tensor({5, 2100}), y = b.tensor({5, 2100});
        b.op(OpKind::layer_norm, {x}, {y}).set(keys::layer_norm.compiled, 1);
        // The gradient of the logarithm subtracts sums of 1,203 terms of up to 1.
        CHECK(worst_error(b.trace, capability) < 1e-4);
    }
}

TEST_CASE("softmax and its gradient along inner axes") {
    for (const std::int64_t axis : {0, 1, 2}) {
        for (const bool logarithm : {false, true}) {
            CAPTURE(axis, logarithm);
            Builder b;
            const auto tensor = [&] { return b.tensor({3, 37, 21}); };
            const TensorId x = tensor(), y = tensor(), dy = tensor(), dx = tensor();
            b.op(OpKind::softmax, {x}, {y});
            b.op(OpKind::softmax_grad, {y, dy}, {dx});
            for (Op& op : b.trace.ops) {
                op.set(keys::softmax.axis, axis);
                if (logarithm) op.set(keys::softmax.logarithm, 1);
            }
            for (const unsigned capability : {70u, 80u, 90u}) CHECK(worst_error(b.trace, capability) < 1e-5);
        }
    }
}

TEST_CASE("RMS norm, group norm and batch norm with their gradients") {
    for (const unsigned capability : {70u, 80u, 90u}) {
        Builder b;
        const TensorId x = b.tensor({21, 145}), dy = b.tensor({21, 145}), gamma = b.tensor({145}),
                       y = b.tensor({21, 145}), rstd = b.tensor({21}), dx = b.tensor({21, 145}),
                       dgamma = b.tensor({145});
        b.op(OpKind::rms_norm, {x, gamma}, {y, rstd});
        b.op(OpKind::rms_norm_grad, {dy, x, rstd, gamma}, {dx, dgamma});
        // Batch norm over rows: few, many, of channels that wide accesses and lanes do not divide.
        for (const auto& rows : std::vector<std::vector<std::int64_t>>{{5, 3}, {1500, 24}, {700, 130}}) {
            const TensorId in = b.tensor(rows), out = b.tensor(rows), d_out = b.tensor(rows),
                           d_in = b.tensor(rows);
            std::vector<TensorId> c;
            for (unsigned i = 0; i < 10; ++i) c.push_back(b.tensor({rows[1]}));
            b.op(OpKind::batch_norm, {in, c[0], c[1], c[2], c[3]}, {out, c[4], c[5], c[6], c[7]})
                .set(keys::batch_norm.momentum, 0.3);
            b.op(OpKind::batch_norm_grad, {d_out, in, c[4], c[5], c[0]}, {d_in, c[8], c[9]});
        }
        const std::vector<std::int64_t> image{3, 6, 5, 7};
        for (const bool batch : {false, true}) {
            const TensorId in = b.tensor(image), out = b.tensor(image), d_out = b.tensor(image),
                           d_in = b.tensor(image), scale = b.tensor({6}), shift = b.tensor({6});
            const std::vector<std::int64_t> sets =
                batch ? std::vector<std::int64_t>{6} : std::vector<std::int64_t>{3, 2};
            const TensorId means = b.tensor(sets), rstds = b.tensor(sets), d_scale = b.tensor({6}),
                           d_shift = b.tensor({6});
            if (batch) {
                const TensorId mean = b.tensor({6}), variance = b.tensor({6}), new_mean = b.tensor({6}),
                               new_variance = b.tensor({6});
                b.op(OpKind::batch_norm, {in, scale, shift, mean, variance},
                     {out, means, rstds, new_mean, new_variance})
                    .set(keys::batch_norm.momentum, 0.3);
                b.op(OpKind::batch_norm_grad, {d_out, in, means, rstds, scale}, {d_in, d_scale, d_shift});
            } else {
                b.op(OpKind::group_norm, {in, scale, shift}, {out, means, rstds})
                    .set(keys::group_norm.groups, 2);
                b.op(OpKind::group_norm_grad, {d_out, in, means, rstds, scale}, {d_in, d_scale, d_shift})
                    .set(keys::group_norm.groups, 2);
            }
        }
        CHECK(worst_error(b.trace, capability) < 2e-5);
    }
}

TEST_CASE("batch norm of images is one launch, staged or by planes, in every type") {
    struct Case {
        std::vector<std::int64_t> shape;
        ElementType type;
        bool running;
        double bound;
    };
    for (const Case& c :
         {Case{{4, 3, 7, 7}, ElementType::f32, true, 2e-5}, Case{{1, 1, 5, 3}, ElementType::f32, true, 2e-5},
          Case{{9, 2, 50, 30}, ElementType::f32, false, 2e-5},
          Case{{1, 2, 131, 97}, ElementType::f32, true, 2e-5},
          Case{{800, 2, 4, 4}, ElementType::f32, true, 2e-5},
          Case{{2000, 1, 7}, ElementType::f32, false, 2e-5}, Case{{3, 2, 5, 7}, ElementType::f16, true, 2e-3},
          Case{{3, 2, 72, 72}, ElementType::bf16, false, 1e-2}}) {
        CAPTURE(c.shape, c.type);
        Builder b;
        const std::int64_t channels = c.shape[1];
        const TensorId x = b.tensor(c.shape, c.type), y = b.tensor(c.shape, c.type);
        std::vector<TensorId> of;
        for (unsigned i = 0; i < 8; ++i) of.push_back(b.tensor({channels}));
        if (c.running)
            b.op(OpKind::batch_norm, {x, of[0], of[1], of[2], of[3]}, {y, of[4], of[5], of[6], of[7]});
        else
            b.op(OpKind::batch_norm, {x, of[0], of[1]}, {y, of[4], of[5]});
        for (const unsigned capability : {80u, 90u}) CHECK(worst_error(b.trace, capability) < c.bound);
        target::GpuTarget target;
        target.compute_capability = 80;
        CHECK(lowering::lower_for_gpu(b.trace, target).program.launches.size() == 1);
    }
}
