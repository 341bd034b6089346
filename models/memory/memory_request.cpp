#include "models/memory/memory_request.h"

#include "isa/common/error.h"

namespace heddle::models {

void MemoryRequestPool::grow() {
    chunks_.push_back(std::make_unique<MemoryRequest[]>(kChunk));
    MemoryRequest* chunk = chunks_.back().get();
    for (std::size_t i = kChunk; i-- > 0;) {
        chunk[i].next = free_;
        chunk[i].kind = RequestKind::none;
        free_ = &chunk[i];
    }
}

void MemoryRequestPool::given_back_twice() {
    throw Error("internal: a request of the memory system was answered twice");
}

void MemoryRequestPool::reset() {
    free_ = nullptr;
    in_use_ = 0;
    for (const auto& chunk : chunks_) {
        for (std::size_t i = kChunk; i-- > 0;) {
            chunk[i].next = free_;
            chunk[i].kind = RequestKind::none;
            free_ = &chunk[i];
        }
    }
}

}  // namespace heddle::models
