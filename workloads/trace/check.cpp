// Whether a Trace is well formed: every reference exists and every shape fits its op.
#include <algorithm>
#include <set>

#include "isa/common/error.h"
#include "workloads/expression/expression.h"
#include "workloads/trace/possible_shape.h"
#include "workloads/trace/shape.h"
#include "workloads/trace/sliding_window.h"
#include "workloads/trace/trace.h"

namespace heddle::trace {
namespace {

class OpCheck {
  public:
    OpCheck(const Trace& trace, const Op& op, std::size_t index) : trace_(trace), op_(op), index_(index) {}

    void run() const {
        references();
        switch (op_.kind) {
            case OpKind::matmul:
                matmul();
                break;
            case OpKind::elementwise:
                elementwise();
                break;
            case OpKind::reduce:
                reduce();
                break;
            case OpKind::softmax_cross_entropy:
                operands(2, 2, 1, 2);
                same_count("labels", in(1), in(0).elements() / last(in(0)));
                same_count("loss", out(0), in(0).elements() / last(in(0)));
                if (op_.outputs.size() > 1) same_count("probabilities", out(1), in(0).elements());
                break;
            case OpKind::softmax_cross_entropy_grad:
                operands(2, 3, 1, 1);
                same_count("labels", in(1), in(0).elements() / last(in(0)));
                same_count("gradient", out(0), in(0).elements());
                break;
            case OpKind::softmax:
                operands(1, 1, 1, 1);
                last(in(0));
                if (op_.attributes.count("axis") != 0) axis(in(0));
                same_count("result", out(0), in(0).elements());
                break;
            case OpKind::softmax_grad:
                operands(2, 2, 1, 1);
                last(in(0));
                if (op_.attributes.count("axis") != 0) axis(in(0));
                same_count("dy", in(1), in(0).elements());
                same_count("dx", out(0), in(0).elements());
                break;
            case OpKind::layer_norm:
                layer_norm();
                break;
            case OpKind::layer_norm_grad:
                layer_norm_grad();
                break;
            case OpKind::rms_norm:
                operands(2, 2, 1, 2);
                same_count("gamma", in(1), last(in(0)));
                same_count("result", out(0), in(0).elements());
                if (op_.outputs.size() > 1) same_count("rstd", out(1), in(0).elements() / last(in(0)));
                break;
            case OpKind::rms_norm_grad:
                operands(4, 4, 1, 2);
                same_count("x", in(1), in(0).elements());
                same_count("rstd", in(2), in(0).elements() / last(in(0)));
                same_count("gamma", in(3), last(in(0)));
                same_count("dx", out(0), in(0).elements());
                if (op_.outputs.size() > 1) same_count("d gamma", out(1), last(in(0)));
                break;
            case OpKind::group_norm:
                operands(3, 3, 1, 3);
                channel_norm(groups(in(0)) * in(0).shape[0]);
                break;
            case OpKind::group_norm_grad:
                operands(5, 5, 1, 3);
                channel_norm_grad(groups(in(1)) * in(1).shape[0]);
                break;
            case OpKind::batch_norm:
                operands(3, 5, 1, 5);
                if (op_.inputs.size() == 4) fail("running mean and variance come together");
                channel_norm(channels(in(0)));
                break;
            case OpKind::batch_norm_grad:
                operands(5, 5, 1, 3);
                channel_norm_grad(channels(in(1)));
                break;
            case OpKind::dropout:
                operands(1, 1, 1, 2);
                if (const double p = op_.real("probability", 0.5); !(p >= 0 && p < 1))
                    fail("the probability of a zero is not in [0, 1)");
                for (std::size_t i = 0; i < op_.outputs.size(); ++i)
                    same_count("result", out(i), in(0).elements());
                break;
            case OpKind::quantise:
                operands(1, 2, 1, 2);
                same_count("result", out(0), in(0).elements());
                if (out(0).type != ElementType::e4m3 && out(0).type != ElementType::e5m2)
                    fail("the result is " + name_of(out(0).type) + " and not e4m3 or e5m2");
                if (op_.inputs.size() > 1) same_count("scale", in(1), 1);
                if (op_.outputs.size() > 1) same_count("amax", out(1), 1);
                break;
            case OpKind::top_k:
                top_k();
                break;
            case OpKind::expert_slots:
                operands(1, 1, 1, 1);
                same_count("slots", out(0), in(0).elements());
                if (op_.integer("experts", 0) < 1 || op_.integer("capacity", 0) < 1)
                    fail("experts and capacity must be at least 1");
                break;
            case OpKind::attention:
                operands(3, 3, 1, 2);
                attention(in(0), in(1), in(2));
                same_count("out", out(0), in(0).elements() / last(in(0)) * last(in(2)));
                break;
            case OpKind::attention_grad:
                operands(6, 6, 3, 3);
                attention(in(1), in(2), in(3));
                for (std::size_t i = 0; i < 3; ++i) same_count("gradient", out(i), in(i + 1).elements());
                break;
            case OpKind::convolution:
                operands(2, 3, 1, 1);
                filters(convolution_sizes(trace_, op_), op_.inputs.size() > 2 ? &in(2) : nullptr);
                break;
            case OpKind::convolution_data_grad:
                operands(2, 2, 1, 1);
                convolution_sizes(trace_, op_);
                break;
            case OpKind::convolution_weight_grad:
                operands(2, 2, 1, 2);
                filters(convolution_sizes(trace_, op_), op_.outputs.size() > 1 ? &out(1) : nullptr);
                break;
            case OpKind::pooling:
                operands(1, 1, 1, 2);
                pooling_sizes(trace_, op_);
                if (op_.outputs.size() > 1) positions(out(1), out(0));
                break;
            case OpKind::pooling_grad:
                pooling_grad();
                break;
            case OpKind::lstm_cell:
                lstm_cell();
                break;
            case OpKind::lstm_cell_grad:
                lstm_cell_grad();
                break;
            case OpKind::embedding:
                operands(2, 2, 1, 1);
                rank(in(0), 2, "the table");
                same_count("result", out(0), in(1).elements() * last(in(0)));
                break;
            case OpKind::embedding_grad:
                operands(2, 2, 1, 1);
                rank(out(0), 2, "the table");
                same_count("d out", in(0), in(1).elements() * last(out(0)));
                break;
            case OpKind::copy:
                copy();
                break;
            case OpKind::concat:
                concat();
                break;
            case OpKind::fill:
            case OpKind::random:
                operands(0, many, 1, many);
                break;
            case OpKind::gather:
                operands(2, many, 1, 1);
                axis(in(0));
                indices(op_.inputs.size() - 1, out(0));
                break;
            case OpKind::scatter:
                operands(3, many, 1, 1);
                axis(in(0));
                same_count("result", out(0), in(0).elements());
                indices(op_.inputs.size() - 2, in(op_.inputs.size() - 1));
                break;
            case OpKind::host_copy:
            case OpKind::collective:
            case OpKind::unknown:
                break;
        }
    }

  private:
    static constexpr std::size_t many = 1u << 20;

    [[noreturn]] void fail(const std::string& problem) const {
        throw Error(problem, {.key = "op " + std::to_string(index_) + " (" + name_of(op_.kind) + " " +
                                     op_.name + ")"});
    }
    const Tensor& in(std::size_t i) const { return trace_.tensors[op_.inputs[i]]; }
    const Tensor& out(std::size_t i) const { return trace_.tensors[op_.outputs[i]]; }
    std::int64_t last(const Tensor& tensor) const {
        if (tensor.shape.empty()) fail("tensor " + tensor.name + " is a scalar where a row was expected");
        return std::max<std::int64_t>(tensor.shape.back(), 1);
    }

    void references() const {
        for (const auto* operands : {&op_.inputs, &op_.outputs}) {
            for (const TensorId id : *operands) {
                if (id >= trace_.tensors.size())
                    fail("refers to tensor " + std::to_string(id) + ", which does not exist");
            }
        }
        for (const OpId id : op_.dependencies) {
            if (id >= index_) fail("depends on op " + std::to_string(id) + ", which is not earlier");
        }
    }

    void operands(std::size_t least_in, std::size_t most_in, std::size_t least_out,
                  std::size_t most_out) const {
        const auto range = [](std::size_t least, std::size_t most) {
            return most == many ? "at least " + std::to_string(least)
                                : std::to_string(least) + (most > least ? " to " + std::to_string(most) : "");
        };
        if (op_.inputs.size() < least_in || op_.inputs.size() > most_in) {
            fail("has " + std::to_string(op_.inputs.size()) + " inputs instead of " +
                 range(least_in, most_in));
        }
        if (op_.outputs.size() < least_out || op_.outputs.size() > most_out) {
            fail("has " + std::to_string(op_.outputs.size()) + " outputs instead of " +
                 range(least_out, most_out));
        }
    }
    void same_count(const std::string& what, const Tensor& tensor, std::int64_t elements) const {
        if (tensor.elements() != elements) {
            fail(what + " " + tensor.name + " " + to_text(tensor.shape) + " does not have " +
                 std::to_string(elements) + " elements");
        }
    }
    void rank(const Tensor& tensor, std::size_t axes, const std::string& what) const {
        if (tensor.shape.size() != axes) {
            fail(what + " " + tensor.name + " " + to_text(tensor.shape) + " does not have " +
                 std::to_string(axes) + " axes");
        }
    }
    std::int64_t axis(const Tensor& tensor) const {
        const std::int64_t value = op_.integer("axis", 0);
        if (value < 0 || value >= static_cast<std::int64_t>(tensor.shape.size())) {
            fail("axis " + std::to_string(value) + " is not an axis of " + to_text(tensor.shape));
        }
        return value;
    }
    expression::Expression parsed(const std::string& key) const {
        try {
            return expression::parse(op_.text(key));
        } catch (const Error& error) {
            fail(key + " " + error.what());
        }
    }
    void broadcast(const Tensor& tensor, const Shape& to) const {
        if (!broadcasts_to(tensor.shape, to)) {
            fail("tensor " + tensor.name + " " + to_text(tensor.shape) + " does not broadcast to " +
                 to_text(to));
        }
    }

    /// Index tensors of gather and scatter against the tensor of looked-up elements.
    void indices(std::size_t count, const Tensor& looked_up) const {
        const Shape& shape = in(0).shape;
        const auto first = static_cast<std::size_t>(op_.integer("axis", 0));
        if (first + count > shape.size()) fail("there are more index tensors than axes");
        std::int64_t expected = in(1).elements();
        for (std::size_t i = 1; i < count; ++i) same_count("index tensor", in(i + 1), expected);
        if (op_.integer("along", 0) != 0) {
            if (count != 1) fail("indices along an axis are one tensor");
        } else {
            for (std::size_t i = 0; i < shape.size(); ++i) {
                if (i < first || i >= first + count) expected *= shape[i];
            }
        }
        same_count("looked-up tensor", looked_up, expected);
    }

    void matmul() const {
        operands(2, many, 1, many);
        const Shape& a = in(0).shape;
        const Shape& b = in(1).shape;
        const Shape& y = out(0).shape;
        if (a.size() < 2 || b.size() < 2 || y.size() < 2)
            fail("a matmul takes and makes tensors of two axes or more");
        const bool ta = op_.integer("transpose_a", 0) != 0;
        const bool tb = op_.integer("transpose_b", 0) != 0;
        const auto extent = [](const Shape& shape, bool swapped, std::size_t which) {
            return shape[shape.size() - 2 + (swapped ? 1 - which : which)];
        };
        const std::int64_t m = extent(a, ta, 0);
        const std::int64_t n = extent(b, tb, 1);
        if (extent(a, ta, 1) != extent(b, tb, 0)) {
            fail("contraction does not fit: " + to_text(a) + (ta ? "^T" : "") + " times " + to_text(b) +
                 (tb ? "^T" : ""));
        }
        if (y[y.size() - 2] != m || y.back() != n) {
            fail("the result is " + to_text(y) + " instead of [..., " + std::to_string(m) + ", " +
                 std::to_string(n) + "]");
        }
        const Shape batch(y.begin(), y.end() - 2);
        for (const Shape* operand : {&a, &b}) {
            if (!broadcasts_to(Shape(operand->begin(), operand->end() - 2), batch)) {
                fail("the batch axes of " + to_text(*operand) + " do not broadcast to those of " +
                     to_text(y));
            }
        }
        for (std::size_t i = 2; i < op_.inputs.size(); ++i) broadcast(in(i), y);
        if (op_.attributes.contains("epilogue")) {
            const auto epilogue = parsed("epilogue");
            if (epilogue.input_count > op_.inputs.size() - 1)
                fail("the epilogue reads an operand that is not given");
            if (epilogue.outputs.size() != op_.outputs.size())
                fail("the epilogue does not make every result");
        } else if (op_.inputs.size() > 3 || op_.outputs.size() > 1) {
            fail("more than one added operand or result needs an epilogue");
        }
    }

    void elementwise() const {
        operands(0, many, 1, many);
        const auto expression = parsed("expression");
        if (expression.input_count > op_.inputs.size()) {
            fail("the expression reads x" + std::to_string(expression.input_count - 1) + " but there are " +
                 std::to_string(op_.inputs.size()) + " inputs");
        }
        if (expression.outputs.size() != op_.outputs.size()) {
            fail("the expression makes " + std::to_string(expression.outputs.size()) +
                 " results but there are " + std::to_string(op_.outputs.size()) + " outputs");
        }
        if (expression.scalar_count > op_.reals("scalars").size())
            fail("the expression reads a scalar that is not given");
        for (std::size_t i = 0; i < op_.inputs.size(); ++i) broadcast(in(i), out(0).shape);
        for (std::size_t i = 1; i < op_.outputs.size(); ++i) same_count("result", out(i), out(0).elements());
    }

    void reduce() const {
        operands(1, many, 1, many);
        const std::set<std::string> known{"sum", "mean", "max", "min", "norm2"};
        if (!known.contains(op_.text("reduction"))) {
            fail("reduction '" + op_.text("reduction") + "' is none of sum, mean, max, min, norm2");
        }
        std::int64_t remaining = 1;
        if (op_.attributes.contains("axes")) {
            remaining = in(0).elements();
            std::set<std::int64_t> seen;
            for (const std::int64_t value : op_.integers("axes")) {
                if (value < 0 || value >= static_cast<std::int64_t>(in(0).shape.size()) ||
                    !seen.insert(value).second) {
                    fail("axes do not fit " + to_text(in(0).shape));
                }
                if (in(0).shape[value] > 0) remaining /= in(0).shape[value];
            }
        }
        for (std::size_t i = 0; i < op_.outputs.size(); ++i) same_count("result", out(i), remaining);
        for (std::size_t i = 1; i < op_.inputs.size(); ++i) broadcast(in(i), in(0).shape);
        const bool argument = op_.integer("argument", 0) != 0;
        std::size_t reduced = 1;
        if (op_.attributes.contains("expression")) {
            const auto expression = parsed("expression");
            if (expression.input_count > op_.inputs.size()) {
                fail("the expression reads an operand that is not given");
            }
            reduced = expression.outputs.size();
        }
        if (op_.outputs.size() != reduced + (argument ? 1 : 0)) {
            fail("there are " + std::to_string(op_.outputs.size()) + " results for " +
                 std::to_string(reduced) + " reductions");
        }
    }

    void layer_norm() const {
        operands(1, 3, 1, 3);
        if (op_.inputs.size() == 2) fail("gamma and beta come together");
        const std::int64_t rows = in(0).elements() / last(in(0));
        for (std::size_t i = 1; i < op_.inputs.size(); ++i)
            same_count(i == 1 ? "gamma" : "beta", in(i), last(in(0)));
        same_count("result", out(0), in(0).elements());
        for (std::size_t i = 1; i < op_.outputs.size(); ++i) same_count("statistic", out(i), rows);
    }

    void layer_norm_grad() const {
        operands(5, 5, 1, 3);
        const std::int64_t rows = in(0).elements() / last(in(0));
        same_count("x", in(1), in(0).elements());
        same_count("mean", in(2), rows);
        same_count("rstd", in(3), rows);
        same_count("gamma", in(4), last(in(0)));
        same_count("dx", out(0), in(0).elements());
        for (std::size_t i = 1; i < op_.outputs.size(); ++i) {
            if (out(i).elements() % last(in(0)) != 0)
                fail("parameter gradient " + out(i).name + " does not fit the columns");
        }
    }

    std::int64_t channels(const Tensor& x) const {
        if (x.shape.size() < 2) fail("a norm of channels takes [N, C, ...], not " + to_text(x.shape));
        return x.shape[1];
    }
    std::int64_t groups(const Tensor& x) const {
        const std::int64_t count = op_.integer("groups", 1), all = channels(x);
        if (count < 1 || all % count != 0)
            fail(std::to_string(all) + " channels do not fall into " + std::to_string(count) + " groups");
        return count;
    }
    void channel_norm(std::int64_t statistics) const {
        for (std::size_t i = 1; i < op_.inputs.size(); ++i) same_count("parameter", in(i), channels(in(0)));
        same_count("result", out(0), in(0).elements());
        for (std::size_t i = 1; i < op_.outputs.size(); ++i) same_count("statistic", out(i), statistics);
    }
    void channel_norm_grad(std::int64_t statistics) const {
        same_count("x", in(1), in(0).elements());
        same_count("mean", in(2), statistics);
        same_count("rstd", in(3), statistics);
        same_count("gamma", in(4), channels(in(1)));
        same_count("dx", out(0), in(0).elements());
        for (std::size_t i = 1; i < op_.outputs.size(); ++i)
            same_count("parameter gradient", out(i), channels(in(1)));
    }

    void top_k() const {
        operands(1, 1, 2, 2);
        const std::int64_t columns = last(in(0)), k = last(out(0));
        if (k > columns)
            fail("a row of " + std::to_string(columns) + " has no " + std::to_string(k) + " largest");
        for (std::size_t i = 0; i < 2; ++i) same_count("result", out(i), in(0).elements() / columns * k);
    }

    void attention(const Tensor& q, const Tensor& k, const Tensor& v) const {
        for (const Tensor* operand : {&q, &k, &v}) rank(*operand, 4, "operand");
        if (k.shape[3] != q.shape[3]) fail("q and k have different head dimensions");
        if (k.shape[2] != v.shape[2] || k.shape[1] != v.shape[1]) fail("k and v do not fit each other");
        if (k.shape[0] != q.shape[0] || v.shape[0] != q.shape[0]) fail("q, k and v have different batches");
        if (k.shape[1] == 0 || q.shape[1] % k.shape[1] != 0)
            fail("heads of q are not a multiple of the heads of k");
        const double dropout = op_.real("dropout", 0);
        if (!(dropout >= 0 && dropout < 1)) fail("dropout is not a probability below 1");
    }

    void filters(const ConvolutionSizes& sizes, const Tensor* bias) const {
        if (bias != nullptr) same_count("bias", *bias, sizes.filters);
    }
    void positions(const Tensor& tensor, const Tensor& y) const {
        if (!op_.attributes.contains("pooling") || op_.text("pooling") != "max")
            fail("only the maximum has a position");
        same_count("positions", tensor, y.elements());
    }
    void pooling_grad() const {
        operands(1, 3, 1, 1);
        if (pooling_sizes(trace_, op_).maximum && op_.inputs.size() < 2)
            fail("the gradient of a maximum needs x");
        if (op_.inputs.size() > 1) same_count("x", in(1), out(0).elements());
        if (op_.inputs.size() > 2) positions(in(2), in(0));
    }

    void lstm_cell() const {
        operands(3, 5, 2, 3);
        const std::int64_t cells = in(2).elements(), columns = last(in(2));
        same_count("gates", in(0), 4 * cells);
        same_count("gates", in(1), 4 * cells);
        for (std::size_t i = 3; i < op_.inputs.size(); ++i) same_count("bias", in(i), 4 * columns);
        for (std::size_t i = 0; i < op_.outputs.size(); ++i)
            same_count("result", out(i), i == 2 ? 4 * cells : cells);
    }
    void lstm_cell_grad() const {
        operands(5, 5, 2, 2);
        const std::int64_t cells = in(2).elements();
        last(in(2));
        for (const std::size_t i : {0u, 1u, 3u}) same_count("operand", in(i), cells);
        same_count("gates", in(4), 4 * cells);
        same_count("d gates", out(0), 4 * cells);
        same_count("dc", out(1), cells);
    }

    void copy() const {
        operands(1, 1, 1, 1);
        const Shape& x = in(0).shape;
        const Shape& y = out(0).shape;
        const std::vector<std::int64_t> permutation = op_.integers("permutation");
        if (permutation.empty()) {
            if (element_count(x) != element_count(y)) broadcast(in(0), y);
            return;
        }
        std::vector<std::int64_t> sorted = permutation;
        std::sort(sorted.begin(), sorted.end());
        bool fits = sorted.size() == x.size() && x.size() == y.size();
        for (std::size_t i = 0; fits && i < sorted.size(); ++i) {
            fits = sorted[i] == static_cast<std::int64_t>(i) && y[i] == x[permutation[i]];
        }
        if (!fits)
            fail("permutation " + to_text(permutation) + " does not turn " + to_text(x) + " into " +
                 to_text(y));
    }

    void concat() const {
        operands(1, many, 1, 1);
        const std::int64_t along = axis(out(0));
        std::int64_t extent = 0;
        for (std::size_t i = 0; i < op_.inputs.size(); ++i) {
            Shape shape = in(i).shape;
            if (shape.size() != out(0).shape.size())
                fail("operand " + in(i).name + " has another number of axes");
            extent += shape[along];
            shape[along] = out(0).shape[along];
            if (shape != out(0).shape)
                fail("operand " + in(i).name + " " + to_text(in(i).shape) + " does not fit");
        }
        if (extent != out(0).shape[along]) fail("extents along the axis do not add up");
    }

    const Trace& trace_;
    const Op& op_;
    std::size_t index_;
};

}  // namespace

void Trace::check_op(OpId id) const {
    OpCheck(*this, ops.at(id), id).run();
}

void Trace::check() const {
    for (const Tensor& tensor : tensors) {
        if (!is_possible(tensor.shape))
            throw Error("impossible shape " + to_text(tensor.shape), {.key = "tensor " + tensor.name});
    }
    for (std::size_t i = 0; i < ops.size(); ++i) OpCheck(*this, ops[i], i).run();
}

}  // namespace heddle::trace
