#include "models/memory/l2_footprint.h"

#include "models/memory/address_hash.h"
#include "models/memory/memory_request.h"

namespace heddle::models {

bool has_room_for(const L2Config& config, const std::vector<LineRange>& lines, unsigned ways) {
    if (ways == 0) ways = config.ways;
    // As SectoredCache rounds a slice's size, and L2Slice finds a line in it.
    const auto sets = static_cast<std::uint32_t>(config.bytes / config.slices / kLineBytes / config.ways);
    if (sets == 0) return false;
    const std::uint32_t positions = config.slices / config.partitions;
    std::uint64_t total = 0;
    for (const LineRange& range : lines) total += range.count;
    if (total > std::uint64_t{positions} * sets * ways) return false;
    const PartitionedHash slice_of(config.slices, config.partitions, chunk_bits_of(config.interleave_bytes));
    const SliceHash set_of(sets);
    // A line has the same position and set in every partition.
    std::vector<std::uint32_t> held(std::size_t{positions} * sets);
    for (const LineRange& range : lines) {
        for (std::uint64_t line = range.first; line < range.first + range.count; ++line) {
            const PartitionedHash::Place place = slice_of.place(static_cast<std::uint32_t>(line));
            const std::uint32_t set = set_of.slice(slice_of.key(place));
            if (++held[std::size_t{place.position} * sets + set] > ways) return false;
        }
    }
    return true;
}

}  // namespace heddle::models
