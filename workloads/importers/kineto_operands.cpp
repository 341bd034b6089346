#include "workloads/importers/kineto_operands.h"

#include "workloads/importers/recorded_number.h"
#include "workloads/trace/possible_shape.h"

namespace heddle::importers {
namespace {

using trace::JsonView;

/// A list of extents or strides, or nothing when something else stands there.
std::optional<Shape> numbers_of(const JsonView& list) {
    if (!list.is_list()) return std::nullopt;
    Shape shape;
    for (const JsonView extent : list) {
        if (extent.is_list() || extent.is_text()) return std::nullopt;
        shape.push_back(recorded_count(extent, gates::kElements, 0, [] { return SourceLocation{}; }));
    }
    return shape;
}

std::optional<Shape> shape_of(const JsonView& list) {
    auto shape = numbers_of(list);
    if (shape && !trace::is_possible(*shape))
        throw Error("there is no tensor " + trace::to_text(*shape), {},
                    "it has " + gates::kElements.range() + " elements");
    return shape;
}

/// A number or list that was recorded as text; texts that are neither stay texts.
Literal concrete(std::string_view text) {
    if (text.empty()) return {};
    try {
        return parse_literal(std::string(text));
    } catch (const Error&) {
        return {std::string(text)};
    }
}

JsonView at(const JsonView& list, std::size_t index) {
    std::size_t i = 0;
    for (const JsonView item : list) {
        if (i++ == index) return item;
    }
    return {};
}

}  // namespace

RecordedTensor tensor_like(ElementType type, Shape shape) {
    RecordedTensor tensor;
    tensor.type = type;
    if (trace::is_possible(shape)) tensor.strides = trace::broadcast_strides(shape, shape);
    tensor.shape = std::move(shape);
    return tensor;
}

std::vector<Argument> kineto_inputs(const JsonView& arguments) {
    const JsonView dims =
        arguments["Input Dims"].exists() ? arguments["Input Dims"] : arguments["Input dims"];
    const JsonView types = arguments["Input type"], numbers = arguments["Concrete Inputs"],
                   strides = arguments["Input Strides"];
    std::vector<Argument> result;
    if (!dims.is_list()) return result;
    std::size_t i = 0;
    for (const JsonView dim : dims) {
        Argument argument;
        const std::string type(at(types, i).text());
        const auto element = torch_element_type(type);
        const auto shape = element ? shape_of(dim) : std::nullopt;
        const std::string_view number = at(numbers, i).text();
        if (shape) {
            argument.tensor = tensor_like(*element, *shape);
            if (const auto recorded = numbers_of(at(strides, i))) take_strides(*argument.tensor, *recorded);
            // Numbers that Python wraps as tensors of no axes stay on the host.
            if (shape->empty() && (*element == ElementType::f64 || *element == ElementType::i64)) {
                argument.tensor.reset();
                argument.value = concrete(number);
            }
        } else if (type == "TensorList" || type == "GenericList") {
            // The element type is not recorded; f32 until a neighbour says otherwise.
            for (const JsonView part : dim) {
                if (const auto each = shape_of(part))
                    argument.tensors.push_back(tensor_like(ElementType::f32, *each));
            }
        } else {
            argument.value = concrete(number);
        }
        result.push_back(std::move(argument));
        ++i;
    }
    return result;
}

}  // namespace heddle::importers
