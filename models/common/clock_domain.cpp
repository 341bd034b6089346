#include "models/common/clock_domain.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>
#include <utility>

#include "isa/common/activity.h"
#include "isa/common/error.h"
#include "isa/common/limits.h"

namespace heddle::models {

Block::Block(const sc_core::sc_module_name& name, ClockDomain& clock) : sc_module(name), clock_(clock) {
    clock_.enroll(*this);
}

void Block::schedule(Cycle at) {
    clock_.schedule(*this, at);
}

void Block::join_group(std::uint32_t group, std::uint32_t phase) {
    group_ = group;
    phase_ = phase;
    clock_.group_count_ = std::max(clock_.group_count_, group + 1);
}

void Block::post(const Block* to, Delivery deliver, void* receiver, void* what, Cycle at) {
    ClockDomain::Group& group = clock_.groups_[group_];
    const ClockDomain::Post post{deliver, receiver, what, at};
    if (to == nullptr || to->group_ == kAlone) {
        group.posts_alone.emplace_back(index_, post);
    } else {
        group.posts[to->group_].push_back(post);
        group.posted = true;
    }
}

ClockDomain::ClockDomain(const sc_core::sc_module_name& name, double hertz) : sc_module(name), hertz_(hertz) {
    bucket_used_.assign(kWheelSize / 64, 0);
    SC_METHOD(process);
    sensitive << go_;
    dont_initialize();
}

void ClockDomain::set_hertz(double hertz) {
    hertz_ = hertz;
}

sc_core::sc_time ClockDomain::time_of(Cycle cycle) const {
    return sc_core::sc_time(std::round(static_cast<double>(cycle) * 1e12 / hertz_), sc_core::SC_PS);
}

void ClockDomain::enroll(Block& block) {
    block.index_ = static_cast<std::uint32_t>(blocks_.size());
    blocks_.push_back(&block);
    words_ = (blocks_.size() + 63) / 64;
    wheel_.assign(kWheelSize * words_, 0);
}

void ClockDomain::schedule(Block& block, Cycle at) {
    if (at >= block.due_) return;
    if (running_cycle_ && at <= now_) {
        throw Error("internal: " + std::string(block.name()) + " was woken for cycle " + std::to_string(at) +
                    ", which is not after the present cycle " + std::to_string(now_));
    }
    block.due_ = at;
    if (apart_)
        groups_[block.group_].wakes.emplace_back(at, block.index_);
    else
        plan(block.index_, at);
}

void ClockDomain::plan(std::uint32_t index, Cycle at) {
    if (at < now_ + kWheelSize) {
        const std::size_t bucket = at % kWheelSize;
        wheel_[bucket * words_ + index / 64] |= 1ull << (index % 64);
        bucket_used_[bucket / 64] |= 1ull << (bucket % 64);
    } else {
        later_.emplace(at, index);
    }
}

void ClockDomain::set_threads(unsigned threads) {
    grouped_ = threads > 1;
    if (grouped_ && (threads_ == nullptr || threads_->count() != threads))
        threads_ = std::make_unique<HostThreads>(threads);
}

void ClockDomain::make_groups() {
    groups_ = std::vector<Group>(group_count_);
    for (Group& group : groups_) group.posts.resize(group_count_);
}

void ClockDomain::restart() {
    now_ = 0;
    stopped_ = false;
    failure_ = nullptr;
    wheel_.assign(kWheelSize * words_, 0);
    bucket_used_.assign(kWheelSize / 64, 0);
    later_ = {};
    make_groups();
    apart_ = false;
    for (Block* block : blocks_) block->due_ = kNever;
}

Cycle ClockDomain::next_due() const {
    Cycle best = kNever;
    const std::size_t start = now_ % kWheelSize;
    for (std::size_t step = 0; step <= kWheelSize / 64; ++step) {
        const std::size_t word = (start / 64 + step) % (kWheelSize / 64);
        std::uint64_t bits = bucket_used_[word];
        if (step == 0) bits &= ~0ull << (start % 64);
        if (step == kWheelSize / 64) bits &= (1ull << (start % 64)) - 1;
        if (bits != 0) {
            const std::size_t bucket = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
            best = now_ + (bucket + kWheelSize - start) % kWheelSize;
            break;
        }
    }
    if (!later_.empty() && later_.top().first < best) best = later_.top().first;
    return best;
}

Cycle ClockDomain::run(Cycle limit, Cycle pause) {
    limit_ = limit == 0 || (cycle_limit() != 0 && cycle_limit() < limit) ? cycle_limit() : limit;
    pause_ = pause;
    paused_ = false;
    stopped_ = false;
    run_start_ = sc_core::sc_time_stamp() - time_of(now_);
    const Cycle first = next_due();
    if (first == kNever) return now_;
    now_ = first;
    const sc_core::sc_time start = run_start_ + time_of(now_);
    const sc_core::sc_time& present = sc_core::sc_time_stamp();
    go_.notify(start > present ? start - present : sc_core::SC_ZERO_TIME);
    sc_core::sc_start();
    if (failure_) {
        std::exception_ptr failure = failure_;
        failure_ = nullptr;
        std::rethrow_exception(failure);
    }
    return now_;
}

void ClockDomain::process() {
    if (!run_and_plan() && shared_kernel_) sc_core::sc_pause();
}

bool ClockDomain::run_and_plan() {
    try {
        if (tick_every_cycle_) {
            run_cycle_looking_at_every_block();
        } else if (grouped_) {
            run_cycle_in_groups();
        } else {
            run_cycle();
        }
        if (stopped_) return false;
        Cycle next = next_due();
        if (next == kNever) return false;
        if (tick_every_cycle_) next = now_ + 1;
        this_activity().set_cycle(now_);
        if (limit_ != 0 && next > limit_) throw out_of_cycles(limit_);
        if (is_out_of_time()) throw out_of_time();
        if (next > pause_) {
            paused_ = true;
            return false;
        }
        // Buckets already behind us hold nothing: next_due() is never earlier than the cycle just run.
        now_ = next;
        const sc_core::sc_time at = run_start_ + time_of(now_);
        next_trigger(at - sc_core::sc_time_stamp());
        return true;
    } catch (...) {
        failure_ = std::current_exception();
        return false;
    }
}

// Of those that were too late for the wheel.
void ClockDomain::take_later() {
    while (!later_.empty() && later_.top().first <= now_) {
        Block& block = *blocks_[later_.top().second];
        later_.pop();
        if (block.due_ == now_) {
            wheel_[(now_ % kWheelSize) * words_ + block.index_ / 64] |= 1ull << (block.index_ % 64);
        }
    }
    const std::size_t bucket = now_ % kWheelSize;
    bucket_used_[bucket / 64] &= ~(1ull << (bucket % 64));
}

void ClockDomain::perform(Block& block) {
    block.due_ = kNever;
    const Cycle next = block.tick(now_);
    if (next != kNever) schedule(block, next);
}

void ClockDomain::run_cycle() {
    running_cycle_ = true;
    take_later();
    std::uint64_t* const words = &wheel_[now_ % kWheelSize * words_];
    for (std::size_t word = 0; word < words_; ++word) {
        std::uint64_t bits = words[word];
        words[word] = 0;
        // The caches of the host fetch for many blocks at once what one after the other would wait for.
        for (unsigned stage = 0; stage < Block::kPrefetchStages; ++stage)
            for (std::uint64_t ahead = bits; ahead != 0; ahead &= ahead - 1)
                blocks_[word * 64 + static_cast<std::size_t>(std::countr_zero(ahead))]->prefetch(now_, stage);
        while (bits != 0) {
            const auto bit = static_cast<std::size_t>(std::countr_zero(bits));
            bits &= bits - 1;
            Block& block = *blocks_[word * 64 + bit];
            if (block.due_ != now_) continue;  // it was woken earlier in the meantime, and has run
            ++activations_;
            perform(block);
        }
    }
    running_cycle_ = false;
}

void ClockDomain::run_cycle_in_groups() {
    running_cycle_ = true;
    take_later();
    std::uint64_t* const words = &wheel_[now_ % kWheelSize * words_];
    for (std::size_t word = 0; word < words_; ++word) {
        for (std::uint64_t bits = std::exchange(words[word], 0); bits != 0; bits &= bits - 1) {
            Block& block = *blocks_[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
            if (block.due_ != now_) continue;
            const bool alone = block.group_ == Block::kAlone;
            if (!gathered_.empty() && (alone || block.phase_ != gathered_.back()->phase_)) perform_gathered();
            if (alone) {
                ++activations_;
                perform(block);
            } else {
                gathered_.push_back(&block);
            }
        }
    }
    perform_gathered();
    running_cycle_ = false;
}

void ClockDomain::perform_gathered() {
    constexpr std::size_t kWorthwhile = 8;  // blocks for which threads are called together
    if (gathered_.size() >= kWorthwhile) return perform_apart();
    activations_ += gathered_.size();
    for (unsigned stage = 0; stage < Block::kPrefetchStages; ++stage)
        for (const Block* block : gathered_) block->prefetch(now_, stage);
    for (Block* block : gathered_) perform(*block);
    gathered_.clear();
}

void ClockDomain::perform_apart() {
    for (Block* block : gathered_) groups_[block->group_].due.push_back(block);
    activations_ += gathered_.size();
    gathered_.clear();
    apart_ = true;
    const auto performing = [this](unsigned group) { perform_group(groups_[group]); };
    const auto delivering = [this](unsigned group) { deliver_to(group); };
    threads_->run(group_count_, performing);
    rethrow_failure();
    if (std::any_of(groups_.begin(), groups_.end(), [](const Group& group) { return group.posted; }))
        threads_->run(group_count_, delivering);
    apart_ = false;
    posts_alone_.clear();
    for (Group& group : groups_) {
        for (const auto& [at, index] : group.wakes) plan(index, at);
        group.wakes.clear();
        group.posted = false;
        posts_alone_.insert(posts_alone_.end(), group.posts_alone.begin(), group.posts_alone.end());
        group.posts_alone.clear();
    }
    std::stable_sort(posts_alone_.begin(), posts_alone_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [sender, post] : posts_alone_) post.deliver(post.receiver, post.what, post.at);
}

// Of several failures one thread would have met that of the first block.
void ClockDomain::rethrow_failure() {
    const Group* first = nullptr;
    for (const Group& group : groups_)
        if (group.failure && (first == nullptr || group.failed < first->failed)) first = &group;
    if (first == nullptr) return;
    apart_ = false;
    std::rethrow_exception(first->failure);
}

void ClockDomain::perform_group(Group& group) {
    std::uint32_t index = 0;
    try {
        for (unsigned stage = 0; stage < Block::kPrefetchStages; ++stage)
            for (const Block* block : group.due) block->prefetch(now_, stage);
        for (Block* block : group.due) {
            index = block->index_;
            perform(*block);
        }
        group.due.clear();
    } catch (...) {
        group.failure = std::current_exception();
        group.failed = index;
    }
}

void ClockDomain::deliver_to(std::uint32_t receiver) {
    for (Group& sender : groups_) {
        std::vector<Post>& posts = sender.posts[receiver];
        for (const Post& post : posts) post.deliver(post.receiver, post.what, post.at);
        posts.clear();
    }
}

void ClockDomain::run_cycle_looking_at_every_block() {
    running_cycle_ = true;
    const std::size_t bucket = now_ % kWheelSize;
    bucket_used_[bucket / 64] &= ~(1ull << (bucket % 64));
    for (std::size_t word = 0; word < words_; ++word) wheel_[bucket * words_ + word] = 0;
    while (!later_.empty() && later_.top().first <= now_) later_.pop();
    for (Block* block : blocks_) {
        const bool due = block->due_ <= now_;
        const bool able = block->can_act(now_);
        if (able && !due) {
            throw Error("internal: " + std::string(block->name()) + " could act in cycle " +
                        std::to_string(now_) + " but was due only in cycle " +
                        (block->due_ == kNever ? std::string("never") : std::to_string(block->due_)));
        }
        if (!due && !able) continue;
        ++activations_;
        perform(*block);
    }
    running_cycle_ = false;
}

}  // namespace heddle::models
