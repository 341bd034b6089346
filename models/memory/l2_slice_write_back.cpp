// What leaves a slice for memory.
#include <bit>

#include "models/memory/l2_slice.h"

namespace heddle::models {

/// A line with dirty sectors makes room: they go to memory, and with them what is dirty of its chunk, so that
/// one activation of the row serves all ("Techniques for evicting dirty data from a cache using a
/// notification sorter", US patent 8,949,541, NVIDIA: by bank page).
void L2Slice::evict(SectoredCache::Index index, Cycle now) {
    const std::uint32_t row = hash_.row_of(cache_.key(index));
    const std::uint32_t chunk = row & ~(chunk_lines_ - 1);
    ++write_backs_;  // the line's own, whatever room there is for others
    for (std::uint32_t first = chunk; first < chunk + chunk_lines_; first += group_lines_) {
        LinesMask sectors = 0;
        for (std::uint32_t i = 0; i < group_lines_; ++i) {
            if (first + i == row) {
                sectors |= take_dirty(index, i);
                continue;
            }
            if (write_backs_ >= config_.write_backs) continue;
            const SectoredCache::Index found = cache_.find(hash_.key_of(first + i, partition_));
            if (found == SectoredCache::kNone || cache_.sectors(found).dirty == 0) continue;
            sectors |= take_dirty(found, i);
            ++write_backs_;
        }
        if (sectors != 0) write_back(first, sectors, now);
    }
}

/// Of the i-th line of a request.
LinesMask L2Slice::take_dirty(SectoredCache::Index index, unsigned i) {
    SectoredCache::Sectors& state = cache_.sectors(index);
    const LinesMask dirty = at_line(static_cast<SectorMask>(state.dirty), i);
    state.dirty = 0;
    return dirty;
}

/// `row`: of the line that the mask begins with, among those of the slice.
void L2Slice::write_back(std::uint32_t row, LinesMask sectors, Cycle now) {
    const auto first = static_cast<unsigned>(std::countr_zero(sectors)) / kSectorsPerLine;
    MemoryRequest& request = pool_.take();
    request.kind = RequestKind::write_back;
    request.sectors = static_cast<LinesMask>(sectors >> first * kSectorsPerLine);
    request.issuer = static_cast<std::uint16_t>(position_);
    request.tag = row + first;
    statistics_.write_back_sectors += sector_count(sectors);
    memory_.send(*this, request, now + config_.miss_latency);
}

}  // namespace heddle::models
