// How the caches of instructions and constants ask for what they lack.
#pragma once

#include <cstdint>

#include "models/common/cycle.h"
#include "models/memory/memory_request.h"

namespace heddle::models::gpu {

/// Which of the SM's caches asks: that of instructions or that of constants.
enum class FetchKind : std::uint8_t { code, constants };

/// Who takes the misses of the caches of instructions and constants.
class LineRequests {
  public:
    virtual ~LineRequests() = default;
    /// `sectors` of `line`, counted from the first of its kind, are asked for in cycle `leave`.
    virtual void ask(FetchKind kind, std::uint32_t line, SectorMask sectors, Cycle leave) = 0;
};

}  // namespace heddle::models::gpu
