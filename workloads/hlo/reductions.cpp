// Reductions over whole axes, and lookups by index.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "isa/common/checked.h"
#include "workloads/hlo/converter.h"
#include "workloads/hlo/text.h"

namespace heddle::hlo {

using trace::OpKind;

std::string Converter::applied(const Instruction& at, const std::string& key) const {
    if (std::string short_form = text(at, "applies"); !short_form.empty()) return short_form;
    std::string applied;
    for (const Instruction& instruction : computation_of(at, key).instructions)
        if (instruction.opcode != "parameter") applied = applied.empty() ? instruction.opcode : "more";
    return applied;
}

namespace {

struct Reduction {
    const char* name;     ///< of OpKind::reduce
    double neutral;       ///< what it begins with
    const char* pattern;  ///< to begin with something else
};

const Reduction* reduction_named(const std::string& name) {
    static const std::map<std::string, Reduction> all{{"add", {"sum", 0, "($0 + $1)"}},
                                                      {"maximum", {"max", -INFINITY, "max($0, $1)"}},
                                                      {"minimum", {"min", INFINITY, "min($0, $1)"}},
                                                      {"or", {"max", 0, "max($0, $1)"}},
                                                      {"and", {"min", 1, "min($0, $1)"}}};
    const auto found = all.find(name);
    return found == all.end() ? nullptr : &found->second;
}

}  // namespace

Value Converter::reduce(const Instruction& at, Operands& operands) {
    if (at.shape.tuple || operands.size() != 2) return unknown(at, operands, "several results");
    const Reduction* reduction = reduction_named(applied(at, "to_apply"));
    if (reduction == nullptr) return unknown(at, operands, "not a sum, maximum or minimum");
    const Dimensions axes = list(at, "dimensions");
    Value& from = operands[0];
    std::int64_t reduced = 1;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        if (std::find(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(i), axes[i]) !=
            axes.begin() + static_cast<std::ptrdiff_t>(i))
            fail(at, "names a dimension twice");
        reduced *= from.shape.at(static_cast<std::size_t>(axes[i]));
    }
    Value result;
    if (reduced == 1) {
        result = reshape(at, from, at.shape.dimensions);
    } else {
        TraceWriter::Attributes attributes{{keys::reduce.reduction, std::string(reduction->name)},
                                           {keys::reduce.axes, axes}};
        // An expression is reduced as it is computed, from one input that is read once.
        const bool fused = from.kind == Value::Kind::pending && !from.product && from.inputs.size() == 1 &&
                           from.inputs[0].is_dense();
        if (fused) attributes.set(keys::reduce.expression, "y0 = " + from.text);
        const std::vector<View> inputs = fused ? from.inputs : std::vector<View>{densely(at, from)};
        result = Value::of(writer_.emit_one(label(at), OpKind::reduce, inputs, std::move(attributes),
                                            {at.shape.type, at.shape.dimensions}));
    }
    coming_.decide(operands[1]);
    if (operands[1].kind == Value::Kind::number && operands[1].number == reduction->neutral) return result;
    if (operands[1].kind == Value::Kind::number && operands[1].number < 0 &&
        reduction->neutral == -INFINITY && operands[1].number <= -3e38)
        return result;  // the lowest number there is
    Value start = operands[1];
    if (start.kind == Value::Kind::number) {
        start.shape = at.shape.dimensions;
    } else {
        start = Value::of(written(start, at.name).broadcast({}, at.shape.dimensions));
    }
    Operands both{result, start};
    return apply(at, reduction->pattern, both);
}

/// One dense tensor of positions for each coordinate.
std::vector<View> Converter::index_tensors(const Instruction& at, Value& indices, std::int64_t vector_axis,
                                           std::size_t coordinates) {
    View view = forwards(at, written(indices, at.name));
    std::vector<View> result;
    if (vector_axis >= static_cast<std::int64_t>(view.shape.size()))
        return {writer_.densely(label(at), view)};
    const auto axis = static_cast<std::size_t>(vector_axis);
    for (std::size_t i = 0; i < coordinates; ++i) {
        Dimensions starts(view.shape.size(), 0), limits = view.shape;
        starts[axis] = static_cast<std::int64_t>(i);
        limits[axis] = starts[axis] + 1;
        const View one =
            writer_.densely(label(at), view.sliced(starts, limits, Dimensions(view.shape.size(), 1)));
        Dimensions shape = view.shape;
        shape.erase(shape.begin() + vector_axis);
        result.push_back(writer_.reshaped(label(at), one, shape));
    }
    return result;
}

/// Indices along the last axis of a table, as coordinates of a matrix: the table, the row of each index, the
/// index.
std::vector<View> Converter::with_rows(const Instruction& at, const View& table, const View& indices) {
    const std::int64_t columns = table.shape.back(), elements = count_of(table.shape);
    const std::int64_t rows = columns > 0 ? elements / columns : 0, positions = count_of(indices.shape);
    if (rows == 0 || positions % rows != 0)
        fail(at, "has " + std::to_string(positions) + " indices for " + std::to_string(rows) + " rows");
    Instruction counting = at;
    counting.attributes["iota_dimension"] = "0";
    counting.shape.type = indices.type;
    counting.shape.dimensions = {rows, positions / rows};
    Value row = iota(counting);
    return {writer_.reshaped(label(at), table, {rows, columns}),
            writer_.reshaped(label(at), densely(at, row), {positions}),
            writer_.reshaped(label(at), indices, {positions})};
}

namespace {

/// a, a + 1, ..., a + n - 1.
bool is_run(const Dimensions& axes) {
    for (std::size_t i = 1; i < axes.size(); ++i)
        if (axes[i] != axes[i - 1] + 1) return false;
    return !axes.empty();
}

bool contains(const Dimensions& axes, std::int64_t axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// Whether the axes, but for those of one element, are the last ones.
bool are_last(Dimensions axes, const Dimensions& shape) {
    axes.erase(
        std::remove_if(axes.begin(), axes.end(),
                       [&](std::int64_t axis) { return shape.at(static_cast<std::size_t>(axis)) == 1; }),
        axes.end());
    return axes.empty() || (is_run(axes) && static_cast<std::size_t>(axes.back()) + 1 == shape.size());
}

/// One index per row along the last axis, as jnp.take_along_axis: `batch` are all axes before it.
bool is_along_last(const Dimensions& batch, const Dimensions& map, std::size_t axes) {
    if (map != Dimensions{static_cast<std::int64_t>(axes) - 1} || batch.size() + 1 != axes) return false;
    return batch.empty() || (batch[0] == 0 && is_run(batch));
}

}  // namespace

Value Converter::gather(const Instruction& at, Operands& operands) {
    if (operands.size() != 2) return unknown(at, operands);
    const Dimensions map = list(at, "start_index_map"), sizes = list(at, "slice_sizes"),
                     batch = list(at, "operand_batching_dims"), &table_shape = operands[0].shape;
    const Dimensions vector_axis = list(at, "index_vector_dim");
    if (sizes.size() != table_shape.size() || vector_axis.size() != 1 || !is_run(map))
        return unknown(at, operands, "of a form that is not read");
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
        const auto which = static_cast<std::int64_t>(axis);
        const bool single = contains(map, which) || contains(batch, which);
        if (sizes[axis] != (single ? 1 : table_shape[axis]))
            return unknown(at, operands, "of pieces of rows");
    }
    const TraceWriter::Result result{at.shape.type, at.shape.dimensions};
    const View table = densely(at, operands[0]);
    std::vector<View> inputs = index_tensors(at, operands[1], vector_axis[0], map.size());
    if (!batch.empty()) {
        const bool fits = is_along_last(batch, map, table.shape.size()) &&
                          list(at, "start_indices_batching_dims") == batch && inputs.size() == 1;
        if (!fits) return unknown(at, operands, "of rows that are not in order");
        const std::vector<View> both = with_rows(at, table, inputs[0]);
        return Value::of(writer_.emit_one(label(at), OpKind::gather, both, {{keys::gather.axis, 0}}, result));
    }
    // What is left of the table comes behind the indices, unless those are the last axes.
    const bool rows_first = map[0] == 0 && are_last(list(at, "offset_dims"), at.shape.dimensions);
    if (!rows_first) return unknown(at, operands, "along an axis that is not the first");
    inputs.insert(inputs.begin(), table);
    const bool embedding = table.shape.size() == 2 && inputs.size() == 2;
    return Value::of(writer_.emit_one(
        label(at), embedding ? OpKind::embedding : OpKind::gather, inputs,
        embedding ? TraceWriter::Attributes{} : TraceWriter::Attributes{{keys::gather.axis, 0}}, result));
}

Value Converter::scatter(const Instruction& at, Operands& operands) {
    if (operands.size() != 3 || at.shape.tuple) return unknown(at, operands, "several results");
    const std::string body = applied(at, "to_apply");
    if (body != "add" && !body.empty()) return unknown(at, operands, "neither adds nor overwrites");
    const Dimensions map = list(at, "scatter_dims_to_operand_dims"), batch = list(at, "input_batching_dims"),
                     vector_axis = list(at, "index_vector_dim"), window = list(at, "update_window_dims");
    if (vector_axis.size() != 1 || !is_run(map)) return unknown(at, operands, "of a form that is not read");
    const TraceWriter::Result result{at.shape.type, at.shape.dimensions};
    const std::size_t axes = operands[0].shape.size();
    TraceWriter::Attributes attributes{{keys::scatter.axis, map[0]},
                                       {keys::scatter.accumulate, body == "add"}};
    std::vector<View> inputs = index_tensors(at, operands[1], vector_axis[0], map.size());
    const std::int64_t positions = count_of(inputs[0].shape);
    const View updates = densely(at, operands[2]);
    if (!batch.empty()) {
        if (!is_along_last(batch, map, axes) || inputs.size() != 1)
            return unknown(at, operands, "of rows that are not in order");
        return scatter_along(at, operands[0], inputs[0], updates, body == "add");
    }
    // Updates are [positions..., rest of a row...].
    std::int64_t row = 1;
    for (std::size_t axis = map.size(); axis < axes; ++axis) row *= operands[0].shape[axis];
    const bool rows_last = are_last(window, updates.shape);
    if (map[0] != 0 || !rows_last || checked_product(positions, row) != count_of(updates.shape))
        return unknown(at, operands, "of pieces of rows");
    coming_.decide(operands[0]);
    if (operands[0].kind == Value::Kind::number && operands[0].number == 0 && body == "add" && axes == 2 &&
        inputs.size() == 1)
        return Value::of(writer_.emit_one(label(at), OpKind::embedding_grad,
                                          {writer_.reshaped(label(at), updates, {positions, row}),
                                           writer_.reshaped(label(at), inputs[0], {positions})},
                                          {}, result));
    inputs.insert(inputs.begin(), densely(at, operands[0]));
    inputs.push_back(updates);
    return Value::of(writer_.emit_one(label(at), OpKind::scatter, inputs, std::move(attributes), result));
}

/// Into places along the last axis.
Value Converter::scatter_along(const Instruction& at, Value& base, const View& indices, const View& updates,
                               bool adds) {
    const Dimensions shape = base.shape;
    const std::int64_t positions = count_of(indices.shape);
    if (count_of(updates.shape) != positions)
        fail(at, "has " + std::to_string(count_of(updates.shape)) + " updates for " +
                     std::to_string(positions) + " indices");
    coming_.decide(base);
    if (base.kind == Value::Kind::number && checked_product(positions, shape.back()) == count_of(shape)) {
        // One place of each row of a constant: a comparison with its number.
        const std::size_t axes = shape.size();
        Instruction counting = at;
        counting.attributes["iota_dimension"] = std::to_string(axes - 1);
        counting.shape.type = indices.type;
        counting.shape.dimensions = shape;
        Dimensions column = shape, order(axes);
        column.back() = 1;
        std::iota(order.begin(), order.end(), 0);
        Operands parts{iota(counting),
                       Value::of(writer_.reshaped(label(at), indices, column).broadcast(order, shape)),
                       Value::of(writer_.reshaped(label(at), updates, column).broadcast(order, shape))};
        const std::string number = number_text(base.number);
        return apply(
            at,
            adds ? "($0 == $1 ? $2 + " + number + " : " + number + ")" : "($0 == $1 ? $2 : " + number + ")",
            parts);
    }
    std::vector<View> inputs = with_rows(at, densely(at, base), indices);
    const Dimensions matrix = inputs[0].shape;
    inputs.push_back(writer_.reshaped(label(at), updates, {positions}));
    const View result = writer_.emit_one(label(at), OpKind::scatter, inputs,
                                         {{keys::scatter.axis, 0}, {keys::scatter.accumulate, adds}},
                                         {at.shape.type, matrix});
    return Value::of(writer_.reshaped(label(at), result, shape));
}

}  // namespace heddle::hlo
