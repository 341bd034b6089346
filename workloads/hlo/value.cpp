#include "workloads/hlo/value.h"

#include <cctype>
#include <cmath>
#include <cstdio>

namespace heddle::hlo {

std::int64_t count_of(const Dimensions& shape) {
    std::int64_t product = 1;
    for (const std::int64_t extent : shape) product *= extent;
    return product;
}

Dimensions dense_strides(const Dimensions& shape) {
    Dimensions strides(shape.size());
    std::int64_t stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) strides[axis] = stride;
    return strides;
}

bool View::is_dense() const {
    std::int64_t stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0; stride *= shape[axis]) {
        if (shape[axis] != 1 && strides[axis] != stride) return false;
    }
    return true;
}

View View::transposed(const Dimensions& axes) const {
    View result = *this;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
        result.shape.at(axis) = shape.at(static_cast<std::size_t>(axes[axis]));
        result.strides.at(axis) = strides.at(static_cast<std::size_t>(axes[axis]));
    }
    return result;
}

View View::broadcast(const Dimensions& axes, const Dimensions& to) const {
    View result{tensor, type, to, Dimensions(to.size(), 0), offset};
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
        if (shape.at(axis) != 1) result.strides.at(static_cast<std::size_t>(axes[axis])) = strides.at(axis);
    }
    return result;
}

View View::sliced(const Dimensions& starts, const Dimensions& limits, const Dimensions& steps) const {
    View result = *this;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        const std::int64_t step = steps.at(axis);
        result.offset += starts.at(axis) * strides[axis];
        result.shape[axis] = (limits.at(axis) - starts[axis] + step - 1) / step;
        result.strides[axis] *= step;
    }
    return result;
}

View View::reversed(const Dimensions& axes) const {
    View result = *this;
    for (const std::int64_t which : axes) {
        const auto axis = static_cast<std::size_t>(which);
        if (shape.at(axis) == 1) continue;
        result.offset += (shape[axis] - 1) * strides[axis];
        result.strides[axis] = -strides[axis];
    }
    return result;
}

std::optional<View> View::reshaped(const Dimensions& to) const {
    // Axes of one element say nothing.
    Dimensions extents, steps;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
        if (shape[axis] == 1) continue;
        extents.push_back(shape[axis]);
        steps.push_back(strides[axis]);
    }
    View result{tensor, type, to, Dimensions(to.size(), 0), offset};
    // Groups of old axes and of new ones with as many elements; the old ones must lie one within the other.
    std::size_t old_axis = 0, new_axis = 0;
    while (new_axis < to.size()) {
        if (to[new_axis] == 1) {
            ++new_axis;
            continue;
        }
        if (old_axis == extents.size()) return std::nullopt;
        const std::size_t old_begin = old_axis, new_begin = new_axis;
        std::int64_t old_count = extents[old_axis++], new_count = to[new_axis++];
        while (old_count != new_count) {
            if (old_count < new_count) {
                if (old_axis == extents.size()) return std::nullopt;
                old_count *= extents[old_axis++];
            } else {
                if (new_axis == to.size()) return std::nullopt;
                new_count *= to[new_axis++];
            }
        }
        for (std::size_t axis = old_begin; axis + 1 < old_axis; ++axis)
            if (steps[axis] != steps[axis + 1] * extents[axis + 1]) return std::nullopt;
        std::int64_t step = steps[old_axis - 1];
        for (std::size_t axis = new_axis; axis-- > new_begin; step *= to[axis]) result.strides[axis] = step;
    }
    if (old_axis != extents.size()) return std::nullopt;
    return result;
}

Value Value::filling(const Dimensions& to) const {
    Value value = of(number, type, to);
    value.steps = steps;
    return value;
}

Value Value::of(const View& view) {
    Value value;
    value.type = view.type;
    value.shape = view.shape;
    value.view = view;
    return value;
}

Value Value::of(double number, trace::ElementType type, const Dimensions& shape) {
    Value value;
    value.kind = Kind::number;
    value.type = type;
    value.shape = shape;
    value.number = number;
    return value;
}

Value Value::of(std::vector<Value> elements) {
    Value value;
    value.kind = Kind::tuple;
    value.elements = std::move(elements);
    return value;
}

std::string renumbered(const std::string& text, const std::vector<std::size_t>& to) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool name = text[i] == 'x' && i + 1 < text.size() &&
                          std::isdigit(static_cast<unsigned char>(text[i + 1])) != 0 &&
                          (i == 0 || std::isalnum(static_cast<unsigned char>(text[i - 1])) == 0);
        if (!name) {
            result += text[i];
            continue;
        }
        std::size_t end = i + 1;
        while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end])) != 0) ++end;
        result += "x" + std::to_string(to.at(std::stoul(text.substr(i + 1, end - i - 1))));
        i = end - 1;
    }
    return result;
}

std::string number_text(double number) {
    if (std::isnan(number)) return "(inf - inf)";
    if (std::isinf(number)) return number > 0 ? "inf" : "(-inf)";
    char text[40];
    std::snprintf(text, sizeof text, number < 0 ? "(%.17g)" : "%.17g", number);
    return text;
}

bool is_floating(trace::ElementType type) {
    using T = trace::ElementType;
    return type == T::f64 || type == T::f32 || type == T::tf32 || type == T::f16 || type == T::bf16 ||
           type == T::e4m3 || type == T::e5m2;
}

}  // namespace heddle::hlo
