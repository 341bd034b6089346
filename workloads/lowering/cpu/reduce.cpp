// Ops that reduce: sums and extrema over axes, softmax, losses, normalisation of rows and of channels.
#include <algorithm>
#include <cmath>
#include <limits>

#include "workloads/lowering/cpu/builder.h"

namespace heddle::lowering::on_cpu {
namespace {

enum class Fold : std::uint8_t { sum, maximum, minimum };

Opcode opcode_of(Fold fold) { return fold == Fold::sum ? Opcode::op_add : fold == Fold::maximum ? Opcode::op_max : Opcode::op_min; }
Opcode lanes_of(Fold fold) { return fold == Fold::sum ? Opcode::op_hsum : fold == Fold::maximum ? Opcode::op_hmax : Opcode::op_hmin; }
float neutral(Fold fold) {
    return fold == Fold::sum ? 0.0f : fold == Fold::maximum ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
}

/// A fold along a row of `length`: term(first, masks) gives the vector that begins at `first`. All lanes have the result.
Value fold_row(Builder& b, std::int64_t length, Fold fold, const std::function<Value(const Affine&, const std::vector<Mask>&)>& term) {
    Value total = b.fresh();
    b.set_into(total, neutral(fold));
    b.vectors(length, [&](const Affine& first, const std::vector<Mask>& masks) {
        const Value value = term(first, masks);
        b.apply_into(total, opcode_of(fold), total, masks.empty() ? value : b.masked(value, masks, neutral(fold)));
    });
    return b.apply(lanes_of(fold), total);
}

/// Rows and columns of an operand whose last axis is contiguous.
struct Rows {
    View view;  ///< [rows, columns]
    Affine at(const Affine& row, const Affine& column) const { return view.at({row, column}); }
};

Rows rows_of(const View& view) {
    const std::int64_t columns = view.shape.empty() ? 1 : view.shape.back();
    return {reshaped(view, {view.elements() / std::max<std::int64_t>(1, columns), columns})};
}

std::int64_t last_axis_or_unsupported(const Builder& b, std::int64_t axis) {
    const auto axes = static_cast<std::int64_t>(b.input(0).shape.size());
    if ((axis < 0 ? axis + axes : axis) != axes - 1) throw Unsupported{"softmax along another axis than the last"};
    return axes - 1;
}

/// Folds [outer of fold..., kept] with the kept axes along lanes, or along the last axis.
void reduce_view(Builder& b, const std::string& name, const std::vector<std::int64_t>& kept, const std::vector<std::int64_t>& folded, bool along_lanes,
                 Fold fold, const std::function<Value(const std::vector<Affine>&, const std::vector<Affine>&, const std::vector<Mask>&)>& term,
                 const std::function<void(const std::vector<Affine>&, const Value&, const std::vector<Mask>&)>& store) {
    std::int64_t work = 1;
    for (const std::int64_t extent : kept) work *= extent;
    for (const std::int64_t extent : folded) work *= extent;
    const auto nest = [&](std::size_t axes, const std::function<void(const std::vector<Affine>&)>& body) {
        std::vector<Affine> indices;
        const std::function<void()> deeper = [&] {
            if (indices.size() == axes) return body(indices);
            b.loop(folded[indices.size()], [&](const Affine& i) {
                indices.push_back(i);
                deeper();
                indices.pop_back();
            });
        };
        deeper();
    };
    if (along_lanes) {
        b.parallel(name, kept.empty() ? std::vector<std::int64_t>{1} : kept, work, [&](const std::vector<Affine>& counters) {
            const std::vector<Affine> at(counters.begin(), counters.begin() + static_cast<std::ptrdiff_t>(kept.size()));
            Value total = b.fresh();
            b.set_into(total, neutral(fold));
            nest(folded.size() - 1, [&](const std::vector<Affine>& outer) {
                b.vectors(folded.back(), [&](const Affine& first, const std::vector<Mask>& masks) {
                    std::vector<Affine> inner = outer;
                    inner.push_back(first);
                    const Value value = term(at, inner, masks);
                    b.apply_into(total, opcode_of(fold), total, masks.empty() ? value : b.masked(value, masks, neutral(fold)));
                });
            });
            store(at, b.apply(lanes_of(fold), total), {});
        });
        return;
    }
    // Lanes along the last kept axis.
    std::vector<std::int64_t> counts = kept;
    const std::int64_t length = kept.back(), blocks = (length + b.lanes() - 1) / b.lanes();
    counts.back() = blocks;
    b.parallel(name, counts, work, [&](const std::vector<Affine>& counters) {
        std::vector<Affine> at = counters;
        at.back() = counters.back() * b.lanes();
        std::vector<Mask> masks;
        if (length % b.lanes() != 0) {
            Mask mask;
            mask.value = at.back();
            mask.lane_stride = 1;
            mask.limit = length;
            masks.push_back(mask);
        }
        Value total = b.fresh();
        b.set_into(total, neutral(fold));
        nest(folded.size(), [&](const std::vector<Affine>& inner) { b.apply_into(total, opcode_of(fold), total, term(at, inner, masks)); });
        store(at, total, masks);
    });
}

/// Sums over rows of a term for each column: gradients of scales and shifts. Several terms at once.
void column_sums(Builder& b, const std::string& name, std::int64_t rows, std::int64_t columns, const std::vector<View>& results,
                 const std::function<std::vector<Value>(const Affine& row, const Affine& column, const std::vector<Mask>&)>& terms) {
    const std::int64_t blocks = (columns + b.lanes() - 1) / b.lanes();
    b.parallel(name, {blocks}, rows * columns, [&](const std::vector<Affine>& counters) {
        const Affine column = counters[0] * b.lanes();
        std::vector<Mask> masks;
        if (columns % b.lanes() != 0) {
            Mask mask;
            mask.value = column;
            mask.lane_stride = 1;
            mask.limit = columns;
            masks.push_back(mask);
        }
        std::vector<Value> totals;
        for (std::size_t i = 0; i < results.size(); ++i) totals.push_back(b.constant(0));
        b.loop(rows, [&](const Affine& row) {
            const std::vector<Value> values = terms(row, column, masks);
            for (std::size_t i = 0; i < results.size(); ++i) b.apply_into(totals[i], Opcode::op_add, totals[i], values[i]);
        });
        for (std::size_t i = 0; i < results.size(); ++i) b.store(results[i], column, totals[i], 1, masks);
    });
}

Value scaled(Builder& b, const Value& value, double factor) {
    return b.apply(Opcode::op_mul, value, b.constant(static_cast<float>(factor)));
}

}  // namespace

void lower_reduce(Builder& b) {
    const std::string reduction = b.op().get(keys::reduce.reduction);
    if (b.op().get(keys::reduce.argument) != 0) throw Unsupported{"the place of an extremum"};
    const Fold fold = reduction == "max" ? Fold::maximum : reduction == "min" ? Fold::minimum : Fold::sum;
    const std::vector<std::int64_t> shape = b.input(0).shape;
    std::vector<std::int64_t> axes = b.op().get(keys::reduce.axes);
    if (axes.empty())
        for (std::size_t i = 0; i < shape.size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    std::vector<bool> is_folded(shape.size(), false);
    for (const std::int64_t axis : axes) is_folded.at(static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(shape.size()) : axis)) = true;
    std::vector<View> inputs;
    for (std::size_t i = 0; i < b.op().inputs.size(); ++i) inputs.push_back(broadcast(b.in(i), shape));
    const std::string text = b.op().get(keys::reduce.expression);
    const expression::Expression expression = expression::parse(text.empty() ? "y0 = x0" : text);
    std::vector<std::size_t> kept_axes, folded_axes;
    for (std::size_t i = 0; i < shape.size(); ++i) (is_folded[i] ? folded_axes : kept_axes).push_back(i);
    if (folded_axes.empty()) throw Unsupported{"a reduction over no axis"};
    std::vector<std::int64_t> kept, folded;
    std::int64_t count = 1;
    for (const std::size_t axis : kept_axes) kept.push_back(shape[axis]);
    for (const std::size_t axis : folded_axes) folded.push_back(shape[axis]), count *= shape[axis];
    const bool along_lanes = kept_axes.empty() || is_folded.back();
    for (std::size_t o = 0; o < b.op().outputs.size(); ++o) {
        const View out = reshaped(b.out(o), kept.empty() ? std::vector<std::int64_t>{1} : kept);
        const auto finished = [&](Value value) {
            if (reduction == "mean") return scaled(b, value, 1.0 / static_cast<double>(count));
            if (reduction == "norm2") return b.apply(Opcode::op_sqrt, value);
            return value;
        };
        const auto term_at = [&](const std::vector<Affine>& indices, std::int64_t, const std::vector<Mask>& masks) {
            const std::size_t lane_axis = along_lanes ? folded_axes.back() : kept_axes.back();
            Value value = b.evaluate(
                expression, b.op().get(keys::reduce.scalars),
                [&](unsigned i) { return b.load(inputs.at(i), inputs.at(i).at(indices), inputs.at(i).strides[lane_axis], masks); }, 0, 0)
                              .at(std::min(o, expression.outputs.size() - 1));
            return reduction == "norm2" ? b.apply(Opcode::op_mul, value, value) : value;
        };
        // A sum of everything has no kept axis to share: parts first.
        constexpr std::int64_t kParts = 64;
        if (kept_axes.empty() && folded[0] % kParts == 0 && count >= 65536 && fold == Fold::sum) {
            const View parts = b.scratch({kParts});
            std::vector<std::int64_t> rest = folded;
            rest[0] /= kParts;
            reduce_view(
                b, "reduce_parts", {kParts}, rest, true, fold,
                [&](const std::vector<Affine>& part, const std::vector<Affine>& inner, const std::vector<Mask>& masks) {
                    std::vector<Affine> indices = inner;
                    indices[0] = part[0] * rest[0] + inner[0];
                    return term_at(indices, 0, masks);
                },
                [&](const std::vector<Affine>& part, const Value& value, const std::vector<Mask>&) { b.store_first(parts, part[0], value); });
            reduce_view(
                b, "reduce", {}, {kParts}, true, fold,
                [&](const std::vector<Affine>&, const std::vector<Affine>& inner, const std::vector<Mask>& masks) { return b.load(parts, inner[0], 1, masks); },
                [&](const std::vector<Affine>&, const Value& value, const std::vector<Mask>&) { b.store_first(out, 0, finished(value)); });
            continue;
        }
        reduce_view(
            b, "reduce", kept, folded, along_lanes, fold,
            [&](const std::vector<Affine>& at, const std::vector<Affine>& inner, const std::vector<Mask>& masks) {
                std::vector<Affine> indices(shape.size(), Affine(0));
                for (std::size_t i = 0; i < kept_axes.size(); ++i) indices[kept_axes[i]] = at[i];
                for (std::size_t i = 0; i < folded_axes.size(); ++i) indices[folded_axes[i]] = inner[i];
                return term_at(indices, 0, masks);
            },
            [&](const std::vector<Affine>& at, const Value& value, const std::vector<Mask>& masks) {
                const Affine place = kept.empty() ? Affine(0) : out.at(at);
                along_lanes ? b.store_first(out, place, finished(value)) : b.store(out, place, finished(value), 1, masks);
            });
    }
}

void lower_softmax(Builder& b) {
    last_axis_or_unsupported(b, b.op().get(keys::softmax.axis, -1));
    const bool logarithm = b.op().get(keys::softmax.logarithm) != 0;
    const Rows x = rows_of(b.in(0)), y = rows_of(b.out(0));
    const std::int64_t rows = x.view.shape[0], columns = x.view.shape[1];
    b.parallel("softmax", {rows}, rows * columns, [&](const std::vector<Affine>& i) {
        const Value most = fold_row(b, columns, Fold::maximum, [&](const Affine& c, const std::vector<Mask>& m) { return b.load(x.view, x.at(i[0], c), 1, m); });
        const Value sum = fold_row(b, columns, Fold::sum, [&](const Affine& c, const std::vector<Mask>& m) {
            return b.exponential(b.apply(Opcode::op_sub, b.load(x.view, x.at(i[0], c), 1, m), most));
        });
        const Value factor = logarithm ? b.apply(Opcode::op_add, b.logarithm(sum), most) : b.apply(Opcode::op_div, b.constant(1), sum);
        b.vectors(columns, [&](const Affine& c, const std::vector<Mask>& m) {
            const Value v = b.load(x.view, x.at(i[0], c), 1, m);
            b.store(y.view, y.at(i[0], c),
                    logarithm ? b.apply(Opcode::op_sub, v, factor) : b.apply(Opcode::op_mul, b.exponential(b.apply(Opcode::op_sub, v, most)), factor), 1, m);
        });
    });
}

void lower_softmax_grad(Builder& b) {
    last_axis_or_unsupported(b, b.op().get(keys::softmax_grad.axis, -1));
    const bool logarithm = b.op().get(keys::softmax_grad.logarithm) != 0;
    const Rows y = rows_of(b.in(0)), dy = rows_of(b.in(1)), dx = rows_of(b.out(0));
    const std::int64_t rows = y.view.shape[0], columns = y.view.shape[1];
    b.parallel("softmax_grad", {rows}, rows * columns, [&](const std::vector<Affine>& i) {
        const Value sum = fold_row(b, columns, Fold::sum, [&](const Affine& c, const std::vector<Mask>& m) {
            const Value d = b.load(dy.view, dy.at(i[0], c), 1, m);
            return logarithm ? d : b.apply(Opcode::op_mul, d, b.load(y.view, y.at(i[0], c), 1, m));
        });
        b.vectors(columns, [&](const Affine& c, const std::vector<Mask>& m) {
            const Value d = b.load(dy.view, dy.at(i[0], c), 1, m), v = b.load(y.view, y.at(i[0], c), 1, m);
            b.store(dx.view, dx.at(i[0], c),
                    logarithm ? b.apply(Opcode::op_sub, d, b.apply(Opcode::op_mul, b.exponential(v), sum))
                              : b.apply(Opcode::op_mul, v, b.apply(Opcode::op_sub, d, sum)),
                    1, m);
        });
    });
}

void lower_softmax_cross_entropy(Builder& b) {
    const Rows x = rows_of(b.in(0)), p = rows_of(b.out(1));
    const View labels = b.dense_in(1), loss = b.dense_out(0);
    const std::int64_t rows = x.view.shape[0], columns = x.view.shape[1];
    b.parallel("cross_entropy", {rows}, rows * columns, [&](const std::vector<Affine>& i) {
        const Value most = fold_row(b, columns, Fold::maximum, [&](const Affine& c, const std::vector<Mask>& m) { return b.load(x.view, x.at(i[0], c), 1, m); });
        const Value sum = fold_row(b, columns, Fold::sum, [&](const Affine& c, const std::vector<Mask>& m) {
            return b.exponential(b.apply(Opcode::op_sub, b.load(x.view, x.at(i[0], c), 1, m), most));
        });
        {
            const Value label = b.apply(Opcode::op_to_int, b.load(labels, i[0], 0));
            const Value logit = b.gather_row(x.view, x.at(i[0], 0), label, 1, 0);
            b.store_first(loss, i[0], b.apply(Opcode::op_sub, b.apply(Opcode::op_add, b.logarithm(sum), most), logit));
        }
        const Value factor = b.apply(Opcode::op_div, b.constant(1), sum);
        b.vectors(columns, [&](const Affine& c, const std::vector<Mask>& m) {
            const Value e = b.exponential(b.apply(Opcode::op_sub, b.load(x.view, x.at(i[0], c), 1, m), most));
            b.store(p.view, p.at(i[0], c), b.apply(Opcode::op_mul, e, factor), 1, m);
        });
    });
}

void lower_softmax_cross_entropy_grad(Builder& b) {
    const Rows p = rows_of(b.in(0)), dx = rows_of(b.out(0));
    const View labels = b.dense_in(1);
    const bool weighted = b.op().inputs.size() > 2;
    const View dloss = weighted ? b.dense_in(2) : labels;
    const double scale = b.op().get(keys::softmax_cross_entropy_grad.scale);
    const std::int64_t rows = p.view.shape[0], columns = p.view.shape[1];
    b.parallel("cross_entropy_grad", {rows}, rows * columns, [&](const std::vector<Affine>& i) {
        const Value label = b.load(labels, i[0], 0);
        Value factor = b.constant(static_cast<float>(scale));
        if (weighted) factor = b.apply(Opcode::op_mul, factor, b.load(dloss, i[0], 0));
        b.vectors(columns, [&](const Affine& c, const std::vector<Mask>& m) {
            const Value one = b.apply(Opcode::op_eq, b.apply(Opcode::op_to_float, b.index(c, 1)), label);
            const Value d = b.apply(Opcode::op_sub, b.load(p.view, p.at(i[0], c), 1, m), one);
            b.store(dx.view, dx.at(i[0], c), b.apply(Opcode::op_mul, d, factor), 1, m);
        });
    });
}

namespace {

/// layer_norm and rms_norm: `centred` subtracts the mean.
void row_norm(Builder& b, bool centred) {
    const Rows x = rows_of(b.in(0)), y = rows_of(b.out(0));
    const std::size_t inputs = b.op().inputs.size(), outputs = b.op().outputs.size();
    const bool has_gamma = inputs > 1, has_beta = centred && inputs > 2;
    const View gamma = b.dense_in(has_gamma ? 1 : 0), beta = b.dense_in(has_beta ? 2 : 0);
    const View mean_out = b.dense_out(centred && outputs > 1 ? 1 : 0), rstd_out = b.dense_out(outputs - 1);
    const std::int64_t rows = x.view.shape[0], columns = x.view.shape[1];
    const double epsilon = b.op().get(keys::layer_norm.epsilon);
    b.parallel("norm", {rows}, rows * columns, [&](const std::vector<Affine>& i) {
        const auto load = [&](const Affine& c, const std::vector<Mask>& m) { return b.load(x.view, x.at(i[0], c), 1, m); };
        Value mean;
        if (centred) mean = scaled(b, fold_row(b, columns, Fold::sum, load), 1.0 / static_cast<double>(columns));
        const Value squares = fold_row(b, columns, Fold::sum, [&](const Affine& c, const std::vector<Mask>& m) {
            Value v = load(c, m);
            if (centred) v = b.apply(Opcode::op_sub, v, mean);
            return b.apply(Opcode::op_mul, v, v);
        });
        const Value variance = b.apply(Opcode::op_fma, squares, b.constant(static_cast<float>(1.0 / static_cast<double>(columns))), b.constant(static_cast<float>(epsilon)));
        const Value rstd = b.reciprocal_square_root(variance);
        if (centred && outputs > 1) b.store_first(mean_out, i[0], mean);
        if (outputs > (centred ? 2u : 1u)) b.store_first(rstd_out, i[0], rstd);
        b.vectors(columns, [&](const Affine& c, const std::vector<Mask>& m) {
            Value v = load(c, m);
            if (centred) v = b.apply(Opcode::op_sub, v, mean);
            v = b.apply(Opcode::op_mul, v, rstd);
            if (has_gamma) v = has_beta ? b.apply(Opcode::op_fma, v, b.load(gamma, c, 1, m), b.load(beta, c, 1, m)) : b.apply(Opcode::op_mul, v, b.load(gamma, c, 1, m));
            b.store(y.view, y.at(i[0], c), v, 1, m);
        });
    });
}

/// Inputs: dy, x, [mean,] rstd, gamma.
void row_norm_grad(Builder& b, bool centred) {
    const Rows dy = rows_of(b.in(0)), x = rows_of(b.in(1)), dx = rows_of(b.out(0));
    const View mean_in = b.dense_in(2), rstd_in = b.dense_in(centred ? 3 : 2), gamma = b.dense_in(centred ? 4 : 3);
    const std::int64_t rows = x.view.shape[0], columns = x.view.shape[1];
    const auto normal = [&](const Value& mean, const Value& rstd, const Affine& row, const Affine& c, const std::vector<Mask>& m) {
        Value v = b.load(x.view, x.at(row, c), 1, m);
        if (centred) v = b.apply(Opcode::op_sub, v, mean);
        return b.apply(Opcode::op_mul, v, rstd);
    };
    b.parallel("norm_grad", {rows}, rows * columns, [&](const std::vector<Affine>& i) {
        const Value mean = centred ? b.load(mean_in, i[0], 0) : nullptr, rstd = b.load(rstd_in, i[0], 0);
        const auto gradient = [&](const Affine& c, const std::vector<Mask>& m) {
            return b.apply(Opcode::op_mul, b.load(dy.view, dy.at(i[0], c), 1, m), b.load(gamma, c, 1, m));
        };
        // Lanes beyond the row have a gradient of 0.
        const Value projection = scaled(b, fold_row(b, columns, Fold::sum, [&](const Affine& c, const std::vector<Mask>& m) {
            return b.apply(Opcode::op_mul, gradient(c, m), normal(mean, rstd, i[0], c, m));
        }), 1.0 / static_cast<double>(columns));
        Value average;
        if (centred) average = scaled(b, fold_row(b, columns, Fold::sum, gradient), 1.0 / static_cast<double>(columns));
        b.vectors(columns, [&](const Affine& c, const std::vector<Mask>& m) {
            Value d = gradient(c, m);
            if (centred) d = b.apply(Opcode::op_sub, d, average);
            d = b.apply(Opcode::op_sub, d, b.apply(Opcode::op_mul, normal(mean, rstd, i[0], c, m), projection));
            b.store(dx.view, dx.at(i[0], c), b.apply(Opcode::op_mul, d, rstd), 1, m);
        });
    });
    std::vector<View> results;
    for (std::size_t o = 1; o < b.op().outputs.size(); ++o) results.push_back(b.dense_out(o));
    if (results.empty()) return;
    column_sums(b, "norm_columns", rows, columns, results, [&](const Affine& row, const Affine& c, const std::vector<Mask>& m) {
        const Value d = b.load(dy.view, dy.at(row, c), 1, m);
        const Value mean = centred ? b.load(mean_in, row, 0) : nullptr;
        const Value v = normal(mean, b.load(rstd_in, row, 0), row, c, m);
        return std::vector<Value>{b.apply(Opcode::op_mul, d, v), d};
    });
}

/// [batch, channels, positions] of an operand in nchw.
View channel_view(const View& view) {
    const std::int64_t batch = view.shape.at(0), channels = view.shape.at(1);
    return reshaped(view, {batch, channels, view.elements() / std::max<std::int64_t>(1, batch * channels)});
}

/// A sum over batch and positions of one channel; all lanes have it.
Value channel_sum(Builder& b, const View& like, const std::function<Value(const Affine&, const Affine&, const std::vector<Mask>&)>& term) {
    Value total = b.constant(0);
    b.loop(like.shape[0], [&](const Affine& n) {
        b.vectors(like.shape[2], [&](const Affine& p, const std::vector<Mask>& m) {
            const Value value = term(n, p, m);
            b.apply_into(total, Opcode::op_add, total, m.empty() ? value : b.masked(value, m, 0));
        });
    });
    return b.apply(Opcode::op_hsum, total);
}

}  // namespace

void lower_layer_norm(Builder& b) { row_norm(b, true); }
void lower_layer_norm_grad(Builder& b) { row_norm_grad(b, true); }
void lower_rms_norm(Builder& b) { row_norm(b, false); }
void lower_rms_norm_grad(Builder& b) { row_norm_grad(b, false); }

void lower_batch_norm(Builder& b) {
    const View x = channel_view(b.in(0)), y = channel_view(b.out(0)), gamma = b.dense_in(1), beta = b.dense_in(2);
    const std::size_t outputs = b.op().outputs.size();
    const bool running = b.op().inputs.size() > 4 && outputs > 4;
    const double count = static_cast<double>(x.shape[0] * x.shape[2]);
    const double epsilon = b.op().get(keys::batch_norm.epsilon), momentum = b.op().get(keys::batch_norm.momentum);
    b.parallel("batch_norm", {x.shape[1]}, x.elements(), [&](const std::vector<Affine>& i) {
        const Affine& c = i[0];
        const auto load = [&](const Affine& n, const Affine& p, const std::vector<Mask>& m) { return b.load(x, x.at({n, c, p}), 1, m); };
        const Value mean = scaled(b, channel_sum(b, x, load), 1 / count);
        const Value squares = channel_sum(b, x, [&](const Affine& n, const Affine& p, const std::vector<Mask>& m) {
            const Value v = b.apply(Opcode::op_sub, load(n, p, m), mean);
            return b.apply(Opcode::op_mul, v, v);
        });
        const Value variance = scaled(b, squares, 1 / count);
        const Value rstd = b.reciprocal_square_root(b.apply(Opcode::op_add, variance, b.constant(static_cast<float>(epsilon))));
        if (outputs > 1) b.store_first(b.dense_out(1), c, mean);
        if (outputs > 2) b.store_first(b.dense_out(2), c, rstd);
        if (running) {
            const auto update = [&](std::size_t in, std::size_t out, const Value& value) {
                const Value old = scaled(b, b.load(b.dense_in(in), c, 0), 1 - momentum);
                b.store_first(b.dense_out(out), c, b.apply(Opcode::op_fma, value, b.constant(static_cast<float>(momentum)), old));
            };
            update(3, 3, mean);
            update(4, 4, scaled(b, squares, 1 / std::max(1.0, count - 1)));
        }
        const Value factor = b.apply(Opcode::op_mul, rstd, b.load(gamma, c, 0)), shift = b.load(beta, c, 0);
        b.loop(x.shape[0], [&](const Affine& n) {
            b.vectors(x.shape[2], [&](const Affine& p, const std::vector<Mask>& m) {
                b.store(y, y.at({n, c, p}), b.apply(Opcode::op_fma, b.apply(Opcode::op_sub, load(n, p, m), mean), factor, shift), 1, m);
            });
        });
    });
}

void lower_batch_norm_grad(Builder& b) {
    const View dy = channel_view(b.in(0)), x = channel_view(b.in(1)), dx = channel_view(b.out(0));
    const View mean_in = b.dense_in(2), rstd_in = b.dense_in(3), gamma = b.dense_in(4);
    const double count = static_cast<double>(x.shape[0] * x.shape[2]);
    b.parallel("batch_norm_grad", {x.shape[1]}, x.elements(), [&](const std::vector<Affine>& i) {
        const Affine& c = i[0];
        const Value mean = b.load(mean_in, c, 0), rstd = b.load(rstd_in, c, 0);
        const auto gradient = [&](const Affine& n, const Affine& p, const std::vector<Mask>& m) { return b.load(dy, dy.at({n, c, p}), 1, m); };
        const auto normal = [&](const Affine& n, const Affine& p, const std::vector<Mask>& m) {
            return b.apply(Opcode::op_mul, b.apply(Opcode::op_sub, b.load(x, x.at({n, c, p}), 1, m), mean), rstd);
        };
        const Value sum = channel_sum(b, x, gradient);
        const Value projection = channel_sum(b, x, [&](const Affine& n, const Affine& p, const std::vector<Mask>& m) {
            return b.apply(Opcode::op_mul, gradient(n, p, m), normal(n, p, m));
        });
        if (b.op().outputs.size() > 1) b.store_first(b.dense_out(1), c, projection);
        if (b.op().outputs.size() > 2) b.store_first(b.dense_out(2), c, sum);
        const Value factor = b.apply(Opcode::op_mul, rstd, b.load(gamma, c, 0));
        const Value average = scaled(b, sum, 1 / count), slope = scaled(b, projection, 1 / count);
        b.loop(x.shape[0], [&](const Affine& n) {
            b.vectors(x.shape[2], [&](const Affine& p, const std::vector<Mask>& m) {
                const Value d = b.apply(Opcode::op_sub, b.apply(Opcode::op_sub, gradient(n, p, m), average), b.apply(Opcode::op_mul, normal(n, p, m), slope));
                b.store(dx, dx.at({n, c, p}), b.apply(Opcode::op_mul, d, factor), 1, m);
            });
        });
    });
}

}  // namespace heddle::lowering::on_cpu
