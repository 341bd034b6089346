// Ways of reading a value without moving it, and what moves it when there is no other way.
#include <algorithm>
#include <numeric>

#include "isa/common/checked.h"
#include "workloads/hlo/converter.h"
#include "workloads/hlo/text.h"

namespace heddle::hlo {

using trace::OpKind;

namespace {

bool is_pending(const Value& value) {
    return value.kind == Value::Kind::pending && !value.product;
}

Dimensions permuted(const Dimensions& shape, const Dimensions& axes) {
    Dimensions result;
    for (const std::int64_t axis : axes) result.push_back(shape.at(static_cast<std::size_t>(axis)));
    return result;
}

Dimensions inverse(const Dimensions& axes) {
    Dimensions result(axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i)
        result.at(static_cast<std::size_t>(axes[i])) = static_cast<std::int64_t>(i);
    return result;
}

bool is_permutation_of(const Dimensions& axes, std::size_t count) {
    std::vector<bool> seen(count, false);
    for (const std::int64_t axis : axes) {
        if (axis < 0 || static_cast<std::size_t>(axis) >= count || seen[static_cast<std::size_t>(axis)])
            return false;
        seen[static_cast<std::size_t>(axis)] = true;
    }
    return axes.size() == count;
}

/// Axes from the slowest to the fastest in memory.
Dimensions major_to_minor(const Dimensions& layout, std::size_t count) {
    Dimensions order(layout.rbegin(), layout.rend());
    if (order.size() == count) return order;
    order.resize(count);
    std::iota(order.begin(), order.end(), 0);
    return order;
}

}  // namespace

Value Converter::broadcast(const Instruction& at, Value& from) {
    const Dimensions axes = list(at, "dimensions"), &to = at.shape.dimensions;
    if (from.kind == Value::Kind::number) return from.filling(to);
    if (axes.size() != from.shape.size())
        fail(at, "names " + std::to_string(axes.size()) + " dimensions for an operand of " +
                     std::to_string(from.shape.size()));
    for (const std::int64_t axis : axes)
        if (axis < 0 || static_cast<std::size_t>(axis) >= to.size())
            fail(at, "names a dimension that its result has not");
    if (count_of(to) == count_of(from.shape) && std::is_sorted(axes.begin(), axes.end()))
        return reshape(at, from, to);
    return Value::of(written(from, at.name).broadcast(axes, to));
}

Value Converter::transpose(const Instruction& at, Value& from) {
    const Dimensions axes = list(at, "dimensions");
    if (!is_permutation_of(axes, from.shape.size())) fail(at, "does not name every dimension once");
    return turned(at, from, axes);
}

Value Converter::turned(const Instruction& at, Value& from, const Dimensions& axes) {
    const std::size_t count = axes.size();
    Value result = from;
    result.shape = permuted(from.shape, axes);
    if (from.kind == Value::Kind::number) return result;
    if (is_pending(from)) {
        for (View& view : result.inputs) view = view.transposed(axes);
        return result;
    }
    if (from.kind == Value::Kind::pending && from.text == "x0" && from.shape == from.matrix && count >= 2) {
        // (A B)^T = B^T A^T
        Dimensions swap(count);
        std::iota(swap.begin(), swap.end(), 0);
        std::swap(swap[count - 1], swap[count - 2]);
        if (axes == swap && from.inputs[0].shape.size() == count && from.inputs[1].shape.size() == count) {
            result.matrix = result.shape;
            result.inputs = {from.inputs[1].transposed(axes), from.inputs[0].transposed(axes)};
            return result;
        }
    }
    return Value::of(written(from, at.name).transposed(axes));
}

Value Converter::reshape(const Instruction& at, Value& from, const Dimensions& to) {
    if (count_of(from.shape) != count_of(to)) fail(at, "changes the number of elements");
    Value result = from;
    result.shape = to;
    if (from.kind == Value::Kind::number || (from.kind == Value::Kind::pending && from.product))
        return result;
    if (is_pending(from)) {
        bool fits = true;
        for (View& view : result.inputs) {
            const std::optional<View> reshaped = view.reshaped(to);
            fits = fits && reshaped;
            if (reshaped) view = *reshaped;
        }
        if (fits) return result;
    }
    const View view = written(from, at.name);
    if (const std::optional<View> reshaped = view.reshaped(to)) return Value::of(*reshaped);
    return Value::of(writer_.reshaped(label(at), forwards(at, view), to));
}

/// The same bytes under another shape: in the order in which both lie in memory.
Value Converter::bitcast(const Instruction& at, Value& from) {
    if (from.type != at.shape.type) {
        Operands operands{from};
        return unknown(at, operands, "from one type to another");
    }
    const Dimensions& to = at.shape.dimensions;
    const Dimensions from_order = major_to_minor(from.layout, from.shape.size());
    const Dimensions to_order = major_to_minor(at.shape.layout, to.size());
    if (!is_permutation_of(from_order, from.shape.size()) || !is_permutation_of(to_order, to.size()))
        fail(at, "has a layout that does not fit its shape");
    Value physical = turned(at, from, from_order);
    Value reshaped = reshape(at, physical, permuted(to, to_order));
    return turned(at, reshaped, inverse(to_order));
}

Value Converter::slice(const Instruction& at, Value& from) {
    // {[0:4], [1:9:2]}: with or without steps.
    Dimensions starts, limits, steps;
    std::string part;
    for (const char c : text(at, "slice")) {
        if (c == '[' || c == ']' || c == ',' || c == '{' || c == '}') {
            const Dimensions numbers = part.find(':') == std::string::npos ? Dimensions{} : numbers_of(part);
            if (numbers.size() >= 2) {
                starts.push_back(numbers[0]);
                limits.push_back(numbers[1]);
                steps.push_back(numbers.size() > 2 ? numbers[2] : 1);
            }
            part.clear();
        } else {
            part += c;
        }
    }
    if (starts.size() != from.shape.size()) fail(at, "does not give bounds for every dimension");
    for (std::size_t axis = 0; axis < starts.size(); ++axis)
        if (starts[axis] < 0 || limits[axis] > from.shape[axis] || starts[axis] > limits[axis] ||
            steps[axis] < 1)
            fail(at, "lies outside its operand");
    // A step beyond the end takes the first element alone, as one to the end does.
    for (std::size_t axis = 0; axis < starts.size(); ++axis)
        steps[axis] = std::min(steps[axis], std::max<std::int64_t>(1, limits[axis] - starts[axis]));
    if (from.kind == Value::Kind::number) return from.filling(at.shape.dimensions);
    if (is_pending(from)) {
        Value result = from;
        result.shape = at.shape.dimensions;
        for (View& view : result.inputs) view = view.sliced(starts, limits, steps);
        return result;
    }
    return Value::of(written(from, at.name).sliced(starts, limits, steps));
}

Value Converter::reverse(const Instruction& at, Value& from) {
    if (from.kind == Value::Kind::number) return from;
    return Value::of(written(from, at.name).reversed(list(at, "dimensions")));
}

View Converter::forwards(const Instruction& at, View view) {
    for (std::size_t axis = 0; axis < view.shape.size(); ++axis) {
        if (view.strides[axis] >= 0) continue;
        const View source = view.reversed({static_cast<std::int64_t>(axis)});
        const View index = writer_.emit_one(
            label(at), OpKind::fill, {},
            {{keys::fill.value, static_cast<double>(view.shape[axis] - 1)}, {keys::fill.step, -1.0}},
            {trace::ElementType::i32, {view.shape[axis]}});
        view = writer_.emit_one(label(at), OpKind::gather,
                                {writer_.densely(label(at), forwards(at, source)), index},
                                {{keys::gather.axis, axis}}, {view.type, view.shape});
    }
    return view;
}

Value Converter::pad(const Instruction& at, Operands& operands) {
    if (operands.size() != 2 || operands[1].kind != Value::Kind::number)
        return unknown(at, operands, "pads with what is not a constant");
    const std::size_t axes = operands[0].shape.size();
    Dimensions low = list(at, "low"), high = list(at, "high"), interior = list(at, "interior");
    if (const std::string all = text(at, "padding"); !all.empty()) {  // HLO: 0_1x2_3_1
        std::string part;
        for (const char c : all + "x") {
            if (c != 'x') {
                part += c;
                continue;
            }
            const Dimensions numbers = numbers_of(part);
            if (numbers.size() < 2) fail(at, "has a padding that is not low_high");
            low.push_back(numbers[0]);
            high.push_back(numbers[1]);
            interior.push_back(numbers.size() > 2 ? numbers[2] : 0);
            part.clear();
        }
    }
    interior.resize(axes, 0);
    if (low.size() != axes || high.size() != axes) fail(at, "does not pad every dimension");
    for (std::size_t axis = 0; axis < axes; ++axis) {
        // Elements that are added or cut off are at most as many as a tensor has.
        const auto possible = [](std::int64_t count) {
            return count >= -gates::kMostElements && count <= gates::kMostElements;
        };
        const auto between =
            checked_product(std::max<std::int64_t>(0, operands[0].shape[axis] - 1), interior[axis]);
        if (interior[axis] < 0 || !between || !possible(*between) || !possible(low[axis]) ||
            !possible(high[axis]) ||
            low[axis] + operands[0].shape[axis] + *between + high[axis] != at.shape.dimensions.at(axis))
            fail(at, "gives another size than its type says along dimension " + std::to_string(axis));
    }
    const double value = operands[1].number;
    if (operands[0].kind == Value::Kind::number) {
        coming_.decide(operands[0]);
        coming_.decide(operands[1]);
        if (operands[0].number == value) return Value::of(value, at.shape.type, at.shape.dimensions);
    }
    bool grows = false, shrinks = false;
    for (std::size_t axis = 0; axis < axes; ++axis) {
        grows = grows || low[axis] > 0 || high[axis] > 0 || interior[axis] > 0;
        shrinks = shrinks || low[axis] < 0 || high[axis] < 0;
    }
    if (!grows && !shrinks) return operands[0];
    View source = written(operands[0], at.name);
    if (shrinks) {
        Dimensions starts(axes), limits = source.shape;
        for (std::size_t axis = 0; axis < axes; ++axis) {
            if (interior[axis] != 0 && (low[axis] < 0 || high[axis] < 0))
                return unknown(at, operands, "cuts off between elements");
            starts[axis] = std::max<std::int64_t>(0, -low[axis]);
            limits[axis] -= std::max<std::int64_t>(0, -high[axis]);
            low[axis] = std::max<std::int64_t>(0, low[axis]);
        }
        source = source.sliced(starts, limits, Dimensions(axes, 1));
        if (!grows) return Value::of(source);
    }
    if (std::all_of(interior.begin(), interior.end(), [](std::int64_t i) { return i == 0; }))
        return Value::of(bordered(at, source, low, value));
    const View whole = writer_.emit_one(label(at), OpKind::fill, {}, {{keys::fill.value, value}},
                                        {at.shape.type, at.shape.dimensions});
    Dimensions limits(axes), steps(axes);
    for (std::size_t axis = 0; axis < axes; ++axis) {
        steps[axis] = interior[axis] + 1;
        limits[axis] = low[axis] + (source.shape[axis] - 1) * steps[axis] + 1;
    }
    writer_.write_into(label(at), whole.sliced(low, limits, steps), "y0 = x0", {forwards(at, source)});
    return Value::of(whole);
}

/// One axis after the other, from the last on: what lies before, the tensor, what lies behind.
View Converter::bordered(const Instruction& at, View view, const Dimensions& low, double value) {
    for (std::size_t axis = view.shape.size(); axis-- > 0;) {
        Dimensions shape = view.shape, border = view.shape;
        shape[axis] = at.shape.dimensions.at(axis);
        const std::int64_t before = low[axis], behind = shape[axis] - before - view.shape[axis];
        if (before == 0 && behind == 0) continue;
        std::vector<View> parts;
        const auto fill = [&](std::int64_t extent) {
            border[axis] = extent;
            if (extent > 0)
                parts.push_back(writer_.emit_one(label(at), OpKind::fill, {}, {{keys::fill.value, value}},
                                                 {view.type, border}));
        };
        fill(before);
        parts.push_back(writer_.densely(label(at), forwards(at, view)));
        fill(behind);
        view = writer_.emit_one(label(at), OpKind::concat, parts, {{keys::concat.axis, axis}},
                                {view.type, shape});
    }
    return view;
}

Value Converter::concatenate(const Instruction& at, Operands& operands) {
    const Dimensions given = list(at, "dimensions"), &shape = at.shape.dimensions;
    const std::size_t axis = given.empty() ? 0 : static_cast<std::size_t>(given[0]);
    if (axis >= shape.size()) fail(at, "joins along a dimension that it has not");
    std::vector<View> views;
    for (Value& value : operands) views.push_back(densely(at, value));
    return Value::of(writer_.emit_one(label(at), OpKind::concat, views, {{keys::concat.axis, axis}},
                                      {at.shape.type, shape}));
}

namespace {

/// Starts of a slice, moved inside as XLA does; `open`: the axis whose start is not a number, or none.
struct Starts {
    Dimensions numbers;
    std::vector<std::size_t> open;
};

Starts starts_of(const std::vector<Value>& operands, std::size_t first, const Dimensions& of,
                 const Dimensions& sizes, ComingTurns& coming) {
    Starts starts{Dimensions(of.size(), 0), {}};
    for (std::size_t axis = 0; axis < of.size(); ++axis) {
        const std::int64_t room = of[axis] - sizes.at(axis);
        const Value& value = operands.at(first + axis);
        if (value.kind == Value::Kind::number) {
            // Room is an integer that a double holds: of at most 2^44 elements.
            if (value.number > 0)
                starts.numbers[axis] =
                    value.number < static_cast<double>(room) ? static_cast<std::int64_t>(value.number) : room;
            coming.decide(value.number, value.steps, [](double start) { return start >= 0; });
            coming.decide(value.number - static_cast<double>(room), value.steps,
                          [](double beyond) { return beyond <= 0; });
        } else if (room > 0) {
            starts.open.push_back(axis);
        }
    }
    return starts;
}

Dimensions sum(Dimensions a, const Dimensions& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b.at(i);
    return a;
}

}  // namespace

/// Starts are single numbers, and a slice is no larger than what it is a slice of.
void Converter::check_starts(const Instruction& at, const Operands& operands, std::size_t first,
                             const Dimensions& shape, const Dimensions& sizes) const {
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
        if (count_of(operands[first + axis].shape) != 1) fail(at, "has a start that is not a single number");
        if (sizes[axis] > shape[axis])
            fail(at, "takes " + std::to_string(sizes[axis]) + " of " + std::to_string(shape[axis]));
    }
}

Value Converter::dynamic_slice(const Instruction& at, Operands& operands) {
    const Dimensions& sizes = at.shape.dimensions;
    if (operands.size() != 1 + sizes.size() || operands[0].shape.size() != sizes.size())
        fail(at, "does not give a start for every dimension");
    check_starts(at, operands, 1, operands[0].shape, sizes);
    if (operands[0].kind == Value::Kind::number) return operands[0].filling(sizes);
    const Starts starts = starts_of(operands, 1, operands[0].shape, sizes, coming_);
    Dimensions from = starts.numbers, to = sum(starts.numbers, sizes);
    if (starts.open.empty())
        return Value::of(written(operands[0], at.name).sliced(from, to, Dimensions(sizes.size(), 1)));
    if (starts.open.size() > 1 || sizes[starts.open[0]] != 1)
        return unknown(at, operands, "where it starts depends on data");
    const std::size_t axis = starts.open[0];
    to[axis] = operands[0].shape[axis];
    const View source = written(operands[0], at.name).sliced(from, to, Dimensions(sizes.size(), 1));
    const View index = writer_.reshaped(label(at), densely(at, operands[1 + axis]), {1});
    return Value::of(writer_.emit_one(label(at), OpKind::gather, {writer_.densely(label(at), source), index},
                                      {{keys::gather.axis, axis}}, {at.shape.type, sizes}));
}

Value Converter::dynamic_update_slice(const Instruction& at, Operands& operands) {
    if (operands.size() < 2 || operands.size() != 2 + operands[0].shape.size() ||
        operands[1].shape.size() != operands[0].shape.size())
        fail(at, "does not give a start for every dimension");
    Value& update = operands[1];
    const Dimensions shape = operands[0].shape, sizes = update.shape;
    check_starts(at, operands, 2, shape, sizes);
    if (sizes == shape) return update;
    const Starts starts = starts_of(operands, 2, shape, sizes, coming_);
    if (!starts.open.empty()) {
        const std::size_t axis = starts.open[0];
        Dimensions one = shape;
        one[axis] = 1;
        if (starts.open.size() > 1 || sizes != one)
            return unknown(at, operands, "where it starts depends on data");
        const View index = writer_.reshaped(label(at), densely(at, operands[2 + axis]), {1});
        return Value::of(writer_.emit_one(
            label(at), OpKind::scatter, {densely(at, operands[0]), index, densely(at, update)},
            {{keys::scatter.axis, axis}, {keys::scatter.accumulate, 0}}, {at.shape.type, shape}));
    }
    View base = written(operands[0], at.name);
    if (!writer_.is_whole(base) || writer_.role(base) == trace::TensorRole::input)
        base = writer_.emit_one(label(at), OpKind::elementwise, {forwards(at, base)},
                                {{keys::elementwise.expression, "y0 = x0"}}, {at.shape.type, shape});
    if (update.kind == Value::Kind::pending && update.product) written(update, at.name);
    const View present = writer_.overwritten(base);
    const View place =
        present.sliced(starts.numbers, sum(starts.numbers, sizes), Dimensions(shape.size(), 1));
    if (update.kind == Value::Kind::number) {
        writer_.fill_into(label(at), place, update.number);
    } else if (update.kind == Value::Kind::pending) {
        writer_.write_into(label(at), place, "y0 = " + update.text, update.inputs);
    } else {
        writer_.write_into(label(at), place, "y0 = x0", {forwards(at, update.view)});
    }
    return Value::of(present);
}

}  // namespace heddle::hlo
