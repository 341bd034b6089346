// Tilings that earlier runs found, kept on disk in the cache of kernel results, so that several processes may
// search at the same time.
#pragma once

#include "sim/run/time/kernel_cache.h"
#include "workloads/lowering/tpu/lowering_options.h"

namespace heddle::sim {

/// A store of tilings on top of KernelCache. Keys name everything that a tiling depends on.
class TilingCache : public lowering::TilingStore {
  public:
    explicit TilingCache(KernelCache cache = KernelCache::standard()) : cache_(std::move(cache)) {}

    std::optional<std::string> find(const std::string& key) override { return cache_.find(key); }
    void store(const std::string& key, const std::string& tiling) override {
        ++searched_;
        cache_.store(key, tiling);
    }
    /// Returns how many tilings this process stored because none was found.
    std::uint64_t searched() const { return searched_; }

  private:
    KernelCache cache_;
    std::uint64_t searched_ = 0;
};

}  // namespace heddle::sim
