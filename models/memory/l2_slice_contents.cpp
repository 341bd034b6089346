// What lies in a slice without a request of its own: lines put there before a run, and what a sampled run
// leaves out.
#include <cmath>

#include "models/memory/l2_slice.h"

namespace heddle::models {

void L2Slice::preload(std::uint32_t line, bool dirty, bool spare_dirty) {
    const std::uint32_t key = hash_.key(hash_.place(line));
    SectoredCache::Index index = cache_.find(key);
    if (index == SectoredCache::kNone) {
        index = cache_.victim(key);
        if (index == SectoredCache::kNone || (spare_dirty && cache_.sectors(index).dirty != 0)) return;
        cache_.assign(index, key);
    } else {
        cache_.touch(index);
    }
    const bool home = is_home(key);
    cache_.sectors(index).valid = kWholeLine;
    cache_.sectors(index).dirty = dirty && home ? kWholeLine : 0;
    cache_.sectors(index).copied = home && !dirty;
}

void L2Slice::pass(std::uint32_t line, SectorMask sectors, bool write, std::uint64_t& read,
                   std::uint64_t& written) {
    const std::uint32_t key = hash_.key(hash_.place(line));
    const std::uint32_t set = cache_.set_of(key);
    const bool home = is_home(key);
    SectoredCache::Index index = cache_.find(set, key);
    if (index == SectoredCache::kNone) {
        index = victim(set, home);
        if (index == SectoredCache::kNone) return;
        written += sector_count(cache_.sectors(index).dirty);
        cache_.assign(index, key);
    } else {
        cache_.touch(index);
    }
    SectoredCache::Sectors& state = cache_.sectors(index);
    if (write) {
        state.valid |= sectors;
        state.dirty |= sectors;
        return;
    }
    SectorMask absent = sectors & static_cast<SectorMask>(~(state.valid | state.pending));
    if (absent == 0) return;
    if (home) absent = filled(absent) & static_cast<SectorMask>(~(state.valid | state.pending));
    if (home) read += sector_count(absent);
    state.valid |= absent;
}

void L2Slice::age(double part) {
    cache_.forget_oldest(static_cast<unsigned>(std::lround(part * config_.ways)));
}

}  // namespace heddle::models
