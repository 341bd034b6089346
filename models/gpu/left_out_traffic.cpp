#include "models/gpu/left_out_traffic.h"

#include <algorithm>

namespace heddle::models::gpu {

void LeftOutTraffic::begin(std::uint64_t turns, std::uint64_t first) {
    turns_.assign(turns - std::min(first, turns), {});
    present_ = nullptr;
    first_ = first;
    count_ = turns;
    accesses_ = 0;
}

void LeftOutTraffic::begin_warp(std::uint32_t sm, std::uint64_t turns) {
    sm_ = static_cast<std::uint16_t>(sm);
    own_turns_ = std::max<std::uint64_t>(1, turns);
}

bool LeftOutTraffic::begin_turn(std::uint64_t own) {
    const std::uint64_t turn = std::min(own * count_ / own_turns_, count_ - 1);
    if (turn < first_) return false;
    present_ = &turns_[turn - first_];
    return true;
}

void LeftOutTraffic::add(std::uint64_t line, SectorMask sectors, bool write) {
    ++accesses_;
    const auto number = static_cast<std::uint32_t>(line);
    if (!present_->empty()) {  // lanes and rows beside one another
        LeftOutAccess& last = present_->back();
        if (last.line == number && last.write == write) {
            last.sectors |= sectors;
            return;
        }
    }
    present_->push_back({number, sm_, sectors, write});
}

void LeftOutTraffic::access(const ptx::MemoryAccess& access) {
    coalesce(access, coalesced_);
    for (unsigned i = 0; i < coalesced_.count; ++i)
        add(coalesced_.lines[i].line, coalesced_.lines[i].sectors, access.write);
}

void LeftOutTraffic::copy(const ptx::AsyncOperation& operation) {
    const bool write = operation.kind == ptx::AsyncOperation::Kind::bulk_store;
    BulkCopyEngine::split(operation, lines_);
    for (const BulkCopyEngine::Line& line : lines_) add(line.line, sectors_of(line.sectors, 0), write);
}

}  // namespace heddle::models::gpu
