#include "workloads/importers/operands.h"

#include <numeric>

#include "isa/common/checked.h"

namespace heddle::importers {

RecordedTensor seen_as(RecordedTensor tensor, Shape shape) {
    tensor.shape = std::move(shape);
    tensor.strides = trace::broadcast_strides(tensor.shape, tensor.shape);
    return tensor;
}

RecordedTensor as_rows(const RecordedTensor& tensor, std::int64_t columns) {
    if (columns <= 0 || !tensor.is_contiguous()) return tensor;
    return seen_as(tensor, {tensor.elements() / columns, columns});
}

void add_bytes(std::int64_t& sum, const RecordedTensor& tensor) {
    sum += tensor.elements() * static_cast<std::int64_t>(bytes_of(tensor.type));  // both far below 2^63
    if (!gates::kBytes.admits(sum)) throw NotUnderstood{"its tensors have more bytes than there can be"};
}

const RecordedTensor& operand(const Call& call, std::size_t index, const char* what) {
    return need(call.gpu_tensor(index), std::string(what) + " of " + call.name);
}

RecordedTensor result_or(Builder& builder, const Call& call, std::size_t index, ElementType type,
                         const Shape& shape) {
    const RecordedTensor* recorded = call.output_tensor(index);
    return recorded != nullptr ? *recorded : builder.invented(type, shape);
}

double number_operand(const Call& call, std::size_t index, double fallback) {
    const Literal* value = call.literal(index);
    return value != nullptr ? value->number(fallback) : fallback;
}

std::int64_t integer_operand(const Call& call, std::size_t index, std::int64_t fallback) {
    const Literal* value = call.literal(index);
    if (value == nullptr || !value->is_number()) return fallback;
    const auto number = whole_number(value->number(0));
    if (!number)
        throw NotUnderstood{"operand " + std::to_string(index) + " of " + call.name + " is no whole number"};
    return *number;
}

std::vector<std::int64_t> axes_operand(const Call& call, std::size_t index, std::size_t rank) {
    std::vector<std::int64_t> axes;
    if (const Literal* literal = call.literal(index)) axes = literal->integers();
    if (axes.empty()) {
        axes.resize(rank);
        std::iota(axes.begin(), axes.end(), 0);
    }
    for (std::int64_t& axis : axes)
        if (axis < 0) axis += static_cast<std::int64_t>(rank);
    return axes;
}

}  // namespace heddle::importers
