// Tilings that were searched before, on disk beside the kernels' results: named by content, written aside and
// renamed, so that several processes may search at a time.
#pragma once

#include "sim/run/time/kernel_cache.h"
#include "workloads/lowering/tpu/lowering_options.h"

namespace heddle::sim {

class TilingCache : public lowering::TilingStore {
  public:
    explicit TilingCache(KernelCache cache = KernelCache::standard()) : cache_(std::move(cache)) {}

    std::optional<std::string> find(const std::string& key) override { return cache_.find(key); }
    void store(const std::string& key, const std::string& tiling) override {
        ++searched_;
        cache_.store(key, tiling);
    }
    /// How many had to be searched.
    std::uint64_t searched() const { return searched_; }

  private:
    KernelCache cache_;
    std::uint64_t searched_ = 0;
};

}  // namespace heddle::sim
