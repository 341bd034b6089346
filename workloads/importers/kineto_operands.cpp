#include "workloads/importers/kineto_operands.h"

#include "isa/common/error.h"

namespace heddle::importers {
namespace {

using trace::JsonView;

std::optional<Shape> shape_of(const JsonView& list) {
    if (!list.is_list()) return std::nullopt;
    Shape shape;
    for (const JsonView extent : list) {
        if (extent.kind() != JsonView::Kind::integer) return std::nullopt;
        shape.push_back(extent.integer(0));
    }
    if (!possible_shape(shape)) return std::nullopt;
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

/// Strides as recorded, when they address memory in a way that a tensor can.
void take_strides(RecordedTensor& tensor, const JsonView& recorded) {
    const auto strides = shape_of(recorded);
    if (strides && strides->size() == tensor.shape.size() && !strides->empty()) tensor.strides = *strides;
}

}  // namespace

RecordedTensor tensor_like(ElementType type, Shape shape) {
    RecordedTensor tensor;
    tensor.type = type;
    tensor.strides = trace::broadcast_strides(shape, shape);
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
        const auto shape = shape_of(dim);
        const std::string_view number = at(numbers, i).text();
        if (element && shape) {
            argument.tensor = tensor_like(*element, *shape);
            take_strides(*argument.tensor, at(strides, i));
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
