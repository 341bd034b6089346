// The hardware file of a GPU that a recording names.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::sim {

/// Returns the name of the hardware file of a GPU from the name that its driver gives it ("NVIDIA
/// A100-SXM4-80GB") and, where names do not distinguish boards ("NVIDIA A100-PG509-200"), from its memory in
/// bytes (0: not known). Empty when there is none.
std::string hardware_of_gpu(const std::string& device, std::uint64_t memory_bytes = 0);

}  // namespace heddle::sim
