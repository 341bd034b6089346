// Shapes of products, elementwise ops, reductions, lookups and copies.
#include <algorithm>
#include <set>

#include "workloads/trace/op_check.h"

namespace heddle::trace {

void OpCheck::indices(std::size_t count, const Tensor& looked_up) const {
    const Shape& shape = in(0).shape;
    const auto first = static_cast<std::size_t>(op_.get(keys::gather.axis));
    if (first + count > shape.size()) fail("there are more index tensors than axes");
    std::int64_t expected = in(1).elements();
    for (std::size_t i = 1; i < count; ++i) same_count("index tensor", in(i + 1), expected);
    if (op_.get(keys::gather.along) != 0) {
        if (count != 1) fail("indices along an axis are one tensor");
    } else {
        for (std::size_t i = 0; i < shape.size(); ++i) {
            if (i < first || i >= first + count) expected = times(expected, shape[i]);
        }
    }
    same_count("looked-up tensor", looked_up, expected);
}

void OpCheck::matmul() const {
    operands(2, many, 1, many);
    const Shape& a = in(0).shape;
    const Shape& b = in(1).shape;
    const Shape& y = out(0).shape;
    if (a.size() < 2 || b.size() < 2 || y.size() < 2)
        fail("a matmul takes and makes tensors of two axes or more");
    const bool ta = op_.get(keys::matmul.transpose_a) != 0;
    const bool tb = op_.get(keys::matmul.transpose_b) != 0;
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
            fail("the batch axes of " + to_text(*operand) + " do not broadcast to those of " + to_text(y));
        }
    }
    for (std::size_t i = 2; i < op_.inputs.size(); ++i) broadcast(in(i), y);
    if (op_.has(keys::matmul.epilogue)) {
        const auto epilogue = parsed(keys::matmul.epilogue);
        if (epilogue.input_count > op_.inputs.size() - 1)
            fail("the epilogue reads an operand that is not given");
        if (epilogue.outputs.size() != op_.outputs.size()) fail("the epilogue does not make every result");
    } else if (op_.inputs.size() > 3 || op_.outputs.size() > 1) {
        fail("more than one added operand or result needs an epilogue");
    }
}

void OpCheck::elementwise() const {
    operands(0, many, 1, many);
    const auto expression = parsed(keys::elementwise.expression);
    if (expression.input_count > op_.inputs.size()) {
        fail("the expression reads x" + std::to_string(expression.input_count - 1) + " but there are " +
             std::to_string(op_.inputs.size()) + " inputs");
    }
    if (expression.outputs.size() != op_.outputs.size()) {
        fail("the expression makes " + std::to_string(expression.outputs.size()) + " results but there are " +
             std::to_string(op_.outputs.size()) + " outputs");
    }
    if (expression.scalar_count > op_.get(keys::elementwise.scalars).size())
        fail("the expression reads a scalar that is not given");
    for (std::size_t i = 0; i < op_.inputs.size(); ++i) broadcast(in(i), out(0).shape);
    for (std::size_t i = 1; i < op_.outputs.size(); ++i) same_count("result", out(i), out(0).elements());
}

void OpCheck::reduce() const {
    operands(1, many, 1, many);
    const std::set<std::string> known{"sum", "mean", "max", "min", "norm2"};
    if (!known.contains(op_.get(keys::reduce.reduction))) {
        fail("reduction '" + op_.get(keys::reduce.reduction) + "' is none of sum, mean, max, min, norm2");
    }
    std::int64_t remaining = 1;
    if (op_.has(keys::reduce.axes)) {
        remaining = in(0).elements();
        std::set<std::int64_t> seen;
        for (const std::int64_t value : op_.get(keys::reduce.axes)) {
            if (value < 0 || value >= static_cast<std::int64_t>(in(0).shape.size()) ||
                !seen.insert(value).second) {
                fail("axes do not fit " + to_text(in(0).shape));
            }
            if (in(0).shape[value] > 0) remaining /= in(0).shape[value];
        }
    }
    for (std::size_t i = 0; i < op_.outputs.size(); ++i) same_count("result", out(i), remaining);
    for (std::size_t i = 1; i < op_.inputs.size(); ++i) broadcast(in(i), in(0).shape);
    const bool argument = op_.get(keys::reduce.argument) != 0;
    std::size_t reduced = 1;
    if (op_.has(keys::reduce.expression)) {
        const auto expression = parsed(keys::elementwise.expression);
        if (expression.input_count > op_.inputs.size()) {
            fail("the expression reads an operand that is not given");
        }
        reduced = expression.outputs.size();
    }
    if (op_.outputs.size() != reduced + (argument ? 1 : 0)) {
        fail("there are " + std::to_string(op_.outputs.size()) + " results for " + std::to_string(reduced) +
             " reductions");
    }
}

void OpCheck::copy() const {
    operands(1, 1, 1, 1);
    const Shape& x = in(0).shape;
    const Shape& y = out(0).shape;
    const std::vector<std::int64_t> permutation = op_.get(keys::copy.permutation);
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
        fail("permutation " + to_text(permutation) + " does not turn " + to_text(x) + " into " + to_text(y));
}

void OpCheck::concat() const {
    operands(1, many, 1, 1);
    const std::int64_t along = axis(out(0));
    std::int64_t extent = 0;
    for (std::size_t i = 0; i < op_.inputs.size(); ++i) {
        Shape shape = in(i).shape;
        if (shape.size() != out(0).shape.size())
            fail("operand " + in(i).name + " has another number of axes");
        extent += shape[along];
        if (extent > out(0).shape[along]) break;  // told below
        shape[along] = out(0).shape[along];
        if (shape != out(0).shape)
            fail("operand " + in(i).name + " " + to_text(in(i).shape) + " does not fit");
    }
    if (extent != out(0).shape[along]) fail("extents along the axis do not add up");
}

void OpCheck::softmax_cross_entropy() const {
    operands(2, 2, 1, 2);
    same_count("labels", in(1), in(0).elements() / last(in(0)));
    same_count("loss", out(0), in(0).elements() / last(in(0)));
    if (op_.outputs.size() > 1) same_count("probabilities", out(1), in(0).elements());
}

void OpCheck::softmax_cross_entropy_grad() const {
    operands(2, 3, 1, 1);
    same_count("labels", in(1), in(0).elements() / last(in(0)));
    same_count("gradient", out(0), in(0).elements());
}

void OpCheck::dropout() const {
    operands(1, 1, 1, 2);
    if (const double p = op_.get(keys::dropout.probability); !(p >= 0 && p < 1))
        fail("the probability of a zero is not in [0, 1)");
    for (std::size_t i = 0; i < op_.outputs.size(); ++i) same_count("result", out(i), in(0).elements());
}

void OpCheck::quantise() const {
    operands(1, 2, 1, 2);
    same_count("result", out(0), in(0).elements());
    if (out(0).type != ElementType::e4m3 && out(0).type != ElementType::e5m2)
        fail("the result is " + name_of(out(0).type) + " and not e4m3 or e5m2");
    if (op_.inputs.size() > 1) same_count("scale", in(1), 1);
    if (op_.outputs.size() > 1) same_count("amax", out(1), 1);
}

void OpCheck::expert_slots() const {
    operands(1, 1, 1, 1);
    same_count("slots", out(0), in(0).elements());
    if (op_.get(keys::expert_slots.experts) < 1 || op_.get(keys::expert_slots.capacity) < 1)
        fail("experts and capacity must be at least 1");
}

void OpCheck::embedding() const {
    operands(2, 2, 1, 1);
    rank(in(0), 2, "the table");
    same_count("result", out(0), times(in(1).elements(), last(in(0))));
}

void OpCheck::embedding_grad() const {
    operands(2, 2, 1, 1);
    rank(out(0), 2, "the table");
    same_count("d out", in(0), times(in(1).elements(), last(out(0))));
}

void OpCheck::fill() const {
    operands(0, many, 1, many);
}

void OpCheck::random() const {
    operands(0, many, 1, many);
}

void OpCheck::host_copy() const {}

void OpCheck::collective() const {}

void OpCheck::unknown() const {}

void OpCheck::gather() const {
    operands(2, many, 1, 1);
    axis(in(0));
    indices(op_.inputs.size() - 1, out(0));
}

void OpCheck::scatter() const {
    operands(3, many, 1, 1);
    axis(in(0));
    same_count("result", out(0), in(0).elements());
    indices(op_.inputs.size() - 2, in(op_.inputs.size() - 1));
}

}  // namespace heddle::trace
