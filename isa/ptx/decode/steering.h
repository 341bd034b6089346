// Timing mode evaluates only what steers the machine. This finds it: a backward slice from addresses, guards,
// barrier operands and copy sizes, followed through memory by what a pointer was made from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "isa/ptx/decode/data_flow.h"

namespace heddle::ptx {

/// The result of find_steering(): what timing mode must compute.
struct SteeringSlice {
    std::vector<bool> evaluated;  ///< [instruction] its values must be computed
    std::vector<bool> registers;  ///< [register, and the carry flag] holds a value that steers
    bool everything = false;      ///< nothing is left out: kernels with calls or a heap
    bool shared_memory = false;   ///< something that steers is read from shared memory
    std::size_t count = 0;        ///< evaluated instructions
    /// Offsets of kernel parameters, used as pointers, through which evaluated instructions read and through
    /// which instructions write that are not evaluated. Sound as long as these do not point into the same
    /// allocation.
    std::vector<std::uint32_t> steering_reads, skipped_writes;
    bool reads_global = false;   ///< something that steers is read, or may be, from global memory or through a texture
    bool writes_global = false;  ///< evaluated instructions write, or may write, global memory
};

/// shfl, vote, bar.warp.sync and the like: their lanes wait for one another, whether or not the values that
/// they exchange matter.
bool synchronizes_lanes(const Instruction& instruction);

/// Walks backward from addresses, branches and synchronisation until nothing more is found. `uses` is
/// register_uses(kernel).
SteeringSlice find_steering(const Kernel& kernel, std::span<const RegisterUse> uses);

}  // namespace heddle::ptx
