#include "workloads/trace/possible_shape.h"

#include <algorithm>

namespace heddle::trace {

bool is_possible(const Shape& shape) {
    std::int64_t count = 1;
    return std::all_of(shape.begin(), shape.end(), [&count](std::int64_t extent) {
        return extent >= 0 && !__builtin_mul_overflow(count, std::max<std::int64_t>(extent, 1), &count);
    });
}

}  // namespace heddle::trace
