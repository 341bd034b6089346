// Which integer work is the same for all threads of a warp.
#pragma once

#include <span>
#include <vector>

#include "isa/ptx/decode/data_flow.h"

namespace heddle::ptx {

/// For each instruction, whether a machine with a uniform datapath can carry it out there: integer work,
/// guarded and fed by nothing but values that follow from kernel parameters, constants and the position of
/// the thread block, where the threads of a warp have not taken different ways.
std::vector<bool> find_uniform(const Kernel& kernel, std::span<const RegisterUse> uses,
                               const ControlFlow& flow);

}  // namespace heddle::ptx
