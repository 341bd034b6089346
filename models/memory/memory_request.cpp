#include "models/memory/memory_request.h"

namespace heddle::models {

void MemoryRequestPool::grow() {
    chunks_.push_back(std::make_unique<MemoryRequest[]>(kChunk));
    MemoryRequest* chunk = chunks_.back().get();
    for (std::size_t i = kChunk; i-- > 0;) {
        chunk[i].next = free_;
        free_ = &chunk[i];
    }
}

void MemoryRequestPool::reset() {
    free_ = nullptr;
    in_use_ = 0;
    for (const auto& chunk : chunks_) {
        for (std::size_t i = kChunk; i-- > 0;) {
            chunk[i].next = free_;
            free_ = &chunk[i];
        }
    }
}

}  // namespace heddle::models
