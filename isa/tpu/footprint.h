// How much memory a program touches.
#pragma once

#include <cstdint>

#include "isa/tpu/program.h"

namespace heddle::tpu {

/// Memory that a program needs, in bytes.
struct Footprint {
    std::uint64_t vmem_bytes = 0;  ///< of the core that uses most
    std::uint64_t hbm_bytes =
        0;  ///< one past the last byte; gathers and scatters may reach their whole table
    std::uint64_t common_bytes = 0;  ///< the same of CMEM
    std::uint64_t accessed = 0;      ///< bytes of all accesses, repeats included
};

/// Computes the footprint of a program, which must have passed validate().
Footprint footprint(const Program& program);

}  // namespace heddle::tpu
