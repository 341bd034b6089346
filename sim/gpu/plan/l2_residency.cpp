#include "sim/gpu/plan/l2_residency.h"

#include <algorithm>

namespace heddle::sim {

const L2Residency::Entry* L2Residency::find(std::uint64_t buffer) const {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.buffer == buffer; });
    return found == entries_.end() ? nullptr : &*found;
}

std::uint64_t L2Residency::resident_bytes(std::uint64_t buffer, std::uint64_t size) const {
    const Entry* const found = find(buffer);
    if (found == nullptr || size == 0) return 0;
    const std::uint64_t bytes = std::min(found->bytes, size);
    if (bytes == size) return size;
    const std::uint64_t grain = (size + 15) / 16;
    return bytes / grain * grain;
}

bool L2Residency::dirty(std::uint64_t buffer) const {
    const Entry* const found = find(buffer);
    return found != nullptr && found->dirty;
}

void L2Residency::touch(std::uint64_t buffer, std::uint64_t size) {
    std::erase_if(entries_, [&](const Entry& e) { return e.buffer == buffer; });
    entries_.push_front({buffer, std::min(size, capacity_)});
    forget_oldest();
}

void L2Residency::touch_together(const std::vector<BufferUse>& uses) {
    std::vector<Entry> touched;
    double room = 0;
    for (const BufferUse& use : uses) {
        touched.push_back(
            {use.buffer, use.size, use.written || dirty(use.buffer), use.written ? partitions_ : 1});
        room += static_cast<double>(touched.back().room());
    }
    const double part = room > 0 ? std::min(1.0, static_cast<double>(capacity_) / room) : 1;
    for (Entry& entry : touched) {
        std::erase_if(entries_, [&](const Entry& e) { return e.buffer == entry.buffer; });
        if (part < 1) entry.bytes = static_cast<std::uint64_t>(static_cast<double>(entry.bytes) * part);
        entries_.push_front(entry);
    }
    forget_oldest();
}

void L2Residency::forget_oldest() {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        Entry& entry = entries_[i];
        if (total + entry.room() > capacity_) {
            entry.bytes = (capacity_ - total) * entry.partitions;
            entries_.resize(entry.bytes > 0 ? i + 1 : i);
            break;
        }
        total += entry.room();
    }
}

}  // namespace heddle::sim
