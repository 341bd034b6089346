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
    split(operation, copy.lines);
    if (copy.lines.empty()) {
        ended.push_back({id, copy.last, copy.last});
        free_.push_back(index);
        return;
    }
    queue_.push_back(index);
    while (!queue_.empty() && place_count_ != 0) {
        const Cycle place = places_[first_place_];
        first_place_ = first_place_ + 1 == places_.size() ? 0 : first_place_ + 1;
        --place_count_;
        send_line(queue_.front(), std::max(now + 1, place));
    }
}

void BulkCopyEngine::send_line(std::uint32_t index, Cycle leave) {
    Copy& copy = copies_[index];
    const Line line = copy.lines[copy.next++];
    if (copy.next == copy.lines.size()) queue_.pop_front();
    ++copy.outstanding;
    MemoryRequest& request = port_.make(RequestKind::load, line.line, line.sectors, copy.cache);
    request.wants_data = true;
    request.tag = index | kTag;
    statistics_.load_sectors += sector_count(line.sectors);
    port_.send(request, std::max(leave, copy.start));
}

void BulkCopyEngine::send_stores(const ptx::AsyncOperation& operation, std::uint32_t id, Cycle now,
                                 std::vector<Ended>& ended) {
    split(operation, lines_);
    const Cycle leave = start(now);
    Cycle last = leave;
    load_store_.pass_wavefronts(static_cast<std::uint32_t>(lines_.size()), now);
    for (const Line& line : lines_) {
        MemoryRequest& request = port_.make(operation.reduces ? RequestKind::atomic : RequestKind::store,
                                            line.line, line.sectors, operation.cache);
        if (operation.reduces) request.atomic_conflicts = 1;
        statistics_.store_sectors += sector_count(line.sectors);
        load_store_.count_bulk_store();
        last = std::max(last, port_.send_data(request, leave));
    }
    ended.push_back({id, last, last});
}

// Lines come to L2 and no further; that they have is acknowledged as a store would be.
void BulkCopyEngine::send_prefetches(const ptx::AsyncOperation& operation, std::uint32_t id, Cycle now,
                                     std::vector<Ended>& ended) {
    split(operation, lines_);
    const Cycle leave = start(now);
    for (const Line& line : lines_) {
        MemoryRequest& request = port_.make(RequestKind::load, line.line, line.sectors, operation.cache);
        load_store_.count_bulk_store();
        statistics_.prefetched_sectors += sector_count(line.sectors);
        port_.send(request, leave);
    }
    ended.push_back({id, leave, leave});
}

void BulkCopyEngine::respond(MemoryRequest& response, Cycle arrival, Cycle now, std::vector<Ended>& ended) {
    const std::uint32_t index = response.tag & ~kTag;
    const unsigned sectors = sector_count(response.sectors);
    Copy& copy = copies_[index];
    Cycle landed = port_.receive(sectors, arrival);
    const Cycle place = landed;
    for (ClusterNeighbour* other : copy.others) {
        landed = std::max(landed, other->receive_multicast(sectors, arrival));
        statistics_.multicast_sectors += sectors;
    }
    load_store_.pass_fill(now);
    copy.last = std::max(copy.last, landed + config_.l1.return_latency);
    --copy.outstanding;
    port_.give_back(response);
    if (copy.outstanding == 0 && copy.next == copy.lines.size()) {
        ended.push_back({copy.id, copy.last, copy.last});
        free_.push_back(index);
    }
    if (!queue_.empty()) {
        send_line(queue_.front(), std::max(now + 1, place));
        return;
    }
    const std::size_t end = first_place_ + place_count_++;
    places_[end < places_.size() ? end : end - places_.size()] = place;
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
