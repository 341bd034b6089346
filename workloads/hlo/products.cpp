// Products of matrices.
#include <algorithm>
#include <numeric>

#include "workloads/hlo/converter.h"
#include "workloads/hlo/text.h"

namespace heddle::hlo {

/// Axes `batch`, then `first`, then `last`, the two groups as one axis each.
View Converter::matrix(const Instruction& at, View view, const Dimensions& batch, const Dimensions& first,
                       const Dimensions& last) {
    Dimensions axes = batch;
    axes.insert(axes.end(), first.begin(), first.end());
    axes.insert(axes.end(), last.begin(), last.end());
    const View ordered = view.transposed(axes);
    Dimensions shape;
    for (std::size_t i = 0; i < batch.size(); ++i) shape.push_back(ordered.shape.at(i));
    std::int64_t rows = 1, columns = 1;
    for (const std::int64_t axis : first) rows *= view.shape.at(static_cast<std::size_t>(axis));
    for (const std::int64_t axis : last) columns *= view.shape.at(static_cast<std::size_t>(axis));
    shape.push_back(rows);
    shape.push_back(columns);
    View result = writer_.reshaped(label(at), ordered, shape);
    // Strides along axes of one element say nothing; 1 keeps a vector contiguous.
    for (std::size_t axis = shape.size() - 2; axis < shape.size(); ++axis)
        if (shape[axis] == 1) result.strides[axis] = 1;
    return result;
}

View Converter::matrix_operand(const TraceWriter::Label& label, const View& view, trace::Integer key,
                               TraceWriter::Attributes& attributes) {
    const std::size_t axes = view.shape.size();
    View plain = view;
    bool shared = axes > 2;  // all batches have the same
    for (std::size_t axis = 0; axis + 2 < axes; ++axis)
        shared = shared && (view.strides[axis] == 0 || view.shape[axis] == 1);
    if (shared) {
        plain.shape.erase(plain.shape.begin(), plain.shape.end() - 2);
        plain.strides.erase(plain.strides.begin(), plain.strides.end() - 2);
    }
    if (plain.is_dense()) return plain;
    Dimensions swap(plain.shape.size());
    std::iota(swap.begin(), swap.end(), 0);
    std::swap(swap[swap.size() - 1], swap[swap.size() - 2]);
    const View turned = plain.transposed(swap);
    // What has to be copied keeps the axis last that lies side by side.
    if (!turned.is_dense() && turned.strides.back() != 1) return writer_.densely(label, plain);
    attributes.set(key, 1);
    return writer_.densely(label, turned);
}

Value Converter::dot(const Instruction& at, Operands& operands) {
    if (operands.size() != 2) fail(at, "does not have two operands");
    const View a = forwards(at, written(operands[0], at.name)),
               b = forwards(at, written(operands[1], at.name));
    const Dimensions ka = list(at, "lhs_contracting_dims"), kb = list(at, "rhs_contracting_dims");
    const Dimensions ba = list(at, "lhs_batch_dims"), bb = list(at, "rhs_batch_dims");
    const auto others = [&](const View& view, const Dimensions& k, const Dimensions& batch) {
        for (const Dimensions* axes : {&k, &batch})
            for (const std::int64_t axis : *axes)
                if (axis < 0 || static_cast<std::size_t>(axis) >= view.shape.size())
                    fail(at, "names a dimension that its operand has not");
        Dimensions rest;
        for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(view.shape.size()); ++axis) {
            if (std::find(k.begin(), k.end(), axis) == k.end() &&
                std::find(batch.begin(), batch.end(), axis) == batch.end())
                rest.push_back(axis);
        }
        return rest;
    };
    Value product;
    product.kind = Value::Kind::pending;
    product.product = true;
    product.type = at.shape.type;
    product.text = "x0";
    product.inputs = {matrix(at, a, ba, others(a, ka, ba), ka), matrix(at, b, bb, kb, others(b, kb, bb))};
    const View& left = product.inputs[0];
    const View& right = product.inputs[1];
    if (left.shape.back() != right.shape[right.shape.size() - 2])
        fail(at, "contracts dimensions of different sizes");
    product.matrix = left.shape;
    product.matrix.back() = right.shape.back();
    if (count_of(product.matrix) != count_of(at.shape.dimensions))
        fail(at, "has a result of another size than its operands give");
    product.shape = at.shape.dimensions;
    return product;
}

}  // namespace heddle::hlo
