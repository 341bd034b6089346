// Which parts of fp32 operands are multiplied in which pass.
#pragma once

#include <utility>
#include <vector>

#include "isa/tpu/instruction.h"

namespace heddle::lowering::on_tpu {

/// Parts of activations and weights multiplied in each of 1, 3 or 6 passes, the smallest products first.
inline std::vector<std::pair<tpu::Bf16Part, tpu::Bf16Part>> parts_of(unsigned passes) {
    using enum tpu::Bf16Part;
    if (passes == 3) return {{middle, high}, {high, middle}, {high, high}};
    if (passes == 6)
        return {{middle, middle}, {low, high}, {high, low}, {middle, high}, {high, middle}, {high, high}};
    return {{high, high}};
}

}  // namespace heddle::lowering::on_tpu
