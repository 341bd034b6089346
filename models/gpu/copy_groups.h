// Groups of asynchronous work of one warp: cp.async, bulk copies, wgmma. Work joins the open group; a commit
// closes it; a wait asks when all groups but the newest few are done.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "models/gpu/stamp.h"

namespace heddle::models::gpu {

/// The groups of one kind of asynchronous work of one warp. It keeps a fixed number of them; beyond that the
/// two oldest are merged. All cycles lie below 2^31.
class CopyGroups {
  public:
    /// Number of the group that work joins at present; finish() takes it later.
    std::uint32_t open() const { return open_; }
    /// Work whose end is not known yet joins the open group; finish() tells it later.
    void begin() { ++group(open_).unfinished; }
    void finish(std::uint32_t number, Cycle ready) {
        Group& done = group(std::max(number, oldest_));
        --done.unfinished;
        done.ready = std::max(done.ready, static_cast<std::uint32_t>(ready));
    }
    /// Work that ends in cycle `ready` joins the open group.
    void add(Cycle ready) {
        group(open_).ready = std::max(group(open_).ready, static_cast<std::uint32_t>(ready));
    }
    /// commit_group. cp.async.mbarrier.arrive closes a group as well, without being counted by waits.
    void commit() {
        close();
        commits_[commit_count_++ % kGroups] = open_;
    }
    /// The open group takes no more work; the next one is open.
    void close() {
        if (open_ + 1 - oldest_ == kGroups) {
            // Many groups in flight: the two oldest count as one, which only a wait for the very oldest could
            // notice.
            const Group& first = group(oldest_);
            Group& second = group(oldest_ + 1);
            second.unfinished += first.unfinished;
            second.ready = std::max(second.ready, first.ready);
            ++oldest_;
        }
        ++open_;
        group(open_) = Group{};
    }
    /// The stamp at which all groups before number `end` are done; kPending when it is not known yet.
    Stamp ready_before(std::uint32_t end) const {
        Stamp ready = 0;
        for (std::uint32_t number = oldest_; number < end; ++number) {
            const Group& one = groups_[number % kGroups];
            if (one.unfinished != 0) return kPending;
            ready = std::max(ready, memory_stamp(one.ready));
        }
        return ready;
    }
    /// The stamp from which at most `left` committed groups are unfinished; with 0, work that is not
    /// committed yet must be done too.
    Stamp ready(std::uint32_t left) const {
        if (left == 0) return ready_before(open_ + 1);
        if (left >= commit_count_ || left >= kGroups) return 0;
        return ready_before(commits_[(commit_count_ - left - 1) % kGroups]);
    }

  private:
    static constexpr std::uint32_t kGroups = 16;
    struct Group {
        std::uint32_t unfinished = 0;  // without known end
        std::uint32_t ready = 0;       // cycle in which the others are done
    };
    Group& group(std::uint32_t number) { return groups_[number % kGroups]; }

    std::uint32_t oldest_ = 0, open_ = 0, commit_count_ = 0;
    std::array<Group, kGroups> groups_{};           // by number modulo kGroups
    std::array<std::uint32_t, kGroups> commits_{};  // the open group behind each commit
};

}  // namespace heddle::models::gpu
