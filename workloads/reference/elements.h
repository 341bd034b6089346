// Elements of tensors as a device stores them.
#pragma once

#include <cstddef>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::reference {

/// Bytes of a tensor's elements as the device stores them, and back. Rounds to nearest even.
std::vector<std::byte> encode_elements(trace::ElementType type, const std::vector<double>& values);
std::vector<double> decode_elements(trace::ElementType type, const std::byte* bytes, std::size_t count);

}  // namespace heddle::reference
