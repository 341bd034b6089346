#include "isa/program/program.h"

namespace heddle::program {

ScalarArgument scalar_u32(std::uint32_t value) {
    return {value, 4};
}

}  // namespace heddle::program
