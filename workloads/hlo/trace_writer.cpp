#include "workloads/hlo/trace_writer.h"

#include <algorithm>

#include "isa/common/error.h"
#include "workloads/trace/turns.h"

namespace heddle::hlo {

using trace::OpKind;
using trace::TensorId;

View TraceWriter::new_tensor(const std::string& name, const Result& like, trace::TensorRole role) {
    trace::Tensor tensor;
    tensor.name = name;
    tensor.role = role;
    tensor.type = like.type;
    tensor.shape = like.shape;
    const TensorId id = trace_.add(std::move(tensor));
    parents_.push_back(id);
    return {id, like.type, like.shape, dense_strides(like.shape), 0};
}

TensorId TraceWriter::alias_of(TensorId tensor, const Dimensions& shape) {
    trace::Tensor alias = trace_.tensor(tensor);
    alias.shape = shape;
    const TensorId id = trace_.add(std::move(alias));
    parents_.push_back(tensor);
    return id;
}

void TraceWriter::read(const View& view) {
    const auto later = overwritten_.find(view.tensor);
    if (later == overwritten_.end()) return;
    to_copy_[later->second.op] = view.tensor;
    own_storage_.insert(later->second.tensor);
}

TensorId TraceWriter::operand(trace::Op& op, const View& view, const std::string& name) {
    const bool dense = view.is_dense();
    if (view.offset == 0 && dense && trace_.tensor(view.tensor).shape == view.shape) return view.tensor;
    const TensorId id = alias_of(view.tensor, view.shape);
    if (!dense || view.offset != 0) op.set_strides(name, view.strides);
    if (view.offset != 0) op.set_offset(name, view.offset);
    return id;
}

namespace {

/// Axes along which the view repeats have one element, and those in front none: NumPy's way to say it.
View without_repeats(View view) {
    for (std::size_t axis = 0; axis < view.shape.size(); ++axis)
        if (view.strides[axis] == 0) view.shape[axis] = 1;
    while (!view.shape.empty() && view.shape[0] == 1) {
        view.shape.erase(view.shape.begin());
        view.strides.erase(view.strides.begin());
    }
    return view;
}

}  // namespace

std::vector<View> TraceWriter::emit(const Label& label, OpKind kind, const std::vector<View>& inputs,
                                    Attributes attributes, const std::vector<Result>& results) {
    trace::Op op;
    op.name = label.name;
    op.kind = kind;
    op.phase = label.phase;
    op.attributes = std::move(attributes);
    for (const View& view : inputs) {
        read(view);
        const std::size_t index = op.inputs.size();
        const bool broadcasts = kind == OpKind::elementwise || (kind == OpKind::matmul && index >= 2);
        op.inputs.push_back(
            operand(op, broadcasts ? without_repeats(view) : view, "input" + std::to_string(index)));
    }
    std::vector<View> views;
    for (const Result& result : results) {
        views.push_back(new_tensor(label.name, result));
        op.outputs.push_back(views.back().tensor);
    }
    trace_.add(std::move(op));
    return views;
}

View TraceWriter::densely(const Label& label, const View& view) {
    if (view.is_dense()) return view;
    for (const auto& [from, copy] : copies_)
        if (from == view) return copy;
    View copy = emit_one(label, OpKind::elementwise, {view}, {{keys::elementwise.expression, "y0 = x0"}},
                         {view.type, view.shape});
    copies_.emplace_back(view, copy);
    return copy;
}

View TraceWriter::reshaped(const Label& label, const View& view, const Dimensions& to) {
    if (count_of(to) != count_of(view.shape))
        throw Error(std::to_string(count_of(view.shape)) + " elements do not fill a shape of " +
                        std::to_string(count_of(to)),
                    {}, "is the text cut off or edited?");
    if (const std::optional<View> moved = view.reshaped(to)) return *moved;
    View dense = densely(label, view);
    dense.shape = to;
    dense.strides = dense_strides(to);
    return dense;
}

void TraceWriter::write_into(const Label& label, const View& place, const std::string& expression,
                             const std::vector<View>& inputs) {
    trace::Op op;
    op.name = label.name;
    op.kind = OpKind::elementwise;
    op.phase = label.phase;
    op.set(keys::elementwise.expression, expression);
    for (const View& view : inputs) {
        read(view);
        op.inputs.push_back(operand(op, without_repeats(view), "input" + std::to_string(op.inputs.size())));
    }
    op.outputs.push_back(operand(op, place, "output0"));
    trace_.add(std::move(op));
}

void TraceWriter::fill_into(const Label& label, const View& place, double value, double step) {
    trace::Op op;
    op.name = label.name;
    op.kind = OpKind::fill;
    op.phase = label.phase;
    op.set(keys::fill.value, value);
    if (step != 0) op.set(keys::fill.step, step);
    op.outputs.push_back(operand(op, place, "output0"));
    trace_.add(std::move(op));
}

View TraceWriter::overwritten(const View& base) {
    View present = base;
    present.tensor = alias_of(base.tensor, base.shape);
    present.strides = dense_strides(base.shape);
    // Whoever updates the same contents a second time must not find the first update.
    read(base);
    if (overwritten_.contains(base.tensor)) {
        own_storage_.insert(present.tensor);
        to_copy_[trace_.ops.size()] = base.tensor;
        return present;
    }
    overwritten_[base.tensor] = {present.tensor, trace_.ops.size()};
    return present;
}

void TraceWriter::hold_turn(std::size_t first, std::size_t last, double turns) {
    ++held_turns_;
    for (std::size_t i = first; i < last; ++i) {
        std::vector<std::int64_t> all{held_turns_, static_cast<std::int64_t>(turns)};
        for (const std::int64_t inner : trace_.ops[i].get(keys::any.turns)) all.push_back(inner);
        trace_.ops[i].set(keys::any.turns, std::move(all));
    }
}

bool TraceWriter::are_alike(std::size_t a, std::size_t b, std::size_t count) const {
    const auto same = [&](const std::vector<TensorId>& of_a, const std::vector<TensorId>& of_b) {
        return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), [&](TensorId x, TensorId y) {
            return trace_.tensor(x).type == trace_.tensor(y).type &&
                   trace_.tensor(x).shape == trace_.tensor(y).shape;
        });
    };
    for (std::size_t i = 0; i < count; ++i) {
        const trace::Op &x = trace_.ops.at(a + i), &y = trace_.ops.at(b + i);
        if (x.kind != y.kind || !same(x.inputs, y.inputs) || !same(x.outputs, y.outputs)) return false;
    }
    return true;
}

TensorId TraceWriter::storage_root(TensorId tensor) const {
    while (parents_[tensor] != tensor && !own_storage_.contains(tensor)) tensor = parents_[tensor];
    return tensor;
}

trace::Trace TraceWriter::finish() {
    std::vector<trace::Op> ops;
    for (std::size_t i = 0; i < trace_.ops.size(); ++i) {
        if (const auto copied = to_copy_.find(i); copied != to_copy_.end()) {
            // From the former contents to the place of the present ones, which an alias of this op names.
            trace::Op copy;
            copy.name = trace_.ops[i].name + " (copy)";
            copy.kind = OpKind::elementwise;
            copy.phase = trace_.ops[i].phase;
            copy.set(keys::elementwise.expression, "y0 = x0");
            copy.attributes.copy(keys::any.turns, trace_.ops[i].attributes);
            const TensorId place = parents_[trace_.ops[i].outputs.at(0)];
            const bool itself = own_storage_.contains(trace_.ops[i].outputs[0]);
            trace::Tensor whole = trace_.tensor(copied->second);
            const TensorId from = trace_.add(whole), to = trace_.add(whole);
            parents_.push_back(copied->second);
            parents_.push_back(itself ? trace_.ops[i].outputs[0] : place);
            copy.inputs = {from};
            copy.outputs = {to};
            ops.push_back(std::move(copy));
        }
        ops.push_back(std::move(trace_.ops[i]));
    }
    trace_.ops = std::move(ops);
    for (TensorId id = 0; id < trace_.tensors.size(); ++id)
        trace_.tensors[id].storage = storage_root(id) + std::uint64_t{1};
    trace_.check();
    return std::move(trace_);
}

}  // namespace heddle::hlo
