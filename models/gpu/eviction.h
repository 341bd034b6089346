// Translates the eviction hints of a program into the eviction policy of a request for a line.
#pragma once

#include <cmath>
#include <cstdint>

#include "isa/ptx/execution.h"
#include "models/memory/address_hash.h"
#include "models/memory/memory_request.h"

namespace heddle::models::gpu {

/// The two enumerations list the same policies in the same order, as the assertions below check.
inline EvictionPolicy eviction_policy(ptx::CachePriority priority) {
    return static_cast<EvictionPolicy>(priority);
}
static_assert(static_cast<int>(EvictionPolicy::unchanged) ==
                  static_cast<int>(ptx::CachePriority::unchanged) &&
              static_cast<int>(EvictionPolicy::last) == static_cast<int>(ptx::CachePriority::last));

/// Whether a line is in the part of `sixteenths` that a policy names first: always the same lines.
inline bool in_part(std::uint64_t line, unsigned sixteenths) {
    return sixteenths >= 16 || mix_bits(line) % 16 < sixteenths;
}

/// The policy in L2 for `line` (address / 128) under an instruction's cache policy.
inline EvictionPolicy eviction_policy(const ptx::CachePolicy& cache, std::uint64_t line) {
    return eviction_policy(in_part(line, cache.sixteenths) ? cache.primary : cache.secondary);
}

/// The launch's access policy window.
class WindowPolicy {
  public:
    WindowPolicy() = default;
    explicit WindowPolicy(const ptx::AccessPolicyWindow& window)
        : first_(window.base / kLineBytes),
          lines_(window.bytes == 0 ? 0 : (window.base + window.bytes - 1) / kLineBytes - first_ + 1),
          sixteenths_(static_cast<unsigned>(std::lround(window.hit_ratio * 16))),
          hit_(eviction_policy(window.hit)),
          miss_(eviction_policy(window.miss)) {}
    /// What the window asks of `line` (address / 128); none outside of it.
    EvictionPolicy of(std::uint64_t line) const {
        if (line - first_ >= lines_) return EvictionPolicy::none;
        return in_part(line, sixteenths_) ? hit_ : miss_;
    }

  private:
    std::uint64_t first_ = 0, lines_ = 0;
    unsigned sixteenths_ = 16;
    EvictionPolicy hit_ = EvictionPolicy::none, miss_ = EvictionPolicy::none;
};

}  // namespace heddle::models::gpu
