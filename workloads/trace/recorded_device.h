// The device on which a step was recorded.
#pragma once

#include <cstdint>
#include <string>

namespace heddle::trace {

/// The device as its driver describes it; members are empty or 0 where the recording does not contain them.
struct RecordedDevice {
    std::string name;                ///< "NVIDIA A100-SXM4-40GB"
    std::uint64_t memory_bytes = 0;  ///< all of its memory
    bool operator==(const RecordedDevice&) const = default;
};

}  // namespace heddle::trace
