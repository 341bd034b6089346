#include "isa/ptx/tensor_memory.h"

#include <algorithm>

namespace heddle::ptx {

std::optional<unsigned> TensorMemory::find_free(unsigned count, const TensorMemory* peer) const {
    for (unsigned first = 0; first + count <= kTensorColumns; first += count) {
        bool free = true;
        for (unsigned column = first; free && column < first + count; ++column)
            free = owner_[column] == nullptr && (peer == nullptr || peer->owner_[column] == nullptr);
        if (free) return first;
    }
    return std::nullopt;
}

void TensorMemory::take(unsigned first, unsigned count, const void* owner) {
    std::fill_n(owner_.begin() + first, count, owner);
}

void TensorMemory::give_back(unsigned first, unsigned count) {
    for (unsigned column = first; column < first + count; ++column) former_[column] = owner_[column];
    std::fill_n(owner_.begin() + first, count, nullptr);
}

unsigned TensorMemory::free_columns() const {
    return static_cast<unsigned>(std::count(owner_.begin(), owner_.end(), nullptr));
}

void TensorMemory::reset() {
    owner_.fill(nullptr);
    former_.fill(nullptr);
    waiters.clear();
    words_.clear();
}

}  // namespace heddle::ptx
