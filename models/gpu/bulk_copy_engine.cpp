#include "models/gpu/bulk_copy_engine.h"

#include <algorithm>
#include <utility>

namespace heddle::models::gpu {

using Kind = ptx::AsyncOperation::Kind;

BulkCopyEngine::BulkCopyEngine(const GpuConfig& config, CrossbarPort& port, LoadStoreUnit& load_store)
    : config_(config), port_(port), load_store_(load_store) {
    reset();
}

void BulkCopyEngine::reset() {
    copies_.clear();
    free_.clear();
    queue_.clear();
    places_.assign(config_.bulk_copy.requests, 0);
    first_place_ = 0;
    place_count_ = places_.size();
    starts_.reset();
    statistics_ = {};
}

// Pieces are contiguous; neighbours in one line become one request.
void BulkCopyEngine::split(const ptx::AsyncOperation& operation, std::vector<Line>& lines) {
    lines.clear();
    for (const ptx::AsyncOperation::Piece& piece : operation.pieces) {
        if (piece.bytes == 0) continue;
        const std::uint64_t first = piece.address / kSectorBytes;
        const std::uint64_t last = (piece.address + piece.bytes - 1) / kSectorBytes;
        for (std::uint64_t line = first / kSectorsPerLine; line <= last / kSectorsPerLine; ++line) {
            const std::uint64_t low = std::max(first, line * kSectorsPerLine) % kSectorsPerLine;
            const std::uint64_t high =
                std::min(last, line * kSectorsPerLine + kSectorsPerLine - 1) % kSectorsPerLine;
            const auto sectors = static_cast<SectorMask>((2u << high) - (1u << low));
            if (lines.empty() || lines.back().line != line)
                lines.push_back({line, sectors});
            else
                lines.back().sectors |= sectors;
        }
    }
}

// When the first request of a copy that issues now may leave.
Cycle BulkCopyEngine::start(Cycle now) {
    return starts_.take(now, fine(config_.bulk_copy.interval)) + config_.bulk_copy.latency +
           config_.l1.miss_latency;
}

// st.async and red.async move up to 16 bytes per thread from registers, without the engine.
Cycle BulkCopyEngine::begin_shared_copy(std::uint32_t bytes, Cycle now) {
    count(bytes);
    if (bytes <= 16) return now + static_cast<Cycle>(config_.load_store.address_interval);
    return start(now);
}

void BulkCopyEngine::begin(std::uint32_t id, const ptx::AsyncOperation& operation,
                           std::vector<ClusterNeighbour*> others, Cycle now, std::vector<Ended>& ended) {
    count(operation.bytes);
    if (operation.kind == Kind::bulk_store) return send_stores(operation, id, now, ended);
    if (operation.kind == Kind::prefetch) return send_prefetches(operation, id, now, ended);
    const std::uint32_t index = new_copy();
    Copy& copy = copies_[index];
    copy.id = id;
    copy.others = std::move(others);
    copy.next = 0;
    copy.cache = operation.cache;
    copy.outstanding = 0;
    copy.start = copy.last = start(now);
    split(operation, copy.requests);
    join_neighbours(copy.requests, copy.cache);
    if (copy.requests.empty()) {
        ended.push_back({id, copy.last, copy.last});
        free_.push_back(index);
        return;
    }
    queue_.push_back(index);
    send_loads(now);
}

// In place.
void BulkCopyEngine::join_neighbours(std::vector<Line>& lines, const ptx::CachePolicy& cache) const {
    std::size_t count = 0;
    for (const Line& line : lines) {
        if (count != 0 && line.line > lines[count - 1].line &&
            port_.may_join(lines[count - 1].line, line.line, cache)) {
            Line& first = lines[count - 1];
            first.sectors |=
                at_line(sectors_of(line.sectors, 0), static_cast<unsigned>(line.line - first.line));
        } else {
            lines[count++] = line;
        }
    }
    lines.resize(count);
}

/// As long as there are places for the next request's lines.
void BulkCopyEngine::send_loads(Cycle now) {
    while (!queue_.empty()) {
        const std::uint32_t index = queue_.front();
        Copy& copy = copies_[index];
        const Line& next = copy.requests[copy.next];
        const unsigned lines = line_count(next.sectors);
        if (place_count_ < std::min<std::size_t>(lines, places_.size())) return;
        const Cycle leave = std::max({now + 1, take_places(lines), copy.start});
        MemoryRequest& request = port_.make(RequestKind::load, next.line, next.sectors, copy.cache);
        request.wants_data = true;
        request.tag = index | kTag;
        statistics_.load_sectors += sector_count(next.sectors);
        ++copy.outstanding;
        if (++copy.next == copy.requests.size()) queue_.pop_front();
        port_.send(request, leave);
    }
}

/// When the last of so many places is free.
Cycle BulkCopyEngine::take_places(unsigned count) {
    Cycle free = 0;
    for (; count != 0 && place_count_ != 0; --count, --place_count_) {
        free = std::max(free, places_[first_place_]);
        first_place_ = first_place_ + 1 == places_.size() ? 0 : first_place_ + 1;
    }
    return free;
}

void BulkCopyEngine::free_places(unsigned count, Cycle at) {
    for (; count != 0 && place_count_ != places_.size(); --count) {
        const std::size_t end = first_place_ + place_count_++;
        places_[end < places_.size() ? end : end - places_.size()] = at;
    }
}

void BulkCopyEngine::send_stores(const ptx::AsyncOperation& operation, std::uint32_t id, Cycle now,
                                 std::vector<Ended>& ended) {
    split(operation, lines_);
    const Cycle leave = start(now);
    Cycle last = leave;
    load_store_.pass_wavefronts(static_cast<std::uint32_t>(lines_.size()), now);
    if (!operation.reduces) join_neighbours(lines_, operation.cache);
    for (const Line& line : lines_) {
        MemoryRequest& request = port_.make(operation.reduces ? RequestKind::atomic : RequestKind::store,
                                            line.line, line.sectors, operation.cache);
        if (operation.reduces) request.atomic_conflicts = 1;
        statistics_.store_sectors += sector_count(line.sectors);
        load_store_.count_bulk_stores(line_count(line.sectors));
        statistics_.lines += line_count(line.sectors);
        last = std::max(last, port_.send_data(request, leave));
    }
    ended.push_back({id, last, last});
}

// Lines come to L2 and no further; that they have is acknowledged as a store would be.
void BulkCopyEngine::send_prefetches(const ptx::AsyncOperation& operation, std::uint32_t id, Cycle now,
                                     std::vector<Ended>& ended) {
    split(operation, lines_);
    join_neighbours(lines_, operation.cache);
    const Cycle leave = start(now);
    for (const Line& line : lines_) {
        MemoryRequest& request = port_.make(RequestKind::load, line.line, line.sectors, operation.cache);
        load_store_.count_bulk_stores(line_count(line.sectors));
        statistics_.prefetched_sectors += sector_count(line.sectors);
        port_.send(request, leave);
    }
    ended.push_back({id, leave, leave});
}

void BulkCopyEngine::respond(MemoryRequest& response, Cycle arrival, Cycle now, std::vector<Ended>& ended) {
    const std::uint32_t index = response.tag & ~kTag;
    const unsigned sectors = sector_count(response.sectors), lines = line_count(response.sectors);
    Copy& copy = copies_[index];
    Cycle landed = port_.receive_bulk(sectors, arrival);
    const Cycle place = landed;
    for (ClusterNeighbour* other : copy.others) {
        landed = std::max(landed, other->receive_multicast(response.sectors, arrival));
        statistics_.multicast_sectors += sectors;
    }
    statistics_.lines += lines * (1 + copy.others.size());
    load_store_.pass_fill(now, lines);
    copy.last = std::max(copy.last, landed + config_.l1.return_latency);
    --copy.outstanding;
    port_.give_back(response);
    if (copy.outstanding == 0 && copy.next == copy.requests.size()) {
        ended.push_back({copy.id, copy.last, copy.last});
        free_.push_back(index);
    }
    free_places(lines, place);
    send_loads(now);
}

std::uint32_t BulkCopyEngine::new_copy() {
    if (!free_.empty()) {
        const std::uint32_t index = free_.back();
        free_.pop_back();
        return index;
    }
    copies_.emplace_back();
    return static_cast<std::uint32_t>(copies_.size() - 1);
}

}  // namespace heddle::models::gpu
