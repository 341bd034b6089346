// Convolutions and reductions over windows. XLA has one convolution, which slides one operand over the other;
// what a forward pass and its two gradients make of it is told apart here, since a device does each in its
// own way.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "isa/common/checked.h"
#include "workloads/hlo/converter.h"
#include "workloads/hlo/text.h"

namespace heddle::hlo {

using trace::OpKind;

namespace {

/// "0_1x2" -> {{0, 1}, {2}}
std::vector<Dimensions> fields_of(const std::string& text) {
    std::vector<Dimensions> fields;
    std::string part;
    for (const char c : text + "x") {
        if (c != 'x') {
            part += c;
            continue;
        }
        fields.push_back(numbers_of(part));
        part.clear();
    }
    return fields;
}

Dimensions inverse(const Dimensions& axes) {
    Dimensions result(axes.size());
    for (std::size_t i = 0; i < axes.size(); ++i)
        result.at(static_cast<std::size_t>(axes[i])) = static_cast<std::int64_t>(i);
    return result;
}

bool all(const Dimensions& numbers, std::int64_t value) {
    return std::all_of(numbers.begin(), numbers.end(), [&](std::int64_t n) { return n == value; });
}

Dimensions extents(const Dimensions& shape, const Dimensions& axes) {
    Dimensions result;
    for (const std::int64_t axis : axes) result.push_back(shape.at(static_cast<std::size_t>(axis)));
    return result;
}

/// Where the letters of "b01f" stand: the two named ones, then 0, 1, ...
struct Axes {
    std::int64_t first = -1, second = -1;
    Dimensions space;

    Axes(const std::string& labels, char first_name, char second_name) : space(labels.size() - 2, -1) {
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const auto place = static_cast<std::int64_t>(i);
            if (labels[i] == first_name) {
                first = place;
            } else if (labels[i] == second_name) {
                second = place;
            } else {
                space.at(static_cast<std::size_t>(labels[i] - '0')) = place;
            }
        }
    }
    bool complete() const {
        return first >= 0 && second >= 0 &&
               std::none_of(space.begin(), space.end(), [](auto a) { return a < 0; });
    }
    /// `outer`, space, `inner`: as nhwc wants it.
    Dimensions order(std::int64_t outer, std::int64_t inner) const {
        Dimensions result{outer};
        result.insert(result.end(), space.begin(), space.end());
        result.push_back(inner);
        return result;
    }
};

/// A convolution of the trace, forward or a gradient: all of it as the forward pass has it.
struct Sliding {
    Dimensions strides, dilation, low, high;

    /// Padding at the end so that `input` gives `output`; nothing when none does.
    bool fit(const Dimensions& input, const Dimensions& window, const Dimensions& output) {
        high.clear();
        for (std::size_t i = 0; i < input.size(); ++i) {
            const std::int64_t reach = dilation[i] * (window[i] - 1) + 1;
            const std::int64_t wanted = (output[i] - 1) * strides[i] + reach - input[i] - low[i];
            high.push_back(std::max<std::int64_t>(0, wanted));
            if (low[i] < 0 || (input[i] + low[i] + high[i] - reach) / strides[i] + 1 != output[i])
                return false;
        }
        return true;
    }
    TraceWriter::Attributes attributes(std::int64_t groups) const {
        Dimensions padding;
        for (std::size_t i = 0; i < low.size(); ++i) {
            padding.push_back(low[i]);
            padding.push_back(high[i]);
        }
        return {{keys::convolution.layout, "nhwc"},
                {keys::convolution.strides, strides},
                {keys::convolution.dilation, dilation},
                {keys::convolution.padding, padding},
                {keys::convolution.groups, groups}};
    }
};

}  // namespace

Window Converter::window(const Instruction& at, std::size_t axes) const {
    Window result{Dimensions(axes, 1), Dimensions(axes, 1), Dimensions(axes, 0), Dimensions(axes, 0),
                  Dimensions(axes, 1), Dimensions(axes, 1), Dimensions(axes, 0)};
    std::string word;
    for (const char c : text(at, "window") + " ") {
        if (c != ' ') {
            word += c;
            continue;
        }
        const std::size_t equals = word.find('=');
        if (equals != std::string::npos) {
            const std::string key = word.substr(0, equals);
            const std::vector<Dimensions> fields = fields_of(word.substr(equals + 1));
            if (fields.size() != axes) fail(at, "has a window of another number of axes");
            for (std::size_t i = 0; i < axes; ++i) {
                if (fields[i].empty()) fail(at, "has a window that is not a list of numbers");
                if (key == "size") result.size[i] = fields[i][0];
                if (key == "stride") result.stride[i] = fields[i][0];
                if (key == "lhs_dilate") result.base_dilation[i] = fields[i][0];
                if (key == "rhs_dilate") result.window_dilation[i] = fields[i][0];
                if (key == "pad") result.low[i] = fields[i][0], result.high[i] = fields[i].back();
                if (key == "rhs_reversal") result.reversed[i] = fields[i][0];
            }
        }
        word.clear();
    }
    check_window(at, result);
    return result;
}

Value Converter::convolution(const Instruction& at, Operands& operands) {
    const std::string labels = text(at, "dim_labels");
    const std::size_t under = labels.find('_'), arrow = labels.find("->");
    const std::size_t rank = at.shape.dimensions.size();
    if (operands.size() != 2 || under != rank || arrow != 2 * rank + 1 || labels.size() != 3 * rank + 3 ||
        rank < 3)
        return unknown(at, operands, "of a form that is not read");
    const Axes left(labels.substr(0, rank), 'b', 'f'), right(labels.substr(rank + 1, rank), 'o', 'i'),
        out(labels.substr(arrow + 2), 'b', 'f');
    if (!left.complete() || !right.complete() || !out.complete())
        fail(at, "has labels that do not name each axis");
    const Window slide = window(at, rank - 2);
    const Dimensions groups = list(at, "feature_group_count"), batch_groups = list(at, "batch_group_count");
    const std::int64_t group_count = groups.empty() ? 1 : groups[0];
    if (!batch_groups.empty() && batch_groups[0] != 1) return unknown(at, operands, "batches in groups");
    const View a = forwards(at, written(operands[0], at.name));
    View b = written(operands[1], at.name);
    for (std::size_t i = 0; i < right.space.size(); ++i)
        if (slide.reversed[i] != 0) b = b.reversed({right.space[i]});
    const Dimensions a_space = extents(a.shape, left.space), b_space = extents(b.shape, right.space),
                     y_space = extents(at.shape.dimensions, out.space);
    check_convolution(at, slide, a_space, b_space, y_space);
    const auto extent = [](const Dimensions& shape, std::int64_t axis) {
        return shape.at(static_cast<std::size_t>(axis));
    };
    if (group_count < 1 ||
        checked_product(group_count, extent(b.shape, right.second)) != extent(a.shape, left.second))
        fail(at, "has a window of " + std::to_string(extent(b.shape, right.second)) +
                     " channels in each group, and its operand has " +
                     std::to_string(extent(a.shape, left.second)));
    Dimensions turned_axes;
    for (const std::int64_t axis : right.space)
        if (b.strides.at(static_cast<std::size_t>(axis)) < 0) turned_axes.push_back(axis);
    const TraceWriter::Label name = label(at);
    const auto placed = [&](const View& result, const Dimensions& order) {
        return Value::of(result.transposed(inverse(order)));
    };
    const auto shaped = [&](const Dimensions& order) {
        return TraceWriter::Result{at.shape.type, extents(at.shape.dimensions, order)};
    };

    const bool spread = !all(slide.base_dilation, 1);
    if (spread || !turned_axes.empty()) {
        // The gradient of the data: dy, spread out by the strides, over the reversed window.
        if (!all(slide.stride, 1) || group_count != 1)
            return unknown(at, operands, "strides over spread elements");
        Dimensions missing;
        for (const std::int64_t axis : right.space)
            if (std::find(turned_axes.begin(), turned_axes.end(), axis) == turned_axes.end())
                missing.push_back(axis);
        b = forwards(at, b.reversed(turned_axes).reversed(missing));
        Sliding forward{slide.base_dilation, slide.window_dilation, {}, {}};
        for (std::size_t i = 0; i < b_space.size(); ++i)
            forward.low.push_back(forward.dilation[i] * (b_space[i] - 1) - slide.low[i]);
        if (!forward.fit(y_space, b_space, a_space))
            return unknown(at, operands, "pads more than a gradient does");
        // Filters of the forward pass are what this one sums over.
        forward.low.resize(b_space.size());
        const Dimensions order = out.order(out.first, out.second);
        return placed(
            writer_.emit_one(name, OpKind::convolution_data_grad,
                             {writer_.densely(name, a.transposed(left.order(left.first, left.second))),
                              writer_.densely(name, b.transposed(right.order(right.second, right.first)))},
                             forward.attributes(1), shaped(order)),
            order);
    }
    if (count_of(b_space) > count_of(y_space) && group_count == 1) {
        // The gradient of the weights: a window as large as dy; channels play the part of the batch.
        Sliding forward{slide.window_dilation, slide.stride, slide.low, {}};
        if (forward.fit(a_space, y_space, b_space)) {
            const Dimensions order = out.order(out.second, out.first);
            return placed(
                writer_.emit_one(name, OpKind::convolution_weight_grad,
                                 {writer_.densely(name, b.transposed(right.order(right.second, right.first))),
                                  writer_.densely(name, a.transposed(left.order(left.second, left.first)))},
                                 forward.attributes(1), shaped(order)),
                order);
        }
    }
    Sliding forward{slide.stride, slide.window_dilation, slide.low, {}};
    if (!forward.fit(a_space, b_space, y_space)) return unknown(at, operands, "pads with less than nothing");
    const Dimensions order = out.order(out.first, out.second);
    return placed(
        writer_.emit_one(name, OpKind::convolution,
                         {writer_.densely(name, a.transposed(left.order(left.first, left.second))),
                          writer_.densely(name, b.transposed(right.order(right.first, right.second)))},
                         forward.attributes(group_count), shaped(order)),
        order);
}

namespace {

/// Of whole numbers, as an expression.
std::string remainder(const std::string& number, const std::string& divisor) {
    return "(" + number + " - " + divisor + " * floor(" + number + " / " + divisor + "))";
}

/// A window over spatial axes that lie side by side, seen as nhwc.
struct Pool {
    Dimensions order;  ///< axes as nhwc; empty when it does not fit
    TraceWriter::Attributes attributes;
    std::int64_t positions = 1;
    bool fits = false;

    Pool(const Window& window, bool maximum) {
        const std::size_t axes = window.size.size();
        Dimensions space, rest, sizes, strides, padding, dilation;
        for (std::size_t axis = 0; axis < axes; ++axis) {
            const bool slides = window.size[axis] != 1 || window.stride[axis] != 1 || window.low[axis] != 0 ||
                                window.high[axis] != 0;
            (slides ? space : rest).push_back(static_cast<std::int64_t>(axis));
        }
        while (rest.size() > 2) {  // a window of one element still slides
            space.push_back(rest[1]);
            rest.erase(rest.begin() + 1);
        }
        std::sort(space.begin(), space.end());
        bool countable = true;
        for (const std::int64_t which : space) {
            const auto axis = static_cast<std::size_t>(which);
            sizes.push_back(window.size[axis]);
            strides.push_back(window.stride[axis]);
            dilation.push_back(window.window_dilation[axis]);
            padding.push_back(window.low[axis]);
            padding.push_back(window.high[axis]);
            const auto count = checked_product(positions, window.size[axis]);
            countable = countable && count && *count <= gates::kMostElements;
            if (countable) positions = *count;
        }
        fits = countable && rest.size() == 2 && !space.empty() && space.size() <= 3 &&
               all(window.base_dilation, 1) &&
               std::none_of(padding.begin(), padding.end(), [](std::int64_t p) { return p < 0; });
        if (!fits) return;
        order = {rest[0]};
        order.insert(order.end(), space.begin(), space.end());
        order.push_back(rest[1]);
        attributes = {{keys::pooling.pooling, maximum ? "max" : "mean"},
                      {keys::pooling.layout, "nhwc"},
                      {keys::pooling.window, sizes},
                      {keys::pooling.strides, strides},
                      {keys::pooling.dilation, dilation},
                      {keys::pooling.padding, padding}};
    }
};

}  // namespace

Value Converter::reduce_window(const Instruction& at, Operands& operands) {
    if (operands.size() != 2) return maximum_with_position(at, operands);
    if (at.shape.tuple || operands[1].kind != Value::Kind::number)
        return unknown(at, operands, "begins with data");
    coming_.decide(operands[1]);
    const std::string body = applied(at, "to_apply");
    const bool maximum = body == "maximum";
    const double start = operands[1].number;
    Window slide = window(at, operands[0].shape.size());
    View x = forwards(at, written(operands[0], at.name));
    Dimensions result_shape = at.shape.dimensions;
    for (Pool flat(slide, maximum); flat.order.empty() && slide.size.size() < 3;
         flat = Pool(slide, maximum)) {
        // Vectors and matrices get a channel, and a batch, of one.
        for (Dimensions* list : {&slide.size, &slide.stride, &slide.base_dilation, &slide.window_dilation})
            list->push_back(1);
        for (Dimensions* list : {&slide.low, &slide.high, &slide.reversed}) list->push_back(0);
        x.shape.push_back(1);
        x.strides.push_back(1);
        result_shape.push_back(1);
    }
    const Pool pool(slide, maximum);
    const bool neutral = maximum ? start <= -3e38 : start == 0;
    if ((!maximum && body != "add") || !neutral || !pool.fits)
        return unknown(at, operands, "neither a maximum nor a sum over windows of one to three axes");
    const View y =
        writer_.emit_one(label(at), OpKind::pooling, {writer_.densely(label(at), x.transposed(pool.order))},
                         pool.attributes, {at.shape.type, extents(result_shape, pool.order)});
    const View turned = y.transposed(inverse(pool.order));
    Operands result{Value::of(writer_.reshaped(label(at), turned, at.shape.dimensions))};
    if (maximum) return result[0];
    // A sum is the mean times as many.
    return apply(at, "($0 * " + std::to_string(pool.positions) + ")", result);
}

/// x and its coordinates, of which those of the maximum are wanted: how XLA writes out select-and-scatter for
/// a CPU.
Value Converter::maximum_with_position(const Instruction& at, Operands& operands) {
    const std::size_t axes = operands[0].shape.size();
    const auto is_coordinate = [&](const Value& value, std::size_t axis) {
        if (value.kind != Value::Kind::view || value.view.offset != 0) return false;
        for (std::size_t i = 0; i < axes; ++i)
            if (value.view.shape[i] != 1 && value.view.strides[i] != (i == axis ? 1 : 0)) return false;
        return std::any_of(ranges_.begin(), ranges_.end(),
                           [&](const auto& range) { return range.second.tensor == value.view.tensor; });
    };
    bool fits = operands.size() == 2 * (axes + 1) && at.shape.tuple && at.shape.elements.size() == axes + 1;
    for (std::size_t axis = 0; fits && axis < axes; ++axis) fits = is_coordinate(operands[axis + 1], axis);
    bool compares = false;
    for (const Instruction& inner : computation_of(at, "to_apply").instructions)
        compares =
            compares || (inner.opcode == "compare" && text(inner, "direction").compare(0, 1, "G") == 0);
    if (!fits || !compares) return unknown(at, operands, "several results");
    const Pool pool(window(at, axes), true);
    if (!pool.fits || axes != pool.order.size())
        return unknown(at, operands, "its window has more than three axes");
    const Dimensions& shape = at.shape.elements[0].dimensions;
    const View x =
        writer_.densely(label(at), forwards(at, written(operands[0], at.name)).transposed(pool.order));
    const Dimensions ordered = extents(shape, pool.order);
    const std::vector<View> found =
        writer_.emit(label(at), OpKind::pooling, {x}, pool.attributes,
                     {{at.shape.elements[0].type, ordered}, {trace::ElementType::i32, ordered}});
    const Dimensions back = inverse(pool.order);
    std::vector<Value> results{Value::of(found[0].transposed(back))};
    for (std::size_t axis = 0; axis < axes; ++axis) {
        // Positions count through the plane of the spatial axes.
        Instruction one = at;
        one.shape = at.shape.elements[axis + 1];
        const auto place = std::find(pool.order.begin(), pool.order.end(), static_cast<std::int64_t>(axis));
        const auto rank = static_cast<std::size_t>(place - pool.order.begin());
        if (rank == 0 || rank + 1 == axes) {
            one.attributes["iota_dimension"] = std::to_string(axis);
            results.push_back(iota(one));
            continue;
        }
        std::int64_t behind = 1;
        for (std::size_t i = rank + 1; i + 1 < axes; ++i) behind *= x.shape[i];
        const std::string step = std::to_string(behind), extent = std::to_string(x.shape[rank]);
        Operands position{Value::of(found[1].transposed(back))};
        results.push_back(apply(one, remainder("floor($0 / " + step + ")", extent), position));
        written(results.back(), at.name);
    }
    return Value::of(std::move(results));
}

Value Converter::select_and_scatter(const Instruction& at, Operands& operands) {
    if (operands.size() == 3) coming_.decide(operands[2]);
    if (operands.size() != 3 || operands[2].kind != Value::Kind::number || operands[2].number != 0 ||
        applied(at, "scatter") != "add" || applied(at, "select") != "compare")
        return unknown(at, operands, "not the gradient of a maximum");
    const Pool pool(window(at, operands[0].shape.size()), true);
    if (!pool.fits) return unknown(at, operands, "its window has more than three axes");
    const auto ordered = [&](Value& value) {
        return writer_.densely(label(at), forwards(at, written(value, at.name)).transposed(pool.order));
    };
    const View dx =
        writer_.emit_one(label(at), OpKind::pooling_grad, {ordered(operands[1]), ordered(operands[0])},
                         pool.attributes, {at.shape.type, extents(at.shape.dimensions, pool.order)});
    return Value::of(dx.transposed(inverse(pool.order)));
}

}  // namespace heddle::hlo
