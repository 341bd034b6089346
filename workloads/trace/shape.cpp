#include "workloads/trace/shape.h"

namespace heddle::trace {

std::string to_text(const Shape& shape) {
    std::string text = "[";
    for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    return text + "]";
}

bool broadcasts_to(const Shape& from, const Shape& to) {
    if (from.size() > to.size()) return false;
    const std::size_t missing = to.size() - from.size();
    for (std::size_t i = 0; i < from.size(); ++i) {
        if (from[i] != 1 && from[i] != to[missing + i]) return false;
    }
    return true;
}

Shape broadcast_strides(const Shape& from, const Shape& to) {
    Shape strides(to.size(), 0);
    const std::size_t missing = to.size() - from.size();
    std::int64_t stride = 1;
    for (std::size_t i = from.size(); i-- > 0;) {
        if (from[i] != 1) strides[missing + i] = stride;
        stride *= from[i];
    }
    return strides;
}

std::int64_t element_count(const Shape& shape) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) count *= extent;
    return count;
}

AlongAxis along_axis(const Shape& shape, std::int64_t axis) {
    AlongAxis along;
    for (std::size_t i = 0; i < shape.size(); ++i) {
        const auto place = static_cast<std::int64_t>(i);
        (place < axis ? along.outer : place == axis ? along.extent : along.inner) *= shape[i];
    }
    return along;
}

}  // namespace heddle::trace
