#include "isa/program/program.h"

#include <bit>

namespace heddle::program {

ScalarArgument scalar_u32(std::uint32_t value) {
    return {value, 4};
}
ScalarArgument scalar_u64(std::uint64_t value) {
    return {value, 8};
}
ScalarArgument scalar_f32(float value) {
    return {std::bit_cast<std::uint32_t>(value), 4};
}

}  // namespace heddle::program
