// A tensor map as a kernel argument: the 128 bytes that cuTensorMapEncodeTiled() would write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/kernel/launch_file.h"

namespace heddle::kernel {

/// Encodes a tensor map. `address` is that of the tensor's first element. Throws heddle::Error when the map
/// is impossible.
std::vector<std::byte> encode_tensor_map(const TensorMapArgument& map, std::uint64_t address,
                                         const SourceLocation& where);

}  // namespace heddle::kernel
