#include "workloads/fusion/layout_assignment.h"

#include <algorithm>
#include <string>

#include "workloads/expression/expression.h"

namespace heddle::fusion {

using trace::Op;
using trace::OpId;
using trace::OpKind;
using trace::Tensor;
using trace::TensorId;
using trace::TensorRole;
using trace::Trace;

namespace {

bool has_views(const Op& op) {
    return std::any_of(op.attributes.begin(), op.attributes.end(), [](const auto& attribute) {
        return attribute.first.ends_with("_strides") || attribute.first.ends_with("_offset");
    });
}
bool counts_elements(const std::string& text) {
    using expression::Operator;
    const expression::Expression parsed = expression::parse(text);
    return std::any_of(parsed.nodes.begin(), parsed.nodes.end(), [](const expression::Node& node) {
        return node.op == Operator::random || node.op == Operator::philox || node.op == Operator::position;
    });
}

}  // namespace

Shape channels_last(Shape shape) {
    std::rotate(shape.begin() + 1, shape.begin() + 2, shape.end());
    return shape;
}

Shape to_last(std::size_t axes) {
    Shape order(axes);
    for (std::size_t i = 0; i < axes; ++i) order[i] = static_cast<std::int64_t>(i);
    return channels_last(order);
}

Shape to_first(std::size_t axes) {
    Shape order{0, static_cast<std::int64_t>(axes) - 1};
    for (std::size_t i = 1; i + 1 < axes; ++i) order.push_back(static_cast<std::int64_t>(i));
    return order;
}

bool is_image(const Shape& shape) {
    return shape.size() == 3 || shape.size() == 4;
}

bool lies_both_ways(const Shape& shape) {
    std::int64_t space = 1;
    for (std::size_t i = 2; i < shape.size(); ++i) space *= shape[i];
    return shape[1] == 1 || space == 1;
}

Shape padded(const Shape& shape, std::size_t axes) {
    Shape result(axes - shape.size(), 1);
    result.insert(result.end(), shape.begin(), shape.end());
    return result;
}

bool is_convolution(OpKind kind) {
    return kind == OpKind::convolution || kind == OpKind::convolution_data_grad ||
           kind == OpKind::convolution_weight_grad;
}

bool slides(const Op& op) {
    return is_convolution(op.kind) || op.kind == OpKind::pooling || op.kind == OpKind::pooling_grad;
}

bool is_batch_norm(OpKind kind) {
    return kind == OpKind::batch_norm || kind == OpKind::batch_norm_grad;
}

bool is_plain_copy(const Trace& trace, const Op& op) {
    return op.kind == OpKind::copy && op.attributes.empty() &&
           trace.tensor(op.inputs.at(0)).shape == trace.tensor(op.outputs.at(0)).shape;
}

bool LayoutAssignment::assign() {
    find_candidates();
    for (const Op& op : trace_.ops) seed(op);
    for (bool more = !assigned_.empty(); more;) {
        more = false;
        for (const Op& op : trace_.ops) more = propagate(op) || more;
    }
    return !assigned_.empty() ||
           std::any_of(trace_.ops.begin(), trace_.ops.end(), [&](const Op& op) { return asks(op); });
}

/// Storages that the step alone sees, all of it in one shape and type, in which the order matters.
void LayoutAssignment::find_candidates() {
    std::map<std::uint64_t, TensorId> first;
    std::set<std::uint64_t> refused, written;
    for (TensorId id = 0; id < trace_.tensors.size(); ++id) {
        const Tensor& tensor = trace_.tensor(id);
        const auto [known, fresh] = first.try_emplace(storage(id), id);
        const Tensor& other = trace_.tensor(known->second);
        if (!is_image(tensor.shape) || lies_both_ways(tensor.shape) || tensor.shape != other.shape ||
            tensor.type != other.type || tensor.elements() == 0 ||
            (tensor.role != TensorRole::activation && tensor.role != TensorRole::gradient))
            refused.insert(storage(id));
    }
    for (const Op& op : trace_.ops) {
        const bool views = has_views(op) || op.kind == OpKind::unknown || op.kind == OpKind::collective ||
                           op.kind == OpKind::host_copy;
        for (const TensorId id : op.inputs)
            if (views || !written.contains(storage(id))) refused.insert(storage(id));
        for (const TensorId id : op.outputs) {
            if (views) refused.insert(storage(id));
            written.insert(storage(id));
        }
    }
    // What is written and never read again is what the step leaves behind.
    for (OpId i = 0; i < trace_.ops.size(); ++i) {
        for (const TensorId id : trace_.ops[i].inputs) last_read_[storage(id)] = i;
        for (const TensorId id : trace_.ops[i].outputs) last_write_[storage(id)] = i;
    }
    for (const auto& [place, op] : last_write_) {
        const auto read = last_read_.find(place);
        if (read == last_read_.end() || read->second <= op) refused.insert(place);
    }
    for (const std::uint64_t place : written)
        if (!refused.contains(place)) candidates_.insert(place);
}

bool LayoutAssignment::asks(const Op& op) const {
    if (!slides(op) || op.get(keys::convolution.layout) != "nchw" || has_views(op)) return false;
    bool matters = false;
    for (const std::vector<TensorId>* const list : {&op.inputs, &op.outputs}) {
        for (std::size_t k = 0; k < list->size(); ++k) {
            if (!is_image_operand(op, list == &op.outputs, k)) continue;
            if (!is_image(shape((*list)[k]))) return false;
            matters = matters || !lies_both_ways(shape((*list)[k]));
        }
    }
    return matters;
}

bool LayoutAssignment::is_image_operand(const Op& op, bool output, std::size_t k) const {
    if (op.kind == OpKind::convolution) return output ? k == 0 : k < 2;
    if (is_convolution(op.kind)) return output ? k == 0 : true;
    if (op.kind == OpKind::batch_norm) return k == 0;
    if (op.kind == OpKind::batch_norm_grad) return output ? k == 0 : k < 2;
    if (op.kind == OpKind::reduce) return !output;
    return true;
}

void LayoutAssignment::assign(const Op& op) {
    for_each_image(op, [&](TensorId id) {
        if (candidates_.contains(storage(id))) assigned_.insert(storage(id));
    });
}

void LayoutAssignment::seed(const Op& op) {
    if (asks(op)) assign(op);
    // A program's own transposes between its images and those that a convolution reads or writes.
    if (op.kind != OpKind::copy || op.attributes.size() != 1 || !is_image(shape(op.inputs.at(0)))) return;
    const Shape order = op.get(keys::copy.permutation);
    const std::size_t axes = shape(op.inputs[0]).size();
    if (order == to_last(axes) && beside_window(op.outputs[0], true)) assign_one(op.inputs[0]);
    if (order == to_first(axes) && beside_window(op.inputs[0], false)) assign_one(op.outputs[0]);
}

void LayoutAssignment::assign_one(TensorId id) {
    if (candidates_.contains(storage(id))) assigned_.insert(storage(id));
}

bool LayoutAssignment::beside_window(TensorId id, bool reads) const {
    return std::any_of(trace_.ops.begin(), trace_.ops.end(), [&](const Op& op) {
        const auto& list = reads ? op.inputs : op.outputs;
        return slides(op) && std::find(list.begin(), list.end(), id) != list.end();
    });
}

bool LayoutAssignment::propagate(const Op& op) {
    if (!touches(op) || !follows(op)) return false;
    const std::size_t before = assigned_.size();
    assign(op);
    return assigned_.size() != before;
}

bool LayoutAssignment::touches(const Op& op) const {
    bool any = false;
    for_each_image(op, [&](TensorId id) { any = any || is_assigned(id); });
    return any;
}

bool LayoutAssignment::follows(const Op& op) const {
    if (slides(op)) return asks(op);
    if (has_views(op)) return false;
    switch (op.kind) {
        case OpKind::elementwise:
            return maps(op, shape(op.outputs.at(0))) &&
                   !counts_elements(op.get(keys::elementwise.expression));
        case OpKind::copy:
            return is_plain_copy(trace_, op) && maps(op, shape(op.inputs[0]));
        case OpKind::fill:
            return op.get(keys::fill.step) == 0 && maps(op, shape(op.outputs.at(0)));
        case OpKind::batch_norm:
        case OpKind::batch_norm_grad:
            return is_image(shape(op.inputs.at(0)));
        case OpKind::concat: {
            bool images = true;
            for_each_image(op, [&](TensorId id) { images = images && is_image(shape(id)); });
            return images && pays(op, shape(op.outputs[0]).size());
        }
        case OpKind::reduce:
            return reduces(op);
        default:
            return false;
    }
}

/// All operands have the shape, or repeat along it in a way that lies the same both ways.
bool LayoutAssignment::maps(const Op& op, const Shape& whole) const {
    if (!is_image(whole)) return false;
    bool fits = true;
    for (const TensorId id : op.outputs) fits = fits && shape(id) == whole;
    for (const TensorId id : op.inputs) {
        if (shape(id).size() > whole.size()) return false;
        const Shape all = padded(shape(id), whole.size());
        fits = fits && (all == whole || lies_both_ways(all));
    }
    return fits && pays(op, whole.size());
}

/// Bytes of operands that would have to be turned against those that are, or can be, channels last.
bool LayoutAssignment::pays(const Op& op, std::size_t axes) const {
    std::uint64_t turned = 0, kept = 0;
    for_each_image(op, [&](TensorId id) {
        if (shape(id).size() != axes || lies_both_ways(shape(id))) return;
        (candidates_.contains(storage(id)) ? kept : turned) += trace_.tensor(id).bytes();
    });
    return kept >= turned;
}

/// Axes that are left keep their order.
bool LayoutAssignment::reduces(const Op& op) const {
    const Shape& whole = shape(op.inputs.at(0));
    if (!is_image(whole) || op.get(keys::reduce.argument) != 0) return false;
    if (op.has(keys::reduce.expression) && counts_elements(op.get(keys::reduce.expression))) return false;
    for (const TensorId id : op.inputs) {
        if (shape(id).size() > whole.size()) return false;
        const Shape all = padded(shape(id), whole.size());
        if (all != whole && !lies_both_ways(all)) return false;
    }
    if (!pays(op, whole.size())) return false;
    if (!op.has(keys::reduce.axes)) return true;
    const Shape axes = op.get(keys::reduce.axes);
    const auto left = [&](std::int64_t axis) {
        return std::find(axes.begin(), axes.end(), axis) == axes.end();
    };
    for (std::int64_t axis = 2; axis < static_cast<std::int64_t>(whole.size()); ++axis)
        if (left(1) && left(axis)) return false;
    return true;
}

}  // namespace heddle::fusion
