// Tensor maps in the memory of a launch.
#pragma once

#include <cstdint>

#include "isa/ptx/machine/machine.h"
#include "isa/ptx/tensor_map.h"

namespace heddle::ptx {

/// The checked map at a generic address in parameters, constant or global memory.
TensorMap read_tensor_map(const Warp::State& warp, unsigned lane, std::uint64_t address);

}  // namespace heddle::ptx
