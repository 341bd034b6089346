// Conversion of tensor elements to and from the form in which a device stores them.
#pragma once

#include <cstddef>
#include <vector>

#include "workloads/trace/trace.h"

namespace heddle::reference {

/// Convert a tensor's elements to the bytes that a device stores, and back. Values are rounded to nearest
/// even.
std::vector<std::byte> encode_elements(trace::ElementType type, const std::vector<double>& values);
std::vector<double> decode_elements(trace::ElementType type, const std::byte* bytes, std::size_t count);

}  // namespace heddle::reference
