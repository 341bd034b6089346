// Whether an instruction fits its operands and the shape that the text gives it: a program that lies about
// its shapes is told by the line that lies, not by what becomes of it later.
#include <algorithm>

#include "isa/common/checked.h"
#include "workloads/hlo/converter.h"

namespace heddle::hlo {
namespace {

std::string shape_text(const Dimensions& shape) {
    std::string text = "[";
    for (const std::int64_t extent : shape) {
        if (text.size() > 1) text += ", ";
        text += std::to_string(extent);
    }
    return text + "]";
}

}  // namespace

void Converter::check_operands(const Instruction& at, const Operands& operands) const {
    const Dimensions& shape = at.shape.dimensions;
    for (const Value& value : operands)
        if (value.kind == Value::Kind::tuple) return;
    if (operands.empty() || at.shape.tuple) return;
    if (at.opcode == "broadcast") {
        // Axes of one element repeat (StableHLO).
        const Dimensions axes = list(at, "dimensions");
        for (std::size_t i = 0; i < std::min(axes.size(), operands[0].shape.size()); ++i) {
            const auto axis = static_cast<std::size_t>(axes[i]);
            if (axes[i] < 0 || axis >= shape.size()) continue;  // told where it is read
            if (operands[0].shape[i] != 1 && operands[0].shape[i] != shape[axis])
                fail(at, "spreads " + shape_text(operands[0].shape) + " over " + shape_text(shape) +
                             ", where dimension " + std::to_string(axes[i]) + " has another size");
        }
    } else if (at.opcode == "concatenate") {
        const Dimensions given = list(at, "dimensions");
        const std::size_t axis = given.empty() ? 0 : static_cast<std::size_t>(given[0]);
        Dimensions sum = operands[0].shape;
        for (std::size_t i = 1; i < operands.size(); ++i)
            if (axis < sum.size() && axis < operands[i].shape.size()) sum[axis] += operands[i].shape[axis];
        if (sum != shape)
            fail(at, "joins operands to " + shape_text(sum) + " instead of " + shape_text(shape));
    } else if (at.opcode == "reduce" && operands.size() == 2) {
        const Dimensions axes = list(at, "dimensions");
        Dimensions kept;
        for (std::size_t axis = 0; axis < operands[0].shape.size(); ++axis)
            if (std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(axis)) == axes.end())
                kept.push_back(operands[0].shape[axis]);
        if (kept != shape) fail(at, "leaves " + shape_text(kept) + " instead of " + shape_text(shape));
    } else if (at.opcode != "iota" && elementwise(at, operands) != nullptr) {
        // Bounds and predicates may be one element for all.
        const bool spreads = at.opcode == "select" || at.opcode == "clamp";
        for (const Value& value : operands)
            if (value.shape != shape && !(spreads && value.shape.empty()))
                fail(at, "reads an operand of shape " + shape_text(value.shape) + " for a result of shape " +
                             shape_text(shape));
    }
}

void Converter::check_result(const Instruction& at, const Value& value) const {
    // Partitioners change shapes by calls whose meaning is only known to them.
    if (at.opcode == "custom-call") return;
    const std::function<void(const Shape&, const Value&)> check = [&](const Shape& shape, const Value& part) {
        if (shape.tuple != (part.kind == Value::Kind::tuple) ||
            (shape.tuple && shape.elements.size() != part.elements.size()))
            fail(at, "has another number of results than its type says");
        for (std::size_t i = 0; i < shape.elements.size(); ++i) check(shape.elements[i], part.elements[i]);
        if (!shape.tuple && part.shape != shape.dimensions)
            fail(at, "has the shape " + shape_text(part.shape) + ", and its type says " +
                         shape_text(shape.dimensions));
    };
    check(at.shape, value);
}

bool Converter::has_shape(const Value& value, const Shape& shape) {
    if (shape.tuple != (value.kind == Value::Kind::tuple)) return false;
    if (!shape.tuple) return value.shape == shape.dimensions;
    bool has = shape.elements.size() == value.elements.size();
    for (std::size_t i = 0; has && i < shape.elements.size(); ++i)
        has = has_shape(value.elements[i], shape.elements[i]);
    return has;
}

void Converter::check_window(const Instruction& at, const Window& window) const {
    constexpr std::int64_t kMost = 1 << 24;
    const auto within = [&](const Dimensions& numbers, std::int64_t least) {
        return std::all_of(numbers.begin(), numbers.end(),
                           [&](std::int64_t n) { return n >= least && n <= kMost; });
    };
    if (!within(window.size, 1) || !within(window.stride, 1) || !within(window.base_dilation, 1) ||
        !within(window.window_dilation, 1))
        fail(at, "has a window with a size, stride or dilation that is not 1 to 16777216");
    if (!within(window.low, -kMost) || !within(window.high, -kMost))
        fail(at, "has a window with an impossible padding");
}

void Converter::check_convolution(const Instruction& at, const Window& window, const Dimensions& input,
                                  const Dimensions& filter, const Dimensions& output) const {
    for (std::size_t i = 0; i < input.size(); ++i) {
        const auto dilated = [&](std::int64_t extent, std::int64_t dilation) {
            const auto last = checked_product(std::max<std::int64_t>(extent - 1, 0), dilation);
            if (!last || *last > gates::kMostElements)
                fail(at, "has a dilation that spreads it over more than can be counted");
            return extent == 0 ? 0 : *last + 1;
        };
        const std::int64_t spread = dilated(input[i], window.base_dilation[i]);
        const std::int64_t reach = dilated(filter[i], window.window_dilation[i]);
        const std::int64_t room = window.low[i] + spread + window.high[i] - reach;
        const std::int64_t positions = room < 0 ? 0 : room / window.stride[i] + 1;
        if (positions != output[i])
            fail(at, "has " + std::to_string(positions) + " positions of its window along spatial axis " +
                         std::to_string(i) + ", and its type says " + std::to_string(output[i]));
    }
}

}  // namespace heddle::hlo
