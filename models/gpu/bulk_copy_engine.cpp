#include "models/gpu/bulk_copy_engine.h"

#include <algorithm>
#include <utility>

namespace heddle::models::gpu {

BulkCopyEngine::BulkCopyEngine(const GpuConfig& config, CrossbarPort& port, LoadStoreUnit& load_store)
    : config_(config), port_(port), load_store_(load_store) {}

void BulkCopyEngine::reset() {
    copies_.clear();
    free_.clear();
    queue_.clear();
    under_way_ = 0;
    starts_.reset();
    ended_.clear();
    statistics_ = {};
}

// Pieces are contiguous; neighbours in one line become one request.
void BulkCopyEngine::split(const ptx::AsyncOperation& operation, std::vector<Line>& lines) {
    for (const ptx::AsyncOperation::Piece& piece : operation.pieces) {
        if (piece.bytes == 0) continue;
        const std::uint64_t first = piece.address / kSectorBytes;
        const std::uint64_t last = (piece.address + piece.bytes - 1) / kSectorBytes;
        for (std::uint64_t sector = first; sector <= last; ++sector) {
            const std::uint64_t line = sector / kSectorsPerLine;
            if (lines.empty() || lines.back().line != line) lines.push_back({line, 0});
            lines.back().sectors |= static_cast<SectorMask>(1u << sector % kSectorsPerLine);
        }
    }
}

// st.async and red.async move up to 16 bytes per thread from registers, without the engine.
Cycle BulkCopyEngine::begin_shared_copy(std::uint32_t bytes, Cycle now) {
    count(bytes);
    if (bytes <= 16) return now + static_cast<Cycle>(config_.load_store.address_interval);
    return starts_.take(now, fine(config_.bulk_copy.interval)) + config_.bulk_copy.latency +
           config_.l1.miss_latency;
}

void BulkCopyEngine::begin(std::uint32_t id, const ptx::AsyncOperation& operation, Cycle now) {
    using Kind = ptx::AsyncOperation::Kind;
    count(operation.bytes);
    const std::uint32_t index = new_copy();
    Copy& copy = copies_[index];
    copy.id = id;
    copy.loads = operation.kind == Kind::bulk_load || operation.kind == Kind::prefetch;
    copy.reduces = operation.reduces;
    copy.start = starts_.take(now, fine(config_.bulk_copy.interval)) + config_.bulk_copy.latency +
                 config_.l1.miss_latency;
    copy.last = copy.start;
    split(operation, copy.lines);
    if (copy.lines.empty()) {
        end(index);
        return;
    }
    queue_.push_back(index);
    pump(now);
}

void BulkCopyEngine::pump(Cycle now) {
    while (!queue_.empty() && under_way_ < config_.bulk_copy.requests) {
        const std::uint32_t index = queue_.front();
        send_line(index, now);
        Copy& copy = copies_[index];
        if (copy.next < copy.lines.size()) continue;
        queue_.pop_front();
        if (copy.outstanding == 0) end(index);
    }
}

void BulkCopyEngine::send_line(std::uint32_t index, Cycle now) {
    Copy& copy = copies_[index];
    const Line line = copy.lines[copy.next++];
    const Cycle leave = std::max(now + 1, copy.start);
    if (copy.loads) {
        MemoryRequest& request = port_.make(RequestKind::load, line.line, line.sectors);
        request.wants_data = true;
        request.tag = index | kTag;
        statistics_.load_sectors += sector_count(line.sectors);
        ++copy.outstanding;
        ++under_way_;
        port_.send(request, leave);
        return;
    }
    MemoryRequest& request =
        port_.make(copy.reduces ? RequestKind::atomic : RequestKind::store, line.line, line.sectors);
    if (copy.reduces) request.atomic_conflicts = 1;
    statistics_.store_sectors += sector_count(line.sectors);
    load_store_.pass_wavefronts(1, now);
    load_store_.count_bulk_store();
    copy.last = std::max(copy.last, port_.send_data(request, leave));
}

void BulkCopyEngine::respond(MemoryRequest& response, Cycle now) {
    const std::uint32_t index = response.tag & ~kTag;
    Copy& copy = copies_[index];
    const Cycle ready = port_.receive(sector_count(response.sectors), now) + config_.l1.return_latency;
    load_store_.pass_wavefronts(1, now);
    copy.last = std::max(copy.last, ready);
    --copy.outstanding;
    --under_way_;
    port_.give_back(response);
    if (copy.outstanding == 0 && copy.next == copy.lines.size()) end(index);
    pump(now);
}

void BulkCopyEngine::end(std::uint32_t index) {
    Copy& copy = copies_[index];
    ended_.push_back({copy.id, copy.last, copy.last});
    copy.used = false;
    copy.lines.clear();
    copy.next = 0;
    free_.push_back(index);
}

std::vector<BulkCopyEngine::Ended> BulkCopyEngine::take_ended() {
    return std::exchange(ended_, {});
}

std::uint32_t BulkCopyEngine::new_copy() {
    if (!free_.empty()) {
        const std::uint32_t index = free_.back();
        free_.pop_back();
        copies_[index].used = true;
        return index;
    }
    copies_.emplace_back();
    copies_.back().used = true;
    return static_cast<std::uint32_t>(copies_.size() - 1);
}

}  // namespace heddle::models::gpu
