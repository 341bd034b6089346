#include "workloads/trace/possible_shape.h"

#include <algorithm>

#include "isa/common/checked.h"

namespace heddle::trace {

bool is_possible(const Shape& shape) {
    std::int64_t count = 1;
    return std::all_of(shape.begin(), shape.end(), [&count](std::int64_t extent) {
        if (extent < 0) return false;
        const auto more = checked_product(count, std::max<std::int64_t>(extent, 1));
        count = more.value_or(0);
        return more && count <= gates::kMostElements;
    });
}

std::optional<std::int64_t> storage_reach(std::int64_t offset, const Shape& shape, const Shape& strides) {
    if (!strides.empty() && strides.size() != shape.size()) return std::nullopt;
    const std::int64_t elements = element_count(shape);
    std::optional<std::int64_t> first = offset, last = offset;
    const auto add = [](std::optional<std::int64_t>& to, std::optional<std::int64_t> more) {
        to = to && more ? checked_sum(*to, *more) : std::nullopt;
    };
    if (strides.empty()) add(last, elements);
    for (std::size_t axis = 0; axis < strides.size() && elements > 0; ++axis)
        add(strides[axis] < 0 ? first : last, checked_product(strides[axis], shape[axis] - 1));
    if (!strides.empty() && elements > 0) add(last, 1);
    const bool possible = first && last && *first >= 0 && *last <= gates::kMostElements;
    return possible ? last : std::nullopt;
}

std::optional<std::int64_t> operand_reach(const Op& op, const std::string& operand, const Tensor& tensor) {
    return storage_reach(op.offset(operand), tensor.shape, op.strides(operand));
}

}  // namespace heddle::trace
