#include "models/tpu/on_chip_memory.h"

#include <algorithm>

namespace heddle::models {

OnChipMemory::OnChipMemory(const sc_core::sc_module_name& name, OnChipRate capacity)
    : sc_module(name), capacity_(capacity) {}

void OnChipMemory::reset() {
    used_ = {};
    released_ = {};
    released_in_ = kNever;
    waiting_.clear();
}

OnChipRate OnChipMemory::used(Cycle now) const {
    if (released_in_ != now) return used_;
    return {used_.read + released_.read, used_.write + released_.write};
}

bool OnChipMemory::has_room(OnChipRate rate, Cycle now) const {
    const OnChipRate present = used(now);
    const bool read = present.read + rate.read <= capacity_.read || present.read == 0;
    const bool write = present.write + rate.write <= capacity_.write || present.write == 0;
    return (read || rate.read == 0) && (write || rate.write == 0);
}

void OnChipMemory::claim(OnChipRate rate, Cycle) {
    used_.read += rate.read;
    used_.write += rate.write;
}

void OnChipMemory::release(OnChipRate rate, Cycle now) {
    if (released_in_ != now) released_ = {};
    released_in_ = now;
    used_.read -= rate.read;
    used_.write -= rate.write;
    released_.read += rate.read;
    released_.write += rate.write;
    for (Block* const block : waiting_) block->wake(now + 1);
    waiting_.clear();
}

void OnChipMemory::tell_of_room(Block& block, Cycle now) {
    if (released_in_ == now) return block.wake(now + 1);
    if (std::find(waiting_.begin(), waiting_.end(), &block) == waiting_.end()) waiting_.push_back(&block);
}

}  // namespace heddle::models
