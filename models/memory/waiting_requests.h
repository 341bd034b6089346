// Requests that wait in an L2 slice for sectors that are under way: a list for each line's slot.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/memory/memory_request.h"

namespace heddle::models {

/// The links of the lists lie together, apart from the requests, which are scattered over the memory of the
/// host: all that wait for a line can be brought into its caches at once.
class WaitingRequests {
  public:
    /// Makes `slots` empty lists.
    void reset(std::size_t slots) {
        newest_.assign(slots, kNobody);
        links_.clear();
        free_ = kNobody;
    }
    std::size_t slots() const { return newest_.size(); }
    void add(std::size_t slot, MemoryRequest& request) {
        if (free_ == kNobody) {
            free_ = static_cast<std::uint32_t>(links_.size());
            links_.push_back({nullptr, kNobody});
        }
        const std::uint32_t link = free_;
        free_ = links_[link].next;
        links_[link] = {&request, newest_[slot]};
        newest_[slot] = link;
    }
    /// Those of `slot` of which `leaves(request)` is true wait no longer: a list, oldest first, by
    /// MemoryRequest::next. Each is asked about once, newest first.
    template <typename Leaves>
    MemoryRequest* take(std::size_t slot, const Leaves& leaves) {
        MemoryRequest* left = nullptr;
        std::uint32_t* from = &newest_[slot];
        while (*from != kNobody) {
            Link& link = links_[*from];
            MemoryRequest& request = *link.request;
            if (!leaves(request)) {
                from = &link.next;
                continue;
            }
            const std::uint32_t next = link.next;
            link.next = free_;
            free_ = *from;
            *from = next;
            request.next = left;
            left = &request;
        }
        return left;
    }
    void prefetch_slot(std::size_t slot) const { __builtin_prefetch(newest_.data() + slot); }
    void prefetch_requests(std::size_t slot) const {
        for (std::uint32_t link = newest_[slot]; link != kNobody; link = links_[link].next)
            __builtin_prefetch(links_[link].request);
    }

  private:
    static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
    struct Link {
        MemoryRequest* request;
        std::uint32_t next;  ///< older, or the next free one
    };
    std::vector<std::uint32_t> newest_;  ///< by slot
    std::vector<Link> links_;
    std::uint32_t free_ = kNobody;
};

}  // namespace heddle::models
