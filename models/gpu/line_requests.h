// How the caches of instructions and constants ask for what they lack.
#pragma once

#include <cstdint>

#include "models/common/cycle.h"
#include "models/memory/memory_request.h"

namespace heddle::models::gpu {

/// Which of the SM's caches asks: that of instructions or that of constants.
enum class FetchKind : std::uint8_t { code, constants };

/// Takes the misses of the caches of instructions and constants and requests their lines from L2.
class LineRequests {
  public:
    virtual ~LineRequests() = default;
    /// Requests `sectors` of `line`, counted from the first line of its kind. The request leaves in cycle
    /// `leave` at the earliest.
    virtual void ask(FetchKind kind, std::uint32_t line, SectorMask sectors, Cycle leave) = 0;
};

}  // namespace heddle::models::gpu
