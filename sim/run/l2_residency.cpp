#include "sim/run/l2_residency.h"

#include <algorithm>

namespace heddle::sim {

std::uint64_t L2Residency::resident_bytes(std::uint64_t buffer, std::uint64_t size) const {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.buffer == buffer; });
    if (found == entries_.end() || size == 0) return 0;
    const std::uint64_t bytes = std::min(found->bytes, size);
    if (bytes == size) return size;
    const std::uint64_t grain = (size + 15) / 16;
    return bytes / grain * grain;
}

void L2Residency::touch(std::uint64_t buffer, std::uint64_t size) {
    std::erase_if(entries_, [&](const Entry& e) { return e.buffer == buffer; });
    entries_.push_front({buffer, std::min(size, capacity_)});
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        if (total + entries_[i].bytes > capacity_) {
            entries_[i].bytes = capacity_ - total;
            entries_.resize(entries_[i].bytes > 0 ? i + 1 : i);
            break;
        }
        total += entries_[i].bytes;
    }
}

}  // namespace heddle::sim
